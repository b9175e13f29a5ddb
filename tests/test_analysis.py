"""Tables from runs with known answers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.growth import fitted, growth
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.shards import shards, steps
from beyond_ram.metrics import METRICS, derive

MACHINE = {
    "versions": {"datasets": "5.2.0"},
    "allocator_settings": {"MALLOC_ARENA_MAX": "1"},
    "lock_sha256": "ab",
    "kernel": "6",
}


def record(**changes: Any) -> dict[str, Any]:
    cell = {
        "experiment": "growth",
        "stack": "current",
        "corpus": "c",
        "mode": "shard",
        "shards": 2,
        "num_files": 4,
        "batch_size": 1,
    }
    cell |= {"writer_batch_size": 1, "num_proc": 0, "cache": "cold", "stop_after": 0, "rep": 1}
    cell |= {key: changes.pop(key) for key in list(changes) if key in cell}
    work = {"rows": 4, "bytes_in": changes.pop("bytes_in", 1000), "tokens": 300, "ids_sha256": changes.pop("ids", "aa")}
    peak = {
        "rss_bytes": 990,
        "anon_bytes": 700,
        "file_bytes": 290,
        "shmem_bytes": 0,
        "pss_bytes": None,
        "cgroup_bytes": None,
    }
    alone = {"pid": 1, "name": "python", "hwm_bytes": 1000}
    peak["hwm_bytes"] = {"processes": [alone], "sum_upper_bound_bytes": 1000}
    return {
        "outcome": "completed", "completed_work": True, "exit_status": 0, "signal": None, "duration_s": 2.0,
        "cpu_s": 1.5,
        "cell": cell, "work": work, "peak": peak, "sampler": {"interval_ms": 20, "samples": 100, "duty_cycle": 0.01},
        "provenance": MACHINE, "page_cache": {"input_resident_before": 0.0, "input_resident_after": 1.0}, **changes,
    }  # fmt: skip


def tree(anon: float, file: float = 50) -> dict[str, float]:
    return {"rss_bytes": anon + file, "anon_bytes": anon, "file_bytes": file, "shmem_bytes": 0}


def events(end_anon: float, shards: int = 2, cached: int = 0) -> list[dict[str, Any]]:
    marks: list[dict[str, Any]] = [{"t_s": 0.1, "event": "baseline", "tree": tree(100)}]
    for i in range(shards):
        done = {
            "from_cache": i < cached,
            "rows": 2,
            "tokenizer_calls": 0 if i < cached else 2,
            "cache_bytes_written": 0,
        }
        marks.append({"t_s": 1 + i, "event": "shard", "shard": i, **done, "tree": tree(100 + 10 * i)})
    return [*marks, {"t_s": 9, "event": "work", "tree": tree(end_anon) | {"cpu_s": 1.5}}]


def test_metrics_are_derived_from_marks_and_peaks() -> None:
    derived = derive(record(), events(end_anon=640))
    assert set(derived) == set(METRICS)
    assert derived["end_anon_bytes"] == 640
    assert derived["grown_anon_bytes"] == 540
    assert derived["hwm_gap"] == pytest.approx(-0.01)
    assert derived["tokens_per_cpu_s"] == 200
    assert derived["end_pss_bytes"] is None


def test_what_was_not_measured_is_missing_and_not_zero() -> None:
    derived = derive(record(work={}), [{"t_s": 0, "event": "start"}])
    assert derived["end_anon_bytes"] is None
    assert derived["grown_anon_bytes"] is None
    assert derived["tokens_per_cpu_s"] is None


def test_ids_that_differ_are_flagged_on_every_run_of_that_input() -> None:
    same = [(record(mode=mode), events(1)) for mode in ("basic", "shard")]
    assert runs(same)["ids_agree"].tolist() == [True, True]
    other = [*same, (record(num_files=9, ids="cc"), events(1)), (record(cache="warm", ids="bb"), events(1))]
    assert runs(other)["ids_agree"].dropna().tolist() == [False] * 3, "one alone agrees with nobody"


def test_runs_holds_the_cell_the_scalars_every_metric_and_the_provenance() -> None:
    table = runs([(record(), events(5))])
    assert {
        "experiment",
        "stack",
        "rep",
        "outcome",
        "cpu_s",
        "ids_sha256",
        "lock_sha256",
        "version_datasets",
        *METRICS,
    } <= set(table)
    assert table["allocator_settings"].item() == "MALLOC_ARENA_MAX=1"


def test_growth_finds_a_known_slope_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(1)
    sizes = [50e6, 100e6, 150e6] * 3
    noisy = [(record(bytes_in=s, rep=i), events(200e6 + 24 * s + rng.normal(0, 20e6))) for i, s in enumerate(sizes)]
    line = growth(runs(noisy)).iloc[0]
    assert line["n"] == 9
    assert line["anon_slope_mb_per_gb_low"] < 24_000 < line["anon_slope_mb_per_gb_high"]
    assert line["anon_slope_mb_per_gb"] == pytest.approx(24_000, rel=0.03)
    assert line["file_slope_mb_per_gb"] == pytest.approx(0, abs=1e-6)


def test_growth_of_two_runs_has_no_interval_and_of_one_size_no_line() -> None:
    two = growth(runs([(record(bytes_in=s), events(24 * s)) for s in (1e8, 2e8)]))
    assert two["n"].item() == 2
    assert np.isnan(two["anon_slope_mb_per_gb_low"].item())
    one = growth(runs([(record(bytes_in=1e8, rep=i), events(1e9)) for i in (1, 2)]))
    assert one.empty
    assert {"experiment", "stack", "anon_slope_mb_per_gb"} <= set(one.columns)


def test_the_band_of_a_fit_is_narrowest_at_the_mean_of_its_runs() -> None:
    table = runs([(record(bytes_in=s), events(200e6 + 24 * s + off)) for s, off in ((1e8, 0), (2e8, 1e6), (3e8, 0))])
    fit = fitted(table, growth(table).iloc[0], "anon")
    assert len(fit.runs) == 3
    assert fit.half_mb is not None
    assert fit.input_gb[fit.half_mb.argmin()] == pytest.approx(0.2, abs=0.005)
    assert fit.fitted_mb.mean() == pytest.approx(fit.runs["end_anon_bytes"].mean() / 1e6)
    two = table[table["bytes_in"] < 3e8]
    assert fitted(two, growth(two).iloc[0], "anon").half_mb is None


def test_steps_are_between_neighbouring_shards_of_one_run() -> None:
    table = shards([(record(rep=rep), events(5, shards=4)) for rep in (1, 2)])
    assert steps(table).tolist() == [10.0] * 6
    assert steps(table[table["shard"] != 1]).tolist() == [10.0] * 2
    assert steps(table.head(0)).empty


def test_a_failed_run_is_no_point_of_a_slope() -> None:
    points = [(record(bytes_in=s), events(24 * s)) for s in (1e8, 2e8, 3e8)]
    broken = (record(bytes_in=4e8, outcome="failed", completed_work=False), events(0))
    assert growth(runs([*points, broken]))["n"].item() == 3


def test_shards_are_a_line_each_with_the_proof_of_the_cache() -> None:
    table = shards([(record(cache="rerun", stop_after=1), events(5, shards=3, cached=1)), (record(), events(5))])
    assert len(table) == 5
    rerun = table[table["cache"] == "rerun"]
    assert rerun["from_cache"].tolist() == [True, False, False]
    assert rerun["tokenizer_calls"].tolist() == [0, 2, 2]
    assert rerun["anon_bytes"].tolist() == [100, 110, 120]
    assert isinstance(table, pd.DataFrame)
