"""Which stacks are compared with which."""

from typing import Any

from beyond_ram.experiment import load, roles

STACKS = ["june-2023", "current"]
SOAK = {"workload": "soak", "matrix": {"stack": STACKS, "corpus": ["c"], "num_files": [10], "subject": ["tokenizers"]}}
CORPORA = {"c": {"source": "binaries", "documents": 60, "tokenizer": {"train": "characters", "entries": 700}}}


def config(**more: Any) -> Any:
    return load({"corpora": CORPORA, "experiments": {"scan": SOAK}} | more)


def test_first_stack_is_the_baseline_without_comparisons() -> None:
    assert roles.pairs(config()) == [("june-2023", "current")]


def test_comparison_names_baselines_and_candidates() -> None:
    named = {"mine": {"baselines": ["current"], "candidates": ["june-2023", "current"]}}
    assert roles.pairs(config(comparisons=named)) == [("current", "june-2023")]


def test_an_older_lock_is_the_baseline_of_the_renewed_one() -> None:
    kept = ["scan/stack~current@01234567/corpus~c/num_files~10/subject~tokenizers/between~nothing/epochs~5/rep~1"]
    assert ("current@01234567", "current") in roles.pairs(config(), kept)


def kept(*locks: tuple[str, int]) -> list[str]:
    """Paths of kept runs of stack `current`: two repeats per lock and size, oldest first."""
    axes = "subject~tokenizers/between~nothing/epochs~5"
    return [
        f"scan/stack~current@{lock}/corpus~c/num_files~{size}/{axes}/rep~{rep}"
        for lock, size in locks
        for rep in (1, 2)
    ]


def test_each_kept_lock_is_the_baseline_of_the_next_one() -> None:
    """All pairs of ten locks would be 55 comparisons per metric, and each makes all others harder to confirm."""
    pairs = roles.pairs(config(), kept(("bbbb0000", 10), ("aaaa0000", 10), ("cccc0000", 10)))
    assert pairs[1:] == [
        ("current@bbbb0000", "current@aaaa0000"),
        ("current@aaaa0000", "current@cccc0000"),
        ("current@cccc0000", "current"),
        ("current@bbbb0000", "current"),
    ]


def test_lock_that_ran_other_cells_is_skipped() -> None:
    pairs = roles.pairs(config(), kept(("aaaa0000", 10), ("aaaa0000", 20), ("bbbb0000", 20), ("cccc0000", 10)))
    assert pairs[1:] == [
        ("current@aaaa0000", "current@bbbb0000"),
        ("current@aaaa0000", "current@cccc0000"),
        ("current@bbbb0000", "current"),
        ("current@cccc0000", "current"),
        ("current@aaaa0000", "current"),
    ]


def test_questions_have_the_largest_value_that_runs() -> None:
    scan: dict[str, Any] = SOAK | {
        "questions": [{"metric": "run_failed", "where": {"num_files": ["largest"], "stack": ["current"]}}]
    }
    scan["matrix"] = SOAK["matrix"] | {"num_files": [10, 30, 20]}  # type: ignore[operator]
    assert roles.questions(config(experiments={"scan": scan, "other": SOAK})) == [
        {
            "experiment": "scan",
            "metric": "run_failed",
            "axis": "stack",
            "where": {"num_files": [30], "stack": ["current"]},
        }
    ]
