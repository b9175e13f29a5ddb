"""Which stacks are compared with which."""

from beyond_ram.experiment import load, roles

STACKS = ["june-2023", "current"]
SOAK = {"workload": "soak", "matrix": {"stack": STACKS, "corpus": ["c"], "num_files": [10], "subject": ["tokenizers"]}}
CORPORA = {"c": {"source": "binaries", "documents": 60, "tokenizer": {"train": "characters", "entries": 700}}}


def config(**more):
    return load({"corpora": CORPORA, "experiments": {"scan": SOAK}} | more)


def test_first_stack_is_the_baseline_without_comparisons():
    assert roles.pairs(config()) == [("june-2023", "current")]


def test_comparison_names_baselines_and_candidates():
    named = {"mine": {"baselines": ["current"], "candidates": ["june-2023", "current"]}}
    assert roles.pairs(config(comparisons=named)) == [("current", "june-2023")]


def test_lock_before_an_upgrade_runs_beside_the_present_one_and_is_its_baseline(tmp_path):
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/current-before.in").touch()
    before = config()
    roles.run_locks_before(before, tmp_path)
    assert {cell["stack"] for cell in before.cells("scan")} == {"june-2023", "current-before", "current"}
    assert roles.pairs(before) == [("june-2023", "current"), ("current-before", "current")]


def test_questions_have_the_largest_value_that_runs():
    scan = SOAK | {"questions": [{"metric": "run_failed", "where": {"num_files": ["largest"], "stack": ["current"]}}]}
    scan["matrix"] = SOAK["matrix"] | {"num_files": [10, 30, 20]}
    assert roles.questions(config(experiments={"scan": scan, "other": SOAK})) == [
        {
            "experiment": "scan",
            "metric": "run_failed",
            "axis": "stack",
            "where": {"num_files": [30], "stack": ["current"]},
            "looked_at": False,
        }
    ]
