"""Table `claims` from hand-made runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.spark import spark

from .by_hand import Run, sparked, streamed

RESOLVED, FEWER = "resolved", "fewer requests"

PAIRS = [("stream-june-2023", "stream-current"), ("stream-3.6", "stream-current")]


def claims_of(*records: Run) -> pd.DataFrame:
    return claims(runs(records), claimed=PAIRS)


def twice(stack: str, requests: dict[str, dict[str, int]]) -> list[Run]:
    """Two repeats with the same requests."""
    return [streamed(stack, requests, rep) for rep in (1, 2)]


def test_claim_of_fewer_requests_holds_by_ratio() -> None:
    before, after = {"tree": {"main": 100, "worker": 340}}, {"tree": {"main": 4}}
    once = claims_of(streamed("stream-3.6", before), streamed("stream-current", after))
    assert once[once["claim"].str.contains("fewer requests")]["holds"].tolist() == ["undecided"]
    assert once["low"].isna().all(), "one run is never exact"
    table = claims_of(*twice("stream-3.6", before), *twice("stream-current", after))
    line = table[table["claim"].str.contains("fewer requests")].iloc[0]
    assert line["measured"] == pytest.approx(110)
    assert line["low"] < 110 < line["high"], "requests race, so two equal counts have a range"
    assert line["holds"] == "yes"
    assert "stream-current against stream-3.6" in line["conditions"]
    assert "2 workers by fork" in line["conditions"]
    half = claims_of(*twice("stream-3.6", before), *twice("stream-current", {"tree": {"main": 200}}))
    assert half[half["claim"].str.contains("fewer requests")]["holds"].tolist() == ["partly"]
    nearly = claims_of(
        *twice("stream-3.6", {"tree": {"main": 1001}}), *twice("stream-current", {"tree": {"main": 1000}})
    )
    assert nearly[nearly["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]
    worse = claims_of(*twice("stream-3.6", after), *twice("stream-current", before))
    assert worse[worse["claim"].str.contains("fewer requests")]["holds"].tolist() == ["no"]


def test_clients_that_read_other_rows_are_not_compared() -> None:
    record, events = streamed("stream-june-2023", {"tree": {"main": 100}})
    record["work"]["rows"] = 640
    table = claims_of((record, events), streamed("stream-current", {"tree": {"main": 4}}))
    assert not table["conditions"].str.contains("against").any()
    record["work"]["rows"] = 64
    table = claims_of((record, events), streamed("stream-current", {"tree": {"main": 4}}))
    assert table["conditions"].str.contains("against").any()


def test_times_need_repeats() -> None:
    once = claims_of(streamed("stream-3.6", {"tree": {"main": 1}}), streamed("stream-current", {"tree": {"main": 1}}))
    assert set(once[once["claim"].str.contains("resolved")]["holds"]) == {"undecided"}
    slow = [streamed("stream-3.6", {}, rep, resolved_s=10 + rep / 10) for rep in (1, 2, 3)]
    fast = [streamed("stream-current", {}, rep, resolved_s=0.5 + rep / 100) for rep in (1, 2, 3)]
    line = claims_of(*slow, *fast)
    line = line[line["claim"].str.contains("resolved")].iloc[0]
    assert line["holds"] == "yes"
    assert line["low"] < line["measured"] < line["high"]


def test_shared_list_is_not_requested_again() -> None:
    shared = claims_of(*twice("stream-current", {"tree": {"main": 2}}))
    requested = claims_of(*twice("stream-current", {"tree": {"main": 2, "worker": 4}}))
    once = claims_of(streamed("stream-current", {"tree": {"main": 2}}))
    lines = [table[table["claim"].str.contains("shared")].iloc[0] for table in (shared, requested, once)]
    assert [(line["measured"], line["holds"]) for line in lines] == [(0, "yes"), (2, "no"), (0, "undecided")]


def test_failed_runs_claim_nothing() -> None:
    table = claims_of(streamed("stream-3.6", {}, outcome="failed"), streamed("stream-current", {"tree": {"main": 1}}))
    assert not table["conditions"].str.contains("against").any()
    assert len(table)


def pushed(*edits: tuple[str, Sequence[float], Sequence[float]]) -> pd.DataFrame:
    """Runs of an edited table, with the new bytes after edits in each repeat: without and with chunking."""
    name = "New bytes after {} [bytes, neither, exact]"
    return pd.DataFrame(
        {"experiment": "dedup", "stack": "s", "script": "dedup", "arguments": "zstd", "side": side, "rep": rep + 1}
        | {"workload": "script", "completed_work": True, "outcome": "completed"}
        | {name.format(edit): 1e9 * shares[place][rep] for edit, *shares in edits}
        for place, side in enumerate(("plain", "chunking"))
        for rep in range(len(edits[0][1]))
    )


def test_claims_from_numbers_and_outcomes_of_scripts() -> None:
    samples = pd.DataFrame(
        {
            "experiment": "frames",
            "stack": "s",
            "script": "frames",
            "side": "blocks-64",
            "workload": "script",
            "rep": rep,
        }
        | {"outcome": "completed" if whole else "failed", "completed_work": whole}
        for rep, whole in ((1, True), (2, False))
    )
    table = claims(pd.concat([pushed(("insert", (0.8, 0.8), (0.1, 0.1))), samples]))
    silent = table[table["holds"] == "not run"]
    assert "a Spark data source reads and writes datasets" in silent["claim"].tolist()
    assert silent["measured"].isna().all()
    table = table[table["holds"] != "not run"]
    assert table["measured"].tolist() == pytest.approx([8, 0.5])
    assert table["holds"].tolist() == ["yes", "partly"]
    assert table["conditions"].iloc[0] == "insert, arguments zstd"
    assert claims(pd.DataFrame()).empty


def test_spark_source_that_cannot_write_holds_partly() -> None:
    table = claims(pd.DataFrame(), spark=spark(sparked()))
    (claim,) = table[table["claim"].str.contains("Spark") & (table["stack"] == "spark")].to_dict("records")
    assert (claim["measured"], claim["holds"], claim["n"]) == (0.5, "partly", 1)
    assert claim["conditions"] == "spark; read, write; write fails with TypeError: x"


def timed_repeats(stack: str, times: tuple[float, ...], **more: Any) -> list[Run]:
    """Repeats with these resolution times, in seconds."""
    return [streamed(stack, {"tree": {"main": 4}}, rep, resolved_s=took, **more) for rep, took in enumerate(times, 1)]


def line_of(table: pd.DataFrame, words: str) -> dict[str, Any]:
    (line,) = table[table["claim"].str.contains(words)].to_dict("records")
    return {str(name): value for name, value in line.items()}


def test_claims_use_decisions_of_table_comparisons() -> None:
    table = runs([*timed_repeats("stream-3.6", (4.0, 5.2, 4.4)), *timed_repeats("stream-current", (1.0, 1.5, 1.1))])
    decided = comparisons(table, PAIRS)
    comparison = decided[decided["metric"] == "resolution_s"].iloc[0]
    line = line_of(claims(table, decided, claimed=PAIRS), RESOLVED)
    assert line["measured"] * comparison["ratio"] == pytest.approx(1)
    assert [line["low"], line["high"]] == pytest.approx([1 / comparison["high"], 1 / comparison["low"]])
    assert line["high_corrected"] / line["measured"] == pytest.approx(comparison["detectable"])


@pytest.mark.slow
def test_claim_does_not_hold_without_a_better_comparison() -> None:
    """Whatever the noise, no claim holds that table `comparisons` does not call better."""
    rng = np.random.default_rng(3)
    seen = set()
    for size in (0.01, 1.0):  # seconds: too small for a ratio, and large enough
        for _ in range(4):
            sides = [
                timed_repeats(stack, tuple(size * rate * np.exp(0.7 * rng.normal(size=3))))
                for stack, rate in (("stream-3.6", 1.5), ("stream-current", 1.0))
            ]
            table = runs([run for side in sides for run in side])
            decided = comparisons(table, PAIRS)
            verdict = decided[decided["metric"] == "resolution_s"].iloc[0]["result"]
            holds = line_of(claims(table, decided, claimed=PAIRS), RESOLVED)["holds"]
            seen.add(verdict)
            assert verdict == "better" or holds in ("undecided", "no")
    assert "undecided" in seen


def test_claims_outside_of_comparisons_are_corrected_together() -> None:
    one = ("insert", (0.80, 0.84, 0.79), (0.66, 0.70, 0.69))
    others = [(f"edit {i}", (0.50, 0.56, 0.53), (0.53, 0.50, 0.56)) for i in range(30)]
    alone, among = claims(pushed(one)), claims(pushed(one, *others))
    first, second = (table[table["conditions"].str.startswith("insert")].iloc[0] for table in (alone, among))
    assert first["holds"] == "yes"
    assert second["low_corrected"] < first["low_corrected"]
    assert not among["holds"].iloc[1:31].isin(["yes", "partly"]).any()


def test_claim_of_zero_requests_needs_the_interval() -> None:
    """2.04 (1.08 to 3.86) was called `yes` against a claim of 2, and 2 requests of each worker `better, by less`."""
    streams = [streamed("stream-current", {"tree": {"main": 2, "worker": n}}, i) for i, n in enumerate((0, 4, 0), 1)]
    line = line_of(claims_of(*streams), "shared")
    assert (line["holds"], line["low"]) == ("undecided", 0)
    streams = [streamed("stream-current", {"tree": {"main": 2, "worker": n}}, i) for i, n in enumerate((4, 4, 4), 1)]
    assert line_of(claims_of(*streams), "shared")["holds"] == "no"


def test_claim_needs_two_runs_and_counts_failed_ones() -> None:
    def claim_of(*outcomes: str) -> dict[str, Any]:
        cell = {"experiment": "frames", "stack": "s", "script": "frames", "side": "blocks-64", "workload": "script"}
        lines = [
            cell | {"rep": rep, "outcome": outcome, "completed_work": outcome == "completed"}
            for rep, outcome in enumerate(outcomes, 1)
        ]
        table = claims(pd.DataFrame(lines))
        return line_of(table[table["holds"] != "not run"], "pipelines")

    assert claim_of("completed")["holds"] == "undecided"
    assert claim_of("completed", "completed")["holds"] == "yes"
    partly = claim_of("completed", "failed")
    assert (partly["measured"], partly["holds"], partly["n"]) == (0.5, "partly", 2)
    assert partly["low"] != partly["low"], "repeats that differ are not exact"
    assert claim_of("failed")["holds"] == "no"


def test_spark_that_does_not_start_counts_as_failed() -> None:
    (record, steps), _ = sparked()
    crashed = ({**record, "cell": record["cell"] | {"rep": 2}, "outcome": "failed", "reason": "gateway"}, [])
    worked = [step | {"works": True, "reason": ""} for step in steps]
    table = claims(pd.DataFrame(), spark=spark([(record, worked), crashed]))
    line = line_of(table[table["stack"] == "spark"], "Spark")
    assert (line["measured"], line["holds"], line["n"]) == (0.5, "partly", 2)
    assert "fails with gateway" in line["conditions"]


def test_times_are_stated_with_the_endpoints_share() -> None:
    def sides(*busy: float) -> list[Run]:
        streams = []
        for stack in ("stream-3.6", "stream-current"):
            for rep, took in enumerate(busy, 1):
                record, events = streamed(stack, {"tree": {"main": 1}}, rep, resolved_s=2.0)
                sums = {"cpu_s": took, "busy_s": took, "injected_s": 0.0, "duration_s": 4.0}
                record["work"]["endpoint"] = {"run": sums, "resolution": sums}
                streams.append((record, events))
        return streams

    assert (
        "the endpoint was busy for 25% of this time (baseline: 25%), without it 1.00 times better"
        in line_of(claims_of(*sides(0.5, 0.5)), RESOLVED)["conditions"]
    )
    assert "endpoint" not in line_of(claims_of(*sides(0.5)), FEWER)["conditions"]
    kept = claims_of(*timed_repeats("stream-3.6", (1.0,)), *timed_repeats("stream-current", (1.0,)))
    assert "endpoint" not in line_of(kept, RESOLVED)["conditions"]


@pytest.mark.parametrize(("busy_s", "holds"), [(0.1, "partly"), (3.5, "undecided")])
def test_time_saved_by_the_endpoint_alone_is_undecided(busy_s: float, holds: str) -> None:
    streams = []
    for stack, took_s, busy in (("stream-3.6", 4.0, busy_s), ("stream-current", 2.0, 0.1)):
        for rep in range(1, 5):
            record, events = streamed(stack, {"tree": {"main": 1}}, rep, resolved_s=took_s)
            sums = {"cpu_s": busy, "busy_s": busy, "injected_s": 0.0, "duration_s": took_s}
            record["work"]["endpoint"] = {"run": sums, "resolution": sums}
            streams.append((record, events))
    assert line_of(claims_of(*streams), RESOLVED)["holds"] == holds
