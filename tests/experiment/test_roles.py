"""Which stacks are held against which."""

from typing import Any

from beyond_ram.experiment import load, roles

SCAN = {"workload": "scan", "matrix": {"stack": ["june-2023", "current"], "size_mb": [10]}}


def config(**more: Any) -> Any:
    return load({"corpora": {}, "experiments": {"scan": SCAN}} | more)


def test_without_a_role_the_first_stack_is_the_baseline_of_the_others() -> None:
    assert roles.pairs(config()) == [("june-2023", "current")]


def test_a_comparison_says_which_is_held_against_which() -> None:
    named = {"mine": {"baselines": ["current"], "candidates": ["june-2023", "current"]}}
    assert roles.pairs(config(comparisons=named)) == [("current", "june-2023")]
    assert roles.claimed(config(comparisons=named)) == []
    assert roles.claimed(config(comparisons={"mine": named["mine"] | {"claims": True}})) == [("current", "june-2023")]


def test_an_older_lock_is_the_baseline_of_the_renewed_one() -> None:
    kept = ["scan/stack~current@01234567/size_mb~10/rep~1"]
    assert ("current@01234567", "current") in roles.pairs(config(), kept)
