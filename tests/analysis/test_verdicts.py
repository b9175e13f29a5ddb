"""The rules of verdicts, regrowth and remedies on evidence made by hand."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis import compare
from beyond_ram.analysis.regrowth import fit
from beyond_ram.analysis.remedies import remedies
from beyond_ram.analysis.verdicts import judge, verdicts
from beyond_ram.weighing.remedies import REMEDIES

MB = 1_000_000


def tree(anon_mb: float, file_mb: float = 10) -> dict[str, float]:
    return {"anon_bytes": anon_mb * MB, "file_bytes": file_mb * MB}


def teardown(*steps: tuple[str, float], start_mb: float = 100) -> list[dict[str, Any]]:
    """Events of a run that begins at 100 MB and is at `start_mb`, then at each step's size, as its owner is let go."""
    found: list[dict[str, Any]] = [{"t_s": 0, "event": "imported", "tree": tree(100)}]
    for step, (owner, anon_mb) in enumerate([("nothing", start_mb), *steps]):
        found.append({"t_s": step + 1, "event": "released", "rung": step, "owner": owner, "tree": tree(anon_mb)})
    return found


def record(**changes: Any) -> dict[str, Any]:
    cell = {"experiment": "e", "stack": "s", "rep": 1} | changes
    return {"cell": cell, "completed_work": True, "work": {"bytes_in": 10 * MB}}


def test_no_owner_with_two_thirds_is_no_verdict() -> None:
    found = judge(record(), teardown(("allocator, unused", 150), ("tokenizer", 100), start_mb=200))
    assert found.verdict == "undecided"
    assert "tokenizer 50%" in found.evidence


def test_two_owners_are_named_together() -> None:
    found = judge(record(), teardown(("tokenizer", 150), ("dataset", 100), start_mb=200))
    assert found.verdict == "held"
    assert found.owner in ("tokenizer and dataset", "dataset and tokenizer")


def test_repeats_that_disagree_are_undecided() -> None:
    runs = [
        (record(rep=1), teardown(("tokenizer", 100), start_mb=200)),
        (record(rep=2), teardown(("tokenizer", 100), start_mb=101)),
    ]
    line = verdicts(runs).iloc[0]
    assert (line["verdict"], line["n"]) == ("undecided", 2)
    assert "disagree" in line["sentence"]


def test_a_run_that_did_not_finish_has_no_verdict() -> None:
    unfinished = record() | {"completed_work": False}
    table = verdicts([(unfinished, teardown(("tokenizer", 100), start_mb=200))])
    assert table.empty
    assert "verdict" in table


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([10, 11, 11, 11, 11, 11], "levels off"),
        ([10, 20, 30, 40, 50, 60], "grows"),
        ([10, 20], "too few epochs"),
        ([10, 20, 30, 35, 20, 50], "unclear"),
    ],
)
def test_regrowth_tells_a_warm_up_from_a_leak(sizes: list[float], found: str) -> None:
    events = [{"t_s": n, "event": "epoch", "tree": tree(size)} for n, size in enumerate(sizes)]
    assert fit(events, 10 * MB).verdict == found


def test_a_ratio_has_an_interval_that_covers_the_truth() -> None:
    found = compare.ratio([100, 102, 98, 101], [51, 49, 50, 50.5])
    assert found.low < 0.5 < found.high
    assert found.significant
    assert not compare.ratio([100, 102, 98], [101, 99, 100]).significant
    assert math.isnan(compare.ratio([100], [50]).low)
    assert math.isnan(compare.ratio([0, 1], [1, 1]).ratio)


def test_every_remedy_is_in_the_docs(root: Path) -> None:
    page = (root / "docs" / "explain.md").read_text(encoding="utf-8")
    assert [name for name, remedy in REMEDIES.items() if f"| `{name}` | {remedy.description} |" not in page] == []


def test_a_remedy_that_does_nothing_is_told_from_one_that_was_not_shown_to() -> None:
    def runs(remedy: str, values: list[float], outcome: str = "completed") -> list[dict[str, Any]]:
        axes = "experiment stack corpus mode shards num_files batch_size writer_batch_size num_proc cache stop_after"
        cell = dict.fromkeys(axes.split(), "x") | {"remedy": remedy, "outcome": outcome, "reason": "not installed"}
        same = {"peak_anon_upper_bound_bytes": 5.0, "tokens_per_cpu_s": 5.0}
        return [cell | same | {"grown_anon_bytes": value} for value in values]

    lines = runs("none", [100, 101, 99, 100]) + runs("idle", [100, 99, 101, 100]) + runs("noisy", [60, 150, 110, 90])
    lines += runs("good", [10, 11, 9, 10]) + runs("bad", [200, 201, 199, 200]) + runs("once", [50])
    lines += runs("absent", [math.nan], "not_applicable")
    table = remedies(pd.DataFrame(lines))
    effects = table[table["metric"] == "grown_anon_bytes"].set_index("remedy")["effect"].to_dict()
    assert effects == {
        "idle": "nothing",
        "noisy": "not shown",
        "good": "helps",
        "bad": "harms",
        "once": "not enough data",
        "absent": "not run",
    }


def test_pages_that_processes_share_are_nobodys_growth() -> None:
    def run(pss_mb: float) -> list[dict[str, Any]]:
        events = teardown(("allocator, unused", 400), ("loader", 100), start_mb=400)
        events[1]["tree"] |= {"processes": 5}
        release = {"t_s": 1, "event": "phase", "phase": "release", "tree": tree(400) | {"pss_anon_bytes": pss_mb * MB}}
        return [events[0], release, *events[1:]]

    assert judge(record(), run(110)).verdict == "flat"
    found = judge(record(), run(180))
    assert found.verdict == "undecided"
    assert "80 MB" in found.sentence
