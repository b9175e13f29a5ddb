"""The sampler's share of a core: with expensive samples it takes fewer of them. Its clock is the test's."""

from dataclasses import dataclass

import pytest

from beyond_ram.watch import sampler as sampler_module
from beyond_ram.watch.sampler import CALM_CPU_BUDGET, CPU_BUDGET, Sampler
from beyond_ram.watch.tree import Tree

from .conftest import only_child

INTERVAL_S = 0.05


@dataclass
class Clock:
    """Time that passes only when told, in place of the sampler's `time`."""

    elapsed_s: float = 0.0
    used_s: float = 0.0
    """CPU time of the sampler."""

    def monotonic(self):
        return self.elapsed_s

    def process_time(self):
        return self.used_s

    thread_time = process_time

    def work(self, seconds):
        self.elapsed_s += seconds
        self.used_s += seconds


@pytest.mark.parametrize("sample_s", [0.0002, 0.02])
@pytest.mark.parametrize(("changes", "budget"), [(False, CALM_CPU_BUDGET), (True, CPU_BUDGET)])
def test_sampler_keeps_within_its_share_of_a_core(tmp_path, monkeypatch, changes, budget, sample_s):
    """A sample takes a given CPU time. Without readings of PSS, which have budgets of their own."""
    clock = Clock()
    monkeypatch.setattr(sampler_module, "time", clock)
    with only_child("") as parent:
        sampler = Sampler(tmp_path / "s.csv", 0, Tree(parent))
        read = sampler.tree.memory

        def slowly():
            clock.work(sample_s)
            _, ended = read()
            return changes, ended

        monkeypatch.setattr(sampler.tree, "memory", slowly)
        monkeypatch.setattr(sampler, "sharing", None)
        while clock.elapsed_s < 600:
            sampler.sample()
            clock.elapsed_s += sampler.interval_s(INTERVAL_S)
        sampler.close()
    share = clock.used_s / clock.elapsed_s
    unlimited = sample_s / INTERVAL_S
    assert min(unlimited, budget) * 0.9 < share < min(unlimited, budget) * 1.05


def test_waiting_during_a_reading_of_pss_is_not_its_cost(tmp_path, monkeypatch):
    """Otherwise a busy machine would have one reading in minutes."""
    clock = Clock()
    monkeypatch.setattr(sampler_module, "time", clock)
    with only_child("") as parent:
        sampler = Sampler(tmp_path / "s.csv", 0, Tree(parent))
        read = sampler.reader.proportional

        def slowly(pid):
            clock.work(0.0001)
            clock.elapsed_s += 0.5
            return read(pid)

        monkeypatch.setattr(sampler.reader, "proportional", slowly)
        readings = 0
        while clock.elapsed_s < 10:
            row = sampler.sample()
            readings += row is not None and row["pss_bytes"] != ""
            clock.elapsed_s += INTERVAL_S
        sampler.close()
    assert readings >= 4
