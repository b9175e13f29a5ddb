"""Table `changes`: comparisons of stacks, worst first."""

import pandas as pd
import pytest

from beyond_ram.analysis.changes import changes, counts, in_words
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.metrics import METRICS

from .test_comparisons import runs


def changes_of(*cells):
    table = pd.DataFrame([line for cell in cells for line in cell])
    return changes(comparisons(table, [("old", "new")]))


def test_worse_changes_come_first():
    table = changes_of(
        runs(stack="old", grown=100, rate=1000, num_files=1),
        runs(stack="new", grown=400, rate=1000, num_files=1),
        runs(stack="old", grown=400, rate=1000, num_files=2),
        runs(stack="new", grown=100, rate=1000, num_files=2),
    )
    growth = table[table["metric"] == "grown_anon_bytes"]
    assert growth[["num_files", "result"]].to_numpy().tolist() == [[1, "worse"], [2, "better"]]
    assert table["result"].iloc[0] == "worse"
    assert growth["ratio"].tolist() == pytest.approx([4, 0.25], rel=0.01)
    assert growth["threshold"].tolist() == ["5 %, at least 8 MB"] * 2
    first = in_words(table)[0]
    assert first["metric"] == METRICS["grown_anon_bytes"].label
    assert first["cell"] == "e, 1 file"
    assert first["effect"].endswith(" times")


def test_one_run_per_side_is_undecided():
    table = changes_of(runs(stack="old", n=1), runs(stack="new", grown=900, n=1))
    assert set(table["result"]) == {"undecided"}
    assert counts(table) == "2 undecided"
    assert {line["interval"] for line in in_words(table)} == {""}


def test_comparisons_of_remedies_are_left_out():
    assert changes_of(runs(stack="new", remedy="none"), runs(stack="new", remedy="gc-each-batch", grown=50)).empty


def test_another_machine_is_named():
    table = changes_of(
        runs(stack="old", cpu_count=2, machine_memory_bytes=24e9),
        runs(stack="new", cpu_count=16, machine_memory_bytes=24e9),
    )
    assert set(table["machines"]) == {"other machines: cpu_count 2 against 16"}
    assert in_words(table)[0]["notes"] == "other machines: cpu_count 2 against 16"
    assert set(changes_of(runs(stack="old", cpu_count=2), runs(stack="new", cpu_count=2))["machines"]) == {""}
