"""Tables `streaming` and `claims` from made-up runs whose answers are known."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from beyond_ram import tables
from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.streaming import break_even, streaming

KNOWN = {
    "experiment": "requests", "repository": "r", "mode": "stream", "workers": 2, "start": "fork", "page_size": 1000,
    "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "fault": "none", "buffering": "default",
    "shuffle_buffer": 0, "prefetch_factor": 2, "epochs": 1,
}  # fmt: skip


def run(
    stack: str,
    asked: dict[str, dict[str, int]] | None,
    rep: int = 1,
    *,
    resolved_s: float = 0.5,
    epoch_s: tuple[float, ...] = (2.0,),
    outcome: str = "completed",
    **cell: Any,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    work = {"rows": 64, "rows_per_worker": {"0": 40, "1": 24}, "bytes_in": 640, "rows_expected": 64}
    work |= {"rows_delivered": 64, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0}
    if asked is not None:
        work |= {"requests": asked, "data_in_flight_max": 2, "data_bytes_received": 1280}
    record = {
        "outcome": outcome, "completed_work": outcome == "completed", "workload": "stream", "exit_status": 0,
        "signal": None, "duration_s": 9.0, "cpu_s": 5.0, "cell": {"stack": stack, **KNOWN, **cell, "rep": rep},
        "work": work, "peak": {"rss_bytes": 1, "hwm_bytes": {"sum_upper_bound_bytes": 1, "processes": []}},
        "provenance": {"versions": {}, "allocator_settings": {}}, "sampler": {},
    }  # fmt: skip
    events: list[dict[str, Any]] = [
        {"event": "worker", "worker": 0, "anon_bytes": 100},
        {"event": "worker", "worker": 1, "anon_bytes": 100},
        {"event": "resolved", "duration_s": resolved_s},
        {"event": "first_batch", "duration_s": resolved_s + 0.2},
    ]
    for number, seconds in enumerate(epoch_s):
        events.append(
            {
                "event": "epoch", "epoch": number, "duration_s": seconds, "first_batch_s": 1.0,
                "rows_delivered": 64, "bytes": 640, "finished": True,
                "worker_anon_bytes": {"0": 150, "1": 400},
            }
        )  # fmt: skip
    return record, events


def test_a_line_a_cell_with_its_counts_and_its_rows() -> None:
    asked = {"tree": {"main": 2, "worker": 4}, "data": {"worker": 10}}
    line = streaming([run("s", asked, 1), run("s", asked, 2, resolved_s=0.7)]).iloc[0]
    assert line["n"] == 2
    assert (line["requests"], line["requests_metadata"], line["requests_data"]) == (16, 6, 10)
    assert (line["requests_tree_main"], line["requests_tree_worker"], line["requests_info_main"]) == (2, 4, 0)
    assert line["requests_listing_of_workers"] == 4
    assert line["counts_identical"]
    assert (line["resolution_s_low"], line["resolution_s_high"]) == (0.5, 0.7)
    assert line["rows_per_s"] == pytest.approx(64 / 2.0)
    assert (line["worker_anon_bytes"], line["worker_grown_anon_bytes"]) == (400, 300)
    assert (line["rows_per_worker"], line["rows_per_worker_min"], line["workers_idle"]) == ('{"0": 40, "1": 24}', 24, 0)
    assert line["over_fetched"] == 2


def test_counts_that_differ_between_repeats_are_said() -> None:
    line = streaming([run("s", {"tree": {"main": 2}}, 1), run("s", {"tree": {"main": 3}}, 2)]).iloc[0]
    assert not line["counts_identical"]
    assert (line["requests_low"], line["requests_high"]) == (2, 3)


def test_a_client_that_gave_up_before_its_first_row_has_a_line_too() -> None:
    record, events = run("s", {"info": {"main": 1}}, outcome="failed")
    record["work"]["rows_per_worker"] = {}
    line = streaming([(record, events)]).iloc[0]
    assert (line["outcome"], line["n"], line["requests"], line["workers_idle"]) == ("failed", 0, 1, 2)
    assert pd.isna(line["rows_per_worker_min"])


def test_what_nobody_counted_is_empty_and_not_zero() -> None:
    line = streaming([run("s", None)]).iloc[0]
    assert pd.isna(line["requests"])
    assert pd.isna(line["requests_tree_main"])
    assert line["rows_delivered"] == 64


def test_a_copy_on_disk_pays_from_some_epoch_on() -> None:
    table = streaming(
        [
            run("s", None, resolved_s=1.0, epoch_s=(2.0, 2.0), epochs=2),
            run("s", None, resolved_s=8.0, epoch_s=(0.5, 0.5), epochs=2, mode="download"),
        ]
    )
    # 1 + 2 E against 8 + 0.5 E: even at 4.67 epochs.
    assert break_even(table)["epochs"].tolist() == [5]


def test_a_copy_that_is_read_no_faster_never_pays() -> None:
    table = streaming(
        [
            run("s", None, epoch_s=(2.0, 2.0), epochs=2),
            run("s", None, resolved_s=8.0, epoch_s=(2.0, 3.0), epochs=2, mode="download"),
        ]
    )
    assert break_even(table)["epochs"].isna().all()


PAIRS = [("stream-june-2023", "stream-current"), ("stream-3.6", "stream-current")]


def claimed(*records: tuple[dict[str, Any], list[dict[str, Any]]]) -> pd.DataFrame:
    return claims(runs(records), claimed=PAIRS)


def test_fewer_requests_by_how_much() -> None:
    before, after = {"tree": {"main": 100, "worker": 300}}, {"tree": {"main": 4}}
    found = claimed(run("stream-3.6", before), run("stream-current", after))
    line = found[found["claim"].str.contains("fewer requests")].iloc[0]
    assert [line["measured"], line["low"], line["high"]] == pytest.approx([100, 100, 100])
    assert line["holds"] == "yes"
    assert "stream-current against stream-3.6" in line["conditions"]
    assert "2 workers by fork" in line["conditions"]
    half = claimed(run("stream-3.6", before), run("stream-current", {"tree": {"main": 200}}))
    assert half[half["claim"].str.contains("fewer requests")]["holds"].tolist() == ["partly"]
    nearly = claimed(run("stream-3.6", {"tree": {"main": 1001}}), run("stream-current", {"tree": {"main": 1000}}))
    assert nearly[nearly["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]
    worse = claimed(run("stream-3.6", after), run("stream-current", before))
    assert worse[worse["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]


def test_clients_that_read_other_rows_are_not_compared() -> None:
    record, events = run("stream-june-2023", {"tree": {"main": 100}})
    record["work"]["rows"] = 640
    found = claimed((record, events), run("stream-current", {"tree": {"main": 4}}))
    assert not found["conditions"].str.contains("against").any()
    record["work"]["rows"] = 64
    found = claimed((record, events), run("stream-current", {"tree": {"main": 4}}))
    assert found["conditions"].str.contains("against").any()


def test_times_need_repeats() -> None:
    once = claimed(run("stream-3.6", {"tree": {"main": 1}}), run("stream-current", {"tree": {"main": 1}}))
    assert set(once[once["claim"].str.contains("resolved")]["holds"]) == {"not enough data"}
    slow = [run("stream-3.6", {}, rep, resolved_s=10 + rep / 10) for rep in (1, 2, 3)]
    fast = [run("stream-current", {}, rep, resolved_s=0.5 + rep / 100) for rep in (1, 2, 3)]
    line = claimed(*slow, *fast)
    line = line[line["claim"].str.contains("resolved")].iloc[0]
    assert line["holds"] == "yes"
    assert line["low"] < line["measured"] < line["high"]


def test_a_list_that_is_shared_is_not_asked_for_again() -> None:
    shared = claimed(run("stream-current", {"tree": {"main": 2}}))
    asked = claimed(run("stream-current", {"tree": {"main": 2, "worker": 4}}))
    said = [found[found["claim"].str.contains("shared")].iloc[0] for found in (shared, asked)]
    assert [(line["measured"], line["holds"]) for line in said] == [(0, "yes"), (2, "partly")]


def test_failed_runs_claim_nothing() -> None:
    found = claimed(run("stream-3.6", {}, outcome="failed"), run("stream-current", {"tree": {"main": 1}}))
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
            "rep": 1,
        }
        | {"edit": edit, "new_share": share}
        for cdc, shares in {"off": {"none": 1.0, "insert": 0.8}, "on": {"none": 1.0, "insert": 0.1}}.items()
        for edit, share in shares.items()
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
    assert found["holds"].tolist() == ["yes", "partly"]
    assert claims(pd.DataFrame()).empty


def test_a_payload_that_is_not_known_is_no_rate() -> None:
    """Rows of another Hub carry no sums: their size is not known, which is not zero."""
    record, events = run("s", {"info": {"main": 1}})
    for event in events:
        if event["event"] == "epoch":
            event["bytes"] = None
    del record["work"]["bytes_in"]
    line = streaming([(record, events)]).iloc[0]
    assert line["rows_per_s"] == 32
    assert pd.isna(line["payload_bytes_per_s"])


def test_the_page_of_claims_says_where_each_holds(root: Path, tmp_path: Path) -> None:
    known = {"experiment": "requests", "stack": "s", "source": "A post", "n": 2, "claimed": 10.0}
    lines = [
        {"claim": "faster", "conditions": "near", "measured": 1.0, "low": 0.5, "high": 2.0, "holds": "not shown"},
        {"claim": "faster", "conditions": "far <away>", "measured": 12.0, "low": 11.0, "high": 13.0, "holds": "yes"},
        {"claim": "fewer", "conditions": "near", "measured": 3.0, "low": 3.0, "high": 3.0, "holds": "partly"},
    ]
    tables.write(pd.DataFrame([known | line for line in lines]), tmp_path / "c.csv", tmp_path / "c.parquet")
    page = page_of_claims(root, tmp_path)
    assert "1 holds, 1 not shown: the interval holds 1, of 2 conditions" in page
    assert page.index("far &lt;away&gt;") < page.index("near")
    assert "11 to 13" in page
    assert "exact" in page


def test_no_claims_are_a_page_that_says_so(root: Path, tmp_path: Path) -> None:
    tables.write(claims(runs([])), tmp_path / "c.csv", tmp_path / "c.parquet")
    assert "Not run: no experiment of this config streams." in page_of_claims(root, tmp_path)


def page_of_claims(root: Path, folder: Path) -> str:
    given = SimpleNamespace(table=str(folder / "c.parquet"), template=str(root / "report/claims.html.jinja"))
    snakemake = SimpleNamespace(log=[str(folder / "log")], input=given, output=[str(folder / "claims.html")])
    runpy.run_path(str(root / "scripts/claims.py"), init_globals={"snakemake": snakemake})
    return (folder / "claims.html").read_text()
