"""Table `fit`: the memory that each cell kept, and what `beyond-ram fit` predicts for it from smaller inputs."""

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..advice import advise
from ..fit.model import Model, Reading
from ..metrics import Record, Records
from .frame import Cell, same_but_for

# The settings that vary in each workload, and the axis of its input.
FACTORS = {"load": ("workers", "batch_size"), "tokenize": ("num_proc", "batch_size")}
INPUTS = {"load": "tokens", "tokenize": "num_files"}
# Predict a cell only from at least this many other cells, of at least this many sizes.
_CELLS, _SIZES = 4, 3
_NEW = [
    "size",
    "size_unit",
    "kept_bytes",
    "n",
    "predicted_bytes",
    "low",
    "high",
    "inside",
    "times_as_far",
    "from_cells",
]
COLUMNS = ["experiment", "stack", *_NEW]


def fit(records: Records) -> pd.DataFrame:
    """One line per cell of workloads `load` and `tokenize` whose input and settings vary.

    `kept_bytes` is the memory that the kernel could not reclaim: the median of the `n` finished runs.
    `predicted_bytes`, with `low` and `high` (90 %), is the model's prediction from the `from_cells` cells with a
    smaller input. `times_as_far` is the input over the largest of theirs. A combination of settings that was not run
    has a line for the largest input, predicted from all cells. A prediction is empty if the model does not explain the
    growth. `input_size` is in rows, or in bytes of text.
    """
    runs = pd.DataFrame([line for record, _ in records if (line := _run(record))])
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    lines: list[dict[str, Any]] = []
    for workload, group in runs.groupby("workload", sort=False):
        factors = FACTORS[str(workload)]
        of_workload = group.dropna(axis=1, how="all").drop(columns="workload")
        for cell, one in same_but_for(of_workload, *factors, INPUTS[str(workload)]):
            if one["input_size"].nunique() >= _SIZES and one[list(factors)].drop_duplicates().shape[0] > 1:
                lines += _lines(cell, one, factors, INPUTS[str(workload)])
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _run(record: Record) -> dict[str, Any] | None:
    """The cell of a run that finished without a limit, the size of its input, and its kept memory. Else None."""
    workload, work = record.get("workload"), record["work"]
    size = work.get("rows_expected") if workload == "load" else work.get("bytes_in")
    cell = {name: value for name, value in record["cell"].items() if name != "rep"}
    limited = record.get("memory_limit_bytes") or record.get("limit") or cell.get("remedy", "none") != "none"
    if workload not in FACTORS or not size or limited or record["outcome"] != "completed":
        return None
    advised = advise(record)
    if advised.at_least or not advised.kept_bytes:
        return None
    return {**cell, "workload": workload, "input_size": float(size), "kept_bytes": advised.kept_bytes}


def _lines(cell: Cell, runs: pd.DataFrame, factors: Sequence[str], reads: str) -> Iterator[dict[str, Any]]:
    readings = [
        Reading(tuple(int(run[factor]) for factor in factors), run["input_size"], run["kept_bytes"])
        for run in runs.to_dict("records")
    ]
    names = dict(zip(runs["input_size"], runs[reads], strict=True))
    kept: dict[tuple[tuple[int, ...], float], list[float]] = {}
    for reading in readings:
        kept.setdefault((reading.setting, reading.size), []).append(reading.value)
    most = max(names)
    values = [sorted({reading.setting[place] for reading in readings}) for place in range(len(factors))]
    grid = dict.fromkeys([*kept, *((setting, most) for setting in itertools.product(*values))])
    for setting, size in grid:
        seen = kept.get((setting, size), [])
        others = [one for one in readings if one.size < size] if seen else readings
        line: dict[str, Any] = {reads: names[size]}
        line |= cell
        line |= dict(zip(factors, setting, strict=True))
        line |= {"input_size": size, "kept_bytes": statistics.median(seen) if seen else None}
        yield line | {"n": len(seen), **_predicted(factors, others, setting, size, line["kept_bytes"])}


def _predicted(
    factors: Sequence[str], others: Sequence[Reading], setting: tuple[int, ...], size: float, kept: float | None
) -> dict[str, Any]:
    """The prediction for a cell from other cells; empty if there are too few, or if they tell too little."""
    cells = {(one.setting, one.size) for one in others}
    columns: dict[str, Any] = dict.fromkeys(("predicted_bytes", "low", "high", "inside", "times_as_far"))
    columns["from_cells"] = len(cells)
    model = Model(factors, others)
    if len(cells) < _CELLS or len({one.size for one in others}) < _SIZES or model.doubt():
        return columns
    columns["times_as_far"] = size / max(one.size for one in others)
    if prediction := model.number(setting, size):
        columns |= {"predicted_bytes": prediction.value, "low": prediction.low, "high": prediction.high}
        columns["inside"] = None if kept is None else prediction.holds(kept)
    return columns


def coverage(table: pd.DataFrame) -> Mapping[str, int]:
    """Numbers of cells, of predicted cells, and of cells inside their predicted interval."""
    with_prediction = table[table["inside"].notna()] if "inside" in table else table.head(0)
    ran = table["kept_bytes"].notna().sum() if len(table) else 0
    inside = with_prediction["inside"].astype(bool).sum()
    return {"cells": int(ran), "predicted": len(with_prediction), "inside": int(inside)}
