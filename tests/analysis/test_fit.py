"""Table `fit`: cells predicted from cells with smaller inputs, as by `beyond-ram fit`."""

import itertools
from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.fit import COLUMNS, coverage, fit

from .by_hand import Run, record

FILES, PROCESSES, BATCHES = (2, 4, 8, 16), (1, 2, 4), (1, 4)


def kept(files: int, processes: int, batch: int) -> float:
    """A constant part, one per process, one per batch, and one per byte of text that each process pays again."""
    return 100e6 + 40e6 * processes + 2e6 * batch + 1e6 * files * processes


def run(files: int, processes: int, batch: int, **changes: Any) -> Run:
    run_record = record(num_files=files, num_proc=processes, batch_size=batch, bytes_in=files * 1_000_000)
    size = kept(files, processes, batch)
    run_record["peak"] |= {"anon_bytes": size, "anon_upper_bound_bytes": size}
    return run_record | {"workload": "tokenize", **changes}, []


def grid(*left_out: tuple[int, int, int]) -> list[Run]:
    cells = itertools.product(FILES, PROCESSES, BATCHES)
    return [run(*cell) for cell in cells if cell not in left_out]


def line(table: pd.DataFrame, files: int, processes: int, batch: int) -> "pd.Series[Any]":
    rows = (table["num_files"] == files) & (table["num_proc"] == processes) & (table["batch_size"] == batch)
    (only,) = table[rows].to_dict("records")
    return pd.Series(only)


def test_cells_are_predicted_from_smaller_inputs() -> None:
    table = fit(grid())
    largest = table[table["num_files"] == max(FILES)]
    assert len(table) == len(FILES) * len(PROCESSES) * len(BATCHES)
    assert largest["inside"].astype(bool).all()
    assert (largest["times_as_far"] == 2).all()
    assert (largest["from_cells"] == len(table) - len(largest)).all()
    assert (largest["predicted_bytes"] / largest["kept_bytes"]).between(0.95, 1.05).all()
    assert coverage(table)["cells"] == len(table)
    assert coverage(table)["inside"] <= coverage(table)["predicted"] < len(table)


def test_cell_without_runs_is_predicted_too() -> None:
    missing = (16, 4, 4)
    cell = line(fit(grid(missing)), *missing)
    assert (cell["n"], cell["inside"]) == (0, None)
    assert pd.isna(cell["kept_bytes"])
    assert cell["predicted_bytes"] == pytest.approx(kept(*missing), rel=0.05)


def test_small_inputs_have_no_prediction() -> None:
    cell = line(fit(grid()), 2, 1, 1)
    assert pd.isna(cell["predicted_bytes"])
    assert cell["kept_bytes"] == kept(2, 1, 1)


def test_limited_and_failed_runs_do_not_count() -> None:
    table = fit([*grid(), run(16, 4, 4, memory_limit_bytes=1), run(16, 4, 4, outcome="failed")])
    assert line(table, 16, 4, 4)["n"] == 1


def test_one_setting_or_two_sizes_make_no_table() -> None:
    assert fit([run(files, 1, 1) for files in FILES]).columns.tolist() == COLUMNS
    assert fit([small for small in grid() if small[0]["cell"]["num_files"] < 8]).empty
    assert fit([]).empty
