"""Time of the endpoint's own work, and of injected delays."""

import pytest

from beyond_ram.hub import Conditions, Hub
from beyond_ram.hub import meter as meters
from beyond_ram.hub.meter import AnswerMeter

from .asking import ask
from .test_conditions import FILE, root

__all__ = ["root"]


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def monotonic(self):
        return self.now

    def process_time(self):
        return self.now / 10


def test_time_of_simultaneous_answers_counts_once(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(meters, "time", clock)
    meter = AnswerMeter()
    clock.now += 5  # no request
    meter.begin()
    clock.now += 1
    meter.begin()
    with meter.delayed():
        clock.now += 2  # the other answer goes on meanwhile
    meter.end()
    with meter.delayed():
        clock.now += 4
    after = meter.end()
    clock.now += 9
    assert (after.busy_s, after.injected_s) == (3, 4)
    assert meter.read().busy_s == 3
    assert after.cpu_s == pytest.approx(11.2)


@pytest.mark.slow
def test_injected_delays_are_not_the_endpoints_work(root):
    conditions = Conditions(latency_ms=150, bandwidth_mb_per_s=4)
    with Hub(root, conditions=conditions) as delayed, Hub(root) as free:
        ask(delayed, FILE)
        ask(free, FILE)
    # A request is logged after its answer: the log is complete when the endpoint has ended.
    (slow,), (fast,) = list(delayed.requests), list(free.requests)
    assert 0.24 < slow.injected_s <= slow.duration_s  # 150 ms, and 400 kB at 4 MB/s
    assert slow.after.injected_s - slow.before.injected_s == pytest.approx(slow.injected_s, abs=0.02)
    assert slow.after.busy_s - slow.before.busy_s < slow.duration_s - 0.23
    assert fast.injected_s == fast.after.injected_s == 0
    assert 0 < fast.after.busy_s - fast.before.busy_s <= fast.duration_s + 0.001
