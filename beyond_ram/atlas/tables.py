"""The tables of the atlas: `cells.csv` (one line per case and release) and `steps.csv` (one line per step)."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import write
from ..measure.screen import ANSWER, OUTCOME
from ..shipped import FILES

CELLS, STEPS = "cells.csv", "steps.csv"
SHIPPED = FILES / "docs" / "measured" / "atlas"
"""The atlas that comes with the checkout."""
NUMBERS = ("end_anon_bytes", "peak_anon_upper_bound_bytes", "duration_s", "cpu_s")
CELL_COLUMNS = ["library", "case", "title", "version", "date", "outcome", "reason", "runs", "answer",
                *NUMBERS, "moved"]  # fmt: skip
STEP_COLUMNS = ["library", "case", "metric", "from_version", "to_version", "from_date", "to_date", "from_value",
                "to_value", "ratio", "low", "high", "n", "moved", "size", "measured"]  # fmt: skip
AtlasLine = dict[str, Any]
CaseKey = tuple[str, str]


def strength(line: Mapping[str, Any]) -> float:
    """The size of a step: the absolute logarithm of its ratio; 0 if it is not a number."""
    if line["metric"] in (OUTCOME, ANSWER) or not line["ratio"]:
        return 0.0
    number = float(line["ratio"])
    return abs(math.log(number)) if number > 0 else math.inf


def replace_lines(path: Path, lines: Sequence[AtlasLine], columns: Sequence[str], existing: Iterable[CaseKey]) -> None:
    """Replace the lines of the same cases in a table. Lines of cases that no longer exist are removed."""
    new, cases = {_key(line) for line in lines}, {*existing}
    old = [line for line in read(path) if _key(line) in cases and _key(line) not in new]
    every = sorted([*old, *lines], key=_key)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _text(line.get(column)) for column in columns} for line in every)
    write(path, text.getvalue())


def _key(line: Mapping[str, Any]) -> CaseKey:
    return line["library"], line["case"]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def read(path: Path) -> list[AtlasLine]:
    """The lines of a table; empty without a file. Raises ValueError if the file is another table."""
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines: list[AtlasLine] = list(csv.DictReader(file))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8, at byte {error.start}; delete it, `beyond-ram atlas` makes it") from None
    wanted = {CELLS: CELL_COLUMNS, STEPS: STEP_COLUMNS}.get(path.name, [])
    if lines and not {*wanted} <= {*lines[0]}:
        missing = ", ".join(name for name in wanted if name not in lines[0])
        raise ValueError(f"{path}: lacks the columns {missing}; delete it, and `beyond-ram atlas` makes it anew")
    return lines
