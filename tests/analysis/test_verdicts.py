"""The rules of verdicts, on evidence made by hand."""

from typing import Any

from beyond_ram.analysis.verdicts import judge, verdicts

from .by_hand import MB, torn_down, tree


def record(**changes: Any) -> dict[str, Any]:
    cell = {"experiment": "e", "stack": "s", "rep": 1} | changes
    return {"cell": cell, "completed_work": True, "work": {"bytes_in": 10 * MB}}


def test_no_owner_with_two_thirds_is_no_verdict() -> None:
    found = judge(record(), torn_down(("allocator, unused", 150), ("tokenizer", 100), start_mb=200))
    assert found.verdict == "undecided"
    assert "tokenizer 50%" in found.evidence


def test_two_owners_are_named_together() -> None:
    found = judge(record(), torn_down(("tokenizer", 150), ("dataset", 100), start_mb=200))
    assert found.verdict == "held"
    assert found.owner in ("tokenizer and dataset", "dataset and tokenizer")


def test_repeats_that_disagree_are_undecided() -> None:
    runs = [
        (record(rep=1), torn_down(("tokenizer", 100), start_mb=200)),
        (record(rep=2), torn_down(("tokenizer", 100), start_mb=101)),
    ]
    line = verdicts(runs).iloc[0]
    assert (line["verdict"], line["n"]) == ("undecided", 2)
    assert "disagree" in line["sentence"]


def test_a_run_that_did_not_finish_has_no_verdict() -> None:
    unfinished = record() | {"completed_work": False}
    table = verdicts([(unfinished, torn_down(("tokenizer", 100), start_mb=200))])
    assert table.empty
    assert "verdict" in table


def test_pages_that_processes_share_are_nobodys_growth() -> None:
    def run(pss_mb: float) -> list[dict[str, Any]]:
        events = torn_down(("allocator, unused", 400), ("loader", 100), start_mb=400)
        events[1]["tree"] |= {"processes": 5}
        release = {
            "t_s": 1,
            "event": "phase",
            "phase": "release",
            "tree": tree(400 * MB, 10 * MB) | {"pss_anon_bytes": pss_mb * MB},
        }
        return [events[0], release, *events[1:]]

    assert judge(record(), run(110)).verdict == "flat"
    found = judge(record(), run(180))
    assert found.verdict == "undecided"
    assert "80 MB" in found.sentence
