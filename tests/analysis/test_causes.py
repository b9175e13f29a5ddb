"""The rules of causes, on hand-made evidence."""

from typing import Any

import pytest

from beyond_ram.analysis.causes import Judged, verdicts
from beyond_ram.analysis.causes import judge as judge_all

from .by_hand import MB, Event, torn_down, tree


def record(**changes: Any) -> dict[str, Any]:
    cell = {"experiment": "e", "stack": "s", "rep": 1} | changes
    return {"cell": cell, "completed_work": True, "work": {"bytes_in": 10 * MB}}


def judge(*runs: Any) -> Judged:
    """The verdict of a run: a record and its events."""
    return judge_all([runs])


def test_no_verdict_if_no_owner_has_two_thirds() -> None:
    cause = judge(record(), torn_down(("allocator, unused", 150), ("tokenizer", 100), start_mb=200))
    assert cause.verdict == "undecided"
    assert "tokenizer 50%" in cause.evidence


def test_two_owners_are_named_together() -> None:
    cause = judge(record(), torn_down(("tokenizer", 150), ("dataset", 100), start_mb=200))
    assert cause.verdict == "held"
    assert cause.owner in ("tokenizer and dataset", "dataset and tokenizer")


def test_repeats_that_disagree_are_undecided() -> None:
    runs = [
        (record(rep=1), torn_down(("tokenizer", 100), start_mb=200)),
        (record(rep=2), torn_down(("tokenizer", 100), start_mb=101)),
    ]
    line = verdicts(runs).iloc[0]
    assert (line["verdict"], line["n"]) == ("undecided", 2)
    assert "disagree" in line["sentence"]


def test_unfinished_run_has_no_verdict() -> None:
    unfinished = record() | {"completed_work": False}
    table = verdicts([(unfinished, torn_down(("tokenizer", 100), start_mb=200))])
    assert table.empty
    assert "verdict" in table


def test_pages_shared_by_processes_are_not_growth() -> None:
    def run(pss_mb: float) -> list[dict[str, Any]]:
        events = torn_down(("allocator, unused", 400), ("loader", 100), start_mb=400)
        for before in events[1:3]:
            before["tree"] |= {"processes": 5}
        release = {
            "t_s": 1,
            "event": "phase",
            "phase": "release",
            "tree": tree(400 * MB, 10 * MB) | {"pss_anon_bytes": pss_mb * MB},
        }
        return [events[0], release, *events[1:]]

    assert judge(record(), run(110)).verdict == "flat"
    cause = judge(record(), run(180))
    assert cause.verdict == "undecided"
    assert "80 MB" in cause.sentence
    # PSS equals the sum: nothing is shared, and the teardown names the owner.
    cause = judge(record(), run(400))
    assert (cause.verdict, cause.owner) == ("held", "loader and its processes")
    assert "anonymous PSS +300 MB" in cause.evidence
    assert "100 MB" in cause.sentence, "the imports of each process are part of the growth"


def residue(heap_mb: float, blocks: int = 0, free_mb: float = 0) -> list[Event]:
    """A run in which no owner releases 100 MB, with the counters of malloc and Python."""
    events = torn_down(("tokenizer", 200), start_mb=200)
    events[0] |= {"python_blocks": 0, "heap": {"in_use_bytes": 0, "unused_bytes": 0}}
    events[-1] |= {"python_blocks": blocks, "heap": {"in_use_bytes": heap_mb * MB, "unused_bytes": free_mb * MB}}
    return events


def repeated(events: list[Event], *sizes_mb: float) -> list[Event]:
    """The same run with epochs of these sizes."""
    epochs = [{"t_s": n, "event": "epoch", "tree": tree(size * MB)} for n, size in enumerate(sizes_mb)]
    return [events[0], *epochs, *events[1:]]


def with_files(events: list[Event], mb: float) -> list[Event]:
    events[1]["tree"] = tree(100 * MB, mb * MB)
    return events


GROWS, LEVEL = (10, 20, 30, 40, 50, 60), (60, 60, 60, 60, 60, 60)


@pytest.mark.parametrize(
    ("events", "verdict", "owner"),
    [
        (torn_down(("tokenizer", 100)), "flat", ""),
        (with_files(torn_down(("tokenizer", 100)), 60), "page-cache", "mapped files"),
        (repeated(torn_down(("tokenizer", 100)), *GROWS), "undecided", ""),
        (torn_down(("allocator, unused", 110), start_mb=200), "retained", "allocator"),
        (torn_down(("arrow pool, unused", 110), start_mb=200), "retained", "arrow pool"),
        (
            torn_down(("arrow pool, unused", 140), ("allocator, unused", 110), start_mb=200),
            "retained",
            "arrow pool and allocator",
        ),
        (torn_down(("tokenizer", 110), start_mb=200), "held", "tokenizer"),
        (residue(heap_mb=100, blocks=1_000_000), "undecided", ""),
        (residue(heap_mb=10, free_mb=90), "retained", "allocator (fragments)"),
        (residue(heap_mb=10, free_mb=20), "undecided", ""),
        (residue(heap_mb=50), "undecided", ""),
        (residue(heap_mb=100), "undecided", ""),
        (repeated(residue(heap_mb=100), *GROWS), "leak", "memory outside Python's objects"),
        (repeated(residue(heap_mb=100), *LEVEL), "held", "native code, taken once"),
        (repeated(residue(heap_mb=50), *GROWS), "undecided", ""),
        (repeated(residue(heap_mb=10, free_mb=90), *GROWS), "retained", "allocator (fragments)"),
        (repeated(residue(heap_mb=100, blocks=1_000_000), *GROWS), "undecided", ""),
        (repeated(residue(heap_mb=100), 10, 20), "undecided", ""),
    ],
)
def test_each_rule(events: list[Event], verdict: str, owner: str) -> None:
    cause = judge_all([(record(rep=rep), events) for rep in (1, 2)])
    assert (cause.verdict, cause.owner) == (verdict, owner), cause


def test_memory_unknown_to_malloc_is_not_fragmentation() -> None:
    cause = judge(record(), residue(heap_mb=10, free_mb=20))
    assert (cause.verdict, cause.owner) == ("undecided", "")


def without_heap(events: list[Event]) -> list[Event]:
    return [{name: value for name, value in event.items() if name != "heap"} for event in events]


@pytest.mark.parametrize("epochs", [GROWS, LEVEL])
def test_residue_without_malloc_counters_is_undecided(epochs: tuple[float, ...]) -> None:
    events = without_heap(repeated(residue(heap_mb=100), *epochs))
    cause = judge_all([(record(rep=rep), events) for rep in (1, 2)])
    assert cause.verdict == "undecided"
    assert "allocator" in cause.sentence


@pytest.mark.parametrize("epochs", [GROWS, LEVEL])
def test_one_run_of_repeated_work_is_undecided(epochs: tuple[float, ...]) -> None:
    cause = judge(record(), repeated(residue(heap_mb=100), *epochs))
    assert cause.verdict == "undecided"
    assert "epeats" in cause.sentence


def test_runs_that_disagree_on_regrowth_are_undecided() -> None:
    runs = [(record(rep=i), repeated(residue(heap_mb=100), *epochs)) for i, epochs in enumerate((GROWS, LEVEL))]
    assert judge_all(runs).verdict == "undecided"


def test_sentence_covers_all_repeats() -> None:
    runs = [(record(rep=rep), torn_down(("tokenizer", 100), start_mb=mb)) for rep, mb in ((1, 200), (2, 220), (3, 260))]
    cause = judge_all(runs)
    assert "120 MB (100 MB to 160 MB)" in cause.sentence, "the median and the range"
    assert all(f"repeat {rep}: " in cause.evidence for rep in (1, 2, 3))
    assert judge(*runs[0]).sentence.endswith("(one run).")


def test_only_owners_of_every_repeat_are_named() -> None:
    runs = [
        (record(rep=rep), torn_down(("tokenizer", 100 + mb), ("dataset", 100), start_mb=200))
        for rep, mb in ((1, 25), (2, 15))
    ]
    cause = judge_all(runs)
    assert (cause.verdict, cause.owner) == ("held", "tokenizer")
    assert "80% (75% to 85%)" in cause.sentence
    apart = [
        (record(rep=rep), torn_down((owner, 100), start_mb=200)) for rep, owner in ((1, "tokenizer"), (2, "dataset"))
    ]
    assert (judge_all(apart).verdict, judge_all(apart).owner) == ("undecided", "")


def test_one_line_per_cell_with_median_growth() -> None:
    runs = [(record(rep=rep), torn_down(("tokenizer", 100), start_mb=mb)) for rep, mb in ((1, 200), (2, 220), (3, 260))]
    line = verdicts(runs).iloc[0]
    assert (line["verdict"], line["owner"], line["n"]) == ("held", "tokenizer", 3)
    assert line["anon_grown_bytes"] == 120 * MB
    assert line["run"] == "e/stack~s/rep~1"


def test_memory_of_processes_that_ended_is_not_flat() -> None:
    events = torn_down(("loader", 102), start_mb=103)
    work = {"t_s": 0.5, "event": "work", "tree": tree(700 * MB, 10 * MB) | {"processes": 3}}
    cause = judge(record(), [events[0], work, *events[1:]])
    assert cause.verdict == "undecided"
    assert cause.sentence.startswith("600 MB more anonymous memory at the end of the work")
    assert " 2 processes " in cause.sentence
    work["tree"] |= {"processes": 1}
    assert judge(record(), [events[0], work, *events[1:]]).verdict == "flat"
