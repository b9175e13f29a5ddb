"""Table `peers`: rates with and without the start, ids, and results against mode `engine`."""

from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.peers import peers

from .by_hand import MB, Run, record


def run(mode: str, files: int, rep: int, *, cpu_s: float, anon: float, ids: str = "aa", **changes: Any) -> Run:
    """A run with 100,000 tokens and 1 MB per file that lasts 0.1 s longer than its CPU time."""
    made = record(mode=mode, num_files=files, rep=rep, bytes_in=files * MB, ids=ids)
    made["work"]["tokens"] = files * 100_000
    made["peak"] |= {"anon_bytes": anon, "pss_bytes": 2 * anon, "processes": 1}
    made |= changes
    tree = {"cpu_s": cpu_s, "anon_bytes": anon}
    shard = {"event": "shard", "t_s": 1.0, "cache_bytes_written": files * 200_000}
    return made, [shard, {"event": "work", "t_s": cpu_s + 0.1, "tree": tree}]


def runs(mode: str, each: float, start: float, slope: float, **more: Any) -> list[Run]:
    """Three sizes, three repeats each: `start` seconds and `each` per file, 50 MB and `slope` of the input."""
    return [
        run(mode, size, rep, cpu_s=(start + each * size) * (1 + rep / 1000), anon=50 * MB + slope * size * MB, **more)
        for size in (10, 20, 40)
        for rep in (1, 2, 3)
    ]


def line(table: pd.DataFrame, mode: str) -> "pd.Series[Any]":
    (row,) = table[table["mode"] == mode].itertuples(index=False)
    return pd.Series(row._asdict())


def test_rate_beyond_the_start_and_slope_of_the_peak() -> None:
    row = line(peers(runs("engine", each=0.1, start=2.0, slope=0.5)), "engine")
    assert (row["num_files"], row["n"], row["sizes"], row["ids"]) == (40, 3, 3, None)
    assert row["tokens_per_cpu_s_with_start"] == pytest.approx(4e6 / 6, rel=0.01)
    assert row["tokens_per_cpu_s_beyond_start"] == pytest.approx(1e6, rel=0.01)
    assert row["tokens_per_cpu_s_beyond_start_low"] < 1e6 < row["tokens_per_cpu_s_beyond_start_high"]
    assert row["peak_slope_mb_per_gb"] == pytest.approx(500)
    assert row["tokens_per_s"] < row["tokens_per_cpu_s_with_start"]
    assert row["cache_written_bytes"] == 40 * 200_000


def test_peer_with_the_same_ids_is_compared_with_the_engine() -> None:
    engine = runs("engine", 0.1, 2.0, 0.0)
    table = peers([*engine, *runs("slow", 1.0, 2.0, 10.0), *runs("quick", 0.01, 0.5, 0.0, ids="aa")])
    slow, quick = line(table, "slow"), line(table, "quick")
    assert (slow["ids"], slow["rate_beside_engine"], slow["memory_beside_engine"]) == ("same", "worse", "worse")
    assert (quick["ids"], quick["rate_beside_engine"], quick["memory_beside_engine"]) == ("same", "better", "same")


def test_peer_with_other_ids_is_named_and_not_compared() -> None:
    table = peers([*runs("engine", 0.1, 2.0, 0.0), *runs("wrong", 0.01, 0.5, 0.0, ids="bb")])
    row = line(table, "wrong")
    assert row["ids"] == "other"
    assert row["rate_beside_engine"] is None
    assert row["memory_beside_engine"] is None


def test_peer_that_cannot_run_has_a_line_with_the_reason() -> None:
    cannot, _ = run("none", 10, 1, cpu_s=1, anon=1)
    cannot |= {"outcome": "not_applicable", "completed_work": False, "reason": "this stack has no x", "work": {}}
    table = peers([*runs("engine", 0.1, 2.0, 0.0), (cannot, [])])
    row = line(table, "none")
    assert (row["outcome"], row["reason"], row["n"]) == ("not_applicable", "this stack has no x", 0)
    alone = peers([(cannot, [])])
    assert line(alone, "none")["reason"] == "this stack has no x"
    assert peers([]).empty
