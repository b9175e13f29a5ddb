"""Table `writers`."""

import pandas as pd
import pytest

from beyond_ram.analysis.writers import writers

from .by_hand import Event, Run


def run(form: str, events: list[Event], workload: str = "write", outcome: str = "completed") -> Run:
    cell = {"experiment": "e", "stack": "s", "tokens": "t", "format": form, "rep": 1}
    return {
        "cell": cell,
        "workload": workload,
        "outcome": outcome,
        "work": {"rows": 10, "bytes_in": 400},
        "peak": {},
    }, [
        {"event": "imported", "t_s": 1.0, "tree": {"cpu_s": 0.5}},
        *events,
    ]


def test_one_line_per_run_with_time_since_the_imports() -> None:
    work = {"event": "work", "t_s": 4.0, "tree": {"cpu_s": 2.5}, "rows": 10, "bytes_in": 400, "stored_bytes": 300}
    line = writers([run("npy", [work])]).iloc[0]
    assert (line["format"], line["write_s"], line["write_cpu_s"]) == ("npy", 3.0, 2.0)
    assert (line["stored_bytes"], line["disk_ratio"]) == (300, pytest.approx(0.75))
    assert (line["rows"], line["bytes_in"]) == (10, 400)


def test_unfinished_writer_has_a_line_without_numbers() -> None:
    done = {"event": "work", "t_s": 4.0, "stored_bytes": 300}
    table = writers([run("npy", [done]), run("csv", [], outcome="failed"), run("x", [done], workload="load")])
    assert table[["format", "outcome"]].to_numpy().tolist() == [["npy", "completed"], ["csv", "failed"]]
    assert pd.isna(table["write_s"].iloc[1])
    assert writers([]).empty
