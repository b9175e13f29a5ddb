"""Table `claims` from runs made by hand."""

import pandas as pd
import pytest

from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.spark import spark

from .by_hand import Run, sparked, streamed

PAIRS = [("stream-june-2023", "stream-current"), ("stream-3.6", "stream-current")]


def claimed(*records: Run) -> pd.DataFrame:
    return claims(runs(records), claimed=PAIRS)


def twice(stack: str, asked: dict[str, dict[str, int]]) -> list[Run]:
    """Two repeats that ask the same."""
    return [streamed(stack, asked, rep) for rep in (1, 2)]


def test_fewer_requests_by_how_much() -> None:
    before, after = {"tree": {"main": 100, "worker": 300}}, {"tree": {"main": 4}}
    once = claimed(streamed("stream-3.6", before), streamed("stream-current", after))
    assert once[once["claim"].str.contains("fewer requests")]["holds"].tolist() == ["not enough data"]
    assert once["low"].isna().all(), "one run is never exact"
    found = claimed(*twice("stream-3.6", before), *twice("stream-current", after))
    line = found[found["claim"].str.contains("fewer requests")].iloc[0]
    assert [line["measured"], line["low"], line["high"]] == pytest.approx([100, 100, 100])
    assert line["holds"] == "holds"
    assert "stream-current against stream-3.6" in line["conditions"]
    assert "2 workers by fork" in line["conditions"]
    half = claimed(*twice("stream-3.6", before), *twice("stream-current", {"tree": {"main": 200}}))
    assert half[half["claim"].str.contains("fewer requests")]["holds"].tolist() == ["partly"]
    nearly = claimed(*twice("stream-3.6", {"tree": {"main": 1001}}), *twice("stream-current", {"tree": {"main": 1000}}))
    assert nearly[nearly["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]
    worse = claimed(*twice("stream-3.6", after), *twice("stream-current", before))
    assert worse[worse["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]


def test_clients_that_read_other_rows_are_not_compared() -> None:
    record, events = streamed("stream-june-2023", {"tree": {"main": 100}})
    record["work"]["rows"] = 640
    found = claimed((record, events), streamed("stream-current", {"tree": {"main": 4}}))
    assert not found["conditions"].str.contains("against").any()
    record["work"]["rows"] = 64
    found = claimed((record, events), streamed("stream-current", {"tree": {"main": 4}}))
    assert found["conditions"].str.contains("against").any()


def test_times_need_repeats() -> None:
    once = claimed(streamed("stream-3.6", {"tree": {"main": 1}}), streamed("stream-current", {"tree": {"main": 1}}))
    assert set(once[once["claim"].str.contains("resolved")]["holds"]) == {"not enough data"}
    slow = [streamed("stream-3.6", {}, rep, resolved_s=10 + rep / 10) for rep in (1, 2, 3)]
    fast = [streamed("stream-current", {}, rep, resolved_s=0.5 + rep / 100) for rep in (1, 2, 3)]
    line = claimed(*slow, *fast)
    line = line[line["claim"].str.contains("resolved")].iloc[0]
    assert line["holds"] == "holds"
    assert line["low"] < line["measured"] < line["high"]


def test_a_list_that_is_shared_is_not_asked_for_again() -> None:
    shared = claimed(*twice("stream-current", {"tree": {"main": 2}}))
    asked = claimed(*twice("stream-current", {"tree": {"main": 2, "worker": 4}}))
    once = claimed(streamed("stream-current", {"tree": {"main": 2}}))
    said = [found[found["claim"].str.contains("shared")].iloc[0] for found in (shared, asked, once)]
    assert [(line["measured"], line["holds"]) for line in said] == [(0, "holds"), (2, "no"), (0, "not enough data")]


def test_failed_runs_claim_nothing() -> None:
    found = claimed(streamed("stream-3.6", {}, outcome="failed"), streamed("stream-current", {"tree": {"main": 1}}))
    assert not found["conditions"].str.contains("against").any()
    assert len(found)


def test_what_other_tables_say_of_claims() -> None:
    pushed = [
        {
            "experiment": "dedup",
            "stack": "s",
            "compression": "zstd",
            "row_group_rows": 9,
            "table_rows": 99,
            "cdc": cdc,
            "rep": rep,
        }
        | {"edit": edit, "new_share": share}
        for cdc, shares in {"off": {"none": 1.0, "insert": 0.8}, "on": {"none": 1.0, "insert": 0.1}}.items()
        for edit, share in shares.items()
        for rep in (1, 2)
    ]
    opened = {"experiment": "frames", "stack": "s", "repository": "v", "block_kb": 64, "opener": "filesystem"}
    opened |= {"outcome": "completed", "samples": 4, "samples_twice": 0}
    samples = pd.DataFrame([opened | {"samples_wrong": wrong} for wrong in (0, 2)])
    found = claims(pd.DataFrame(), pd.DataFrame(pushed), samples)
    silent = found[found["holds"] == "not run"]
    assert "a Spark data source reads and writes datasets" in silent["claim"].tolist()
    assert silent["measured"].isna().all()
    found = found[found["holds"] != "not run"]
    assert found["measured"].tolist() == pytest.approx([8, 0.75])
    assert found["holds"].tolist() == ["holds", "partly"]
    assert claims(pd.DataFrame()).empty


def test_a_data_source_that_cannot_write_holds_in_part() -> None:
    found = claims(pd.DataFrame(), spark=spark(sparked()))
    (claim,) = found[found["claim"].str.contains("Spark") & (found["stack"] == "spark")].to_dict("records")
    assert (claim["measured"], claim["holds"], claim["n"]) == (0.5, "partly", 1)
    assert claim["conditions"] == "spark; read, write; write fails with TypeError: x"
