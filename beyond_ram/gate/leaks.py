"""The smallest leak that a gate would have seen: growth over all batches of a cell, as bytes a batch and a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..analysis.frame import Key, key
from ..analysis.thresholds import threshold_of
from ..decisions.rule import SHARE
from ..units import short_size

# Growth since the imports: of the whole run, and of the worker that grew most.
_GROWTH = ("grown_anon_bytes", "worker_grown_anon_bytes")


@dataclass(frozen=True)
class Floor:
    """The smallest growth that one cell would have shown to be worse."""

    cell: str
    metric: str
    size_bytes: float
    """Over the whole run: the larger of what noise hides and what the threshold allows."""
    rows: float
    batches: float | None
    """None if the cell has no batches of its own."""

    def as_json(self) -> dict[str, Any]:
        """An entry of `smallest_leaks` in gate.json."""
        a_batch = None if self.batches is None else round(self.size_bytes / self.batches)
        entry = {"cell": self.cell, "metric": self.metric, "bytes": round(self.size_bytes), "rows": round(self.rows)}
        entry["batches"] = None if self.batches is None else round(self.batches)
        return entry | {"bytes_per_row": round(self.size_bytes / self.rows), "bytes_per_batch": a_batch}

    def sentence(self) -> str:
        a_row = f"{short_size(self.size_bytes / self.rows)} a row"
        a_batch = "" if self.batches is None else f"{short_size(self.size_bytes / self.batches)} a batch, "
        return f"smallest leak that {self.cell} would have shown: {a_batch}{a_row}"


def floors(changes: pd.DataFrame, runs: pd.DataFrame) -> list[Floor]:
    """The floor of each cell that has rows and enough repeats, the smallest a row first."""
    return sorted(_floors(changes, runs), key=lambda one: one.size_bytes / one.rows)


def _floors(changes: pd.DataFrame, runs: pd.DataFrame) -> Iterator[Floor]:
    if "rows" not in runs:
        return
    most_bytes = runs["machine_memory_bytes"].max() if "machine_memory_bytes" in runs else math.inf
    rows: dict[Key, float] = {}
    for line in runs.dropna(subset=["rows"]).to_dict("records"):
        rows[key(line)] = max(rows.get(key(line), 0.0), float(line["rows"]))
    for line in changes[changes["metric"].isin(_GROWTH)].to_dict("records"):
        count = rows.get(key(line), 0.0)
        size = _smallest(line)
        if count and size <= most_bytes:  # else too few repeats show nothing that the machine could hold
            batch = line.get("batch_size")
            batches = math.ceil(count / batch) if isinstance(batch, (int, float)) and batch >= 1 else None
            yield Floor(str(line["experiment"]), str(line["metric"]), size, count, batches)


def _smallest(line: dict[Any, Any]) -> float:
    """The smallest growth beyond the baseline's that is confirmed and matters, in bytes; NaN with too few repeats."""
    detectable, baseline = float(line["detectable"]), float(line["baseline"])
    by_noise = detectable if pd.isna(line["ratio"]) else (detectable - 1) * baseline
    least = threshold_of(str(line["metric"])).least
    return by_noise if math.isnan(by_noise) else max(by_noise, least, SHARE * baseline)
