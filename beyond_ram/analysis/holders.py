"""Table `holders`: what holds the memory of a script at its end."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..metrics import Record, Records

COLUMNS = ["experiment", "stack", "holder", "kind", "released_bytes", "share", "not_run"]
IMPORTS, STAYED = "imports", "stayed"
"""Kinds of memory that no step released: used by imports, and the rest."""


def holders(records: Records) -> pd.DataFrame:
    """One line per holder of each script run that was repeated to find holders. Largest first, then what stayed.

    `released_bytes` add up to the heap at the end minus the heap at the start; `share` is a share of that. If the
    script ended early, nothing could be released: then `not_run` is the reason and the line has no numbers.
    """
    lines = [line for record, _ in records if "why" in record for line in _lines(record)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _lines(record: Record) -> Iterator[dict[str, Any]]:
    why, cell = record["why"], record["cell"]
    if "not_run" in why:
        yield {**cell, "holder": "", "kind": "", "not_run": why["not_run"]}
        return
    growth = why["end_bytes"] - why["start_bytes"]
    imports = max(0, min(why["imports_bytes"], why["stayed_bytes"]))
    steps = sorted(why["steps"], key=lambda step: (step["kind"] == "others", -step["released_bytes"]))
    stayed = [(IMPORTS, imports), (STAYED, why["stayed_bytes"] - imports)]
    for step in [*steps, *({"holder": kind, "kind": kind, "released_bytes": size} for kind, size in stayed)]:
        yield {
            **cell,
            "holder": step["holder"],
            "kind": step["kind"],
            "type": step.get("type", ""),
            "released_bytes": step["released_bytes"],
            "share": step["released_bytes"] / growth if growth > 0 else None,
            "objects_bytes": step.get("objects_bytes"),
            "fragments": bool(step.get("fragments")),
            "also_held_by": ", ".join(step.get("also_held_by", [])),
            "not_run": "",
        }
