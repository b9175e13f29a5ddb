"""The line with the number of runs left and their expected time."""

from typing import Any

import pytest

from beyond_ram.experiment import Cell
from beyond_ram.progress import Weighing, messages


def job(experiment: str, size: int, duration_s: float | None, state: Any = "done", rep: int = 1) -> Weighing:
    return Weighing((Cell(experiment, (("size", size),), rep),), duration_s, state)


def message(*weighings: Weighing, in_turn: bool = True, may_grow: bool = False) -> str:
    return both_messages(*weighings, in_turn=in_turn, may_grow=may_grow)[0]


def both_messages(*weighings: Weighing, in_turn: bool = True, may_grow: bool = False) -> tuple[str, str]:
    return messages(weighings, lambda cell: cell.experiment[0], in_turn=in_turn, may_grow=may_grow)


def test_no_time_is_shown_before_one_is_known() -> None:
    assert message(job("a", 1, None, "left"), job("a", 2, None, "left")) == "weighed 0 of 2 runs; 2 left"


@pytest.mark.parametrize(
    ("left", "minutes"),
    [
        (job("a1", 4, 1800, "left"), 30),
        (job("a1", 1, None, "left", rep=2), 10),
        (job("a1", 3, None, "left"), 15),
        (job("a2", 1, None, "left"), 15),
        (job("b", 1, None, "left"), 20),
    ],
    ids=["the job itself", "its cell", "its experiment", "its workload", "any"],
)
def test_expected_time_is_that_of_the_most_similar_runs(left: Weighing, minutes: int) -> None:
    done = [job("a1", 1, 600), job("a1", 2, 1200), job("c", 1, 1800)]
    timed = 4 if left.duration_s else 3
    expected = f"weighed 3 of 4 runs; 1 left, about {minutes} min (estimated; timed so far: {timed})"
    assert message(*done, left) == expected


def test_interrupted_run_and_rerun_are_two_runs_of_one_job() -> None:
    pair = Weighing((Cell("a", (("cache", "interrupted"),), 1), Cell("a", (("cache", "rerun"),), 1)), None, "left")
    assert message(job("a", 1, 120), pair).startswith("weighed 1 of 3 runs; 2 left, about 2 min")


def test_simultaneous_runs_have_no_expected_time() -> None:
    runs = [job("a", 1, 600), job("a", 2, None, "left")]
    assert message(*runs, in_turn=False) == "weighed 1 of 2 runs; 1 left"


def test_lost_runs_are_not_left() -> None:
    runs = [job("a", 1, 600), job("a", 2, None, "lost"), job("a", 3, None, "lost")]
    assert message(*runs, may_grow=True) == (
        "weighed 1 of 3 runs; later rounds may ask for more; 2 cannot be weighed, because a job failed"
    )


def test_long_times_are_hours() -> None:
    runs = [job("a", 1, 7200), job("a", 2, None, "left"), job("a", 3, None, "left")]
    assert ", about 4.0 h (" in message(*runs)
    assert ", less than a minute (" in message(job("a", 1, 5), job("a", 2, None, "left"))


def test_short_message_has_progress_time_and_lost_runs() -> None:
    runs = [job("a", 1, 600), job("a", 2, None, "left"), job("a", 3, None, "lost")]
    assert both_messages(*runs, may_grow=True)[1] == "weighed 1 of 3 runs, about 10 min left, 1 lost"
    assert both_messages(job("a", 1, None, "left"))[1] == "weighed 0 of 1 runs"
