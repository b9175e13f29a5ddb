"""The line that says how many runs are left, and about how long they take."""

from typing import Any

import pytest

from beyond_ram.experiment import Cell
from beyond_ram.progress import Weighing, messages


def weighing(experiment: str, size: int, duration_s: float | None, state: Any = "done", rep: int = 1) -> Weighing:
    return Weighing((Cell(experiment, (("size", size),), rep),), duration_s, state)


def message(*weighings: Weighing, in_turn: bool = True, may_grow: bool = False) -> str:
    return both(*weighings, in_turn=in_turn, may_grow=may_grow)[0]


def both(*weighings: Weighing, in_turn: bool = True, may_grow: bool = False) -> tuple[str, str]:
    return messages(weighings, lambda cell: cell.experiment[0], in_turn=in_turn, may_grow=may_grow)


def test_no_time_is_said_before_one_is_known() -> None:
    assert message(weighing("a", 1, None, "left"), weighing("a", 2, None, "left")) == "weighed 0 of 2 runs; 2 left"


@pytest.mark.parametrize(
    ("left", "minutes"),
    [
        (weighing("a1", 4, 1800, "left"), 30),
        (weighing("a1", 1, None, "left", rep=2), 10),
        (weighing("a1", 3, None, "left"), 15),
        (weighing("a2", 1, None, "left"), 15),
        (weighing("b", 1, None, "left"), 20),
    ],
    ids=["the job itself", "its cell", "its experiment", "its workload", "any"],
)
def test_a_run_counts_with_the_times_most_like_it(left: Weighing, minutes: int) -> None:
    done = [weighing("a1", 1, 600), weighing("a1", 2, 1200), weighing("c", 1, 1800)]
    timed = 4 if left.duration_s else 3
    expected = f"weighed 3 of 4 runs; 1 left, about {minutes} min (estimated; timed so far: {timed})"
    assert message(*done, left) == expected


def test_an_interrupted_run_and_its_rerun_are_two_runs_of_one_job() -> None:
    pair = Weighing((Cell("a", (("cache", "interrupted"),), 1), Cell("a", (("cache", "rerun"),), 1)), None, "left")
    assert message(weighing("a", 1, 120), pair).startswith("weighed 1 of 3 runs; 2 left, about 2 min")


def test_runs_on_other_machines_at_the_same_time_have_no_sum_of_times() -> None:
    runs = [weighing("a", 1, 600), weighing("a", 2, None, "left")]
    assert message(*runs, in_turn=False) == "weighed 1 of 2 runs; 1 left"


def test_what_cannot_be_weighed_is_not_left() -> None:
    runs = [weighing("a", 1, 600), weighing("a", 2, None, "lost"), weighing("a", 3, None, "lost")]
    assert message(*runs, may_grow=True) == (
        "weighed 1 of 3 runs; later rounds may ask for more; 2 cannot be weighed, because a job failed"
    )


def test_long_times_are_hours() -> None:
    runs = [weighing("a", 1, 7200), weighing("a", 2, None, "left"), weighing("a", 3, None, "left")]
    assert ", about 4.0 h (" in message(*runs)
    assert ", less than a minute (" in message(weighing("a", 1, 5), weighing("a", 2, None, "left"))


def test_in_few_words_it_says_how_far_how_long_and_what_is_lost() -> None:
    runs = [weighing("a", 1, 600), weighing("a", 2, None, "left"), weighing("a", 3, None, "lost")]
    assert both(*runs, may_grow=True)[1] == "weighed 1 of 3 runs, about 10 min left, 1 lost"
    assert both(weighing("a", 1, None, "left"))[1] == "weighed 0 of 1 runs"
