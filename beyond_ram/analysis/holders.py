"""Table `holders`: what holds the memory of a program at its end, and the cause of its growth.

docs/explain.md has the rules of causes.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pandas as pd

from ..experiment import AXES
from ..metrics import Events, Record, Records
from ..metrics.base import readings
from ..records.run_json import WhyEntry
from .frame import key
from .growth import SIZE
from .regrowth import regrowth
from .thresholds import GROWN_BYTES

Cause = Literal["flat", "page-cache", "retained", "held", "leak", "undecided"]
COLUMNS = ["experiment", "stack", "holder", "kind", "released_bytes", "share", "cause", "owner", "not_run"]
IMPORTS, STAYED = "imports", "stayed"
"""Kinds of memory that no step released: used by imports, and the rest."""
# The share of the growth that a cause must explain; the least share of a holder that is named.
_CARRIES, _NAMED = 2 / 3, 0.2


def holders(records: Records) -> pd.DataFrame:
    """One line per holder of each run that was repeated to find holders. Largest first, then what stayed.

    `released_bytes` add up to the heap at the end minus the heap at the start; `share` is a share of that. `cause` and
    `owner` are the same on all lines of a run. If the program ended early, nothing could be released: then `not_run` is
    the reason and the line has no numbers.
    """
    again = {key(line): line["regrowth"] for line in regrowth(records).to_dict("records")}
    explained = [(record, events) for record, events in records if "why" in record]
    lines = [
        line for record, events in explained for line in _lines(record, events, again.get(key(record["cell"]), ""))
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _lines(record: Record, events: Events, repeated: str) -> Iterator[dict[str, Any]]:
    why, cell = record["why"], record["cell"]
    if "not_run" in why:
        yield {**cell, "holder": "", "kind": "", "not_run": why["not_run"]}
        return
    growth, imports = why["end_bytes"] - why["start_bytes"], imports_of(why)
    marks = [readings(events, name)[-1:] for name in ("imported", "work")]
    file = marks[1][0]["tree"]["file_bytes"] - marks[0][0]["tree"]["file_bytes"] if all(marks) else 0
    cause, owner = cause_of(why, file, repeated)
    steps = sorted(why["steps"], key=lambda step: (step["kind"] == "others", -step["released_bytes"]))
    stayed = ((IMPORTS, imports), (STAYED, why["stayed_bytes"] - imports))
    steps += [{"holder": kind, "kind": kind, "released_bytes": size} for kind, size in stayed]
    for step in steps:
        yield {
            **cell,
            "holder": step["holder"],
            "kind": step["kind"],
            "type": step.get("type", ""),
            "released_bytes": step["released_bytes"],
            "share": step["released_bytes"] / growth if growth > 0 else None,
            "also_held_by": ", ".join(step.get("also_held_by", [])),
            "cause": cause,
            "owner": owner,
            "not_run": "",
        }


def imports_of(why: WhyEntry) -> int:
    """The memory that imports took and no step gave back."""
    return max(0, min(int(why["imports_bytes"]), int(why["stayed_bytes"])))


def cause_of(why: WhyEntry, file_bytes: float = 0, repeated: str = "") -> tuple[Cause, str]:
    """The cause of the growth since the imports, and what holds it or keeps it unused.

    `file_bytes` is the growth of mapped files, `repeated` what table `regrowth` says of the same work again.
    """
    imports = imports_of(why)
    grown, stayed = why["end_bytes"] - why["start_bytes"] - imports, why["stayed_bytes"] - imports
    if grown < GROWN_BYTES:
        return ("page-cache", "mapped files") if file_bytes >= GROWN_BYTES else ("flat", "")
    named = [step for step in why["steps"] if step["kind"] != "others"]
    kinds: dict[Cause, list[Any]] = {
        "retained": [step for step in named if step["kind"] == "allocator"],
        "held": [step for step in named if step["kind"] != "allocator"],
    }
    for cause, steps in kinds.items():
        if sum(step["released_bytes"] for step in steps) >= _CARRIES * grown:
            steps.sort(key=lambda step: -step["released_bytes"])
            sums = itertools.accumulate(step["released_bytes"] for step in steps)
            largest = steps[: 1 + next(place for place, size in enumerate(sums) if size > grown / 2)]
            if largest[-1]["released_bytes"] >= _NAMED * grown:
                owners = [name for one in largest for name in (*one.get("released_before", ()), one["holder"])]
                return cause, " and ".join(name.removesuffix(", unused") for name in owners)
    if stayed < _CARRIES * grown:
        return "undecided", ""
    # Another malloc than glibc's does not say what it has in use.
    if "malloc_bytes_more" in why:
        in_use = why["malloc_bytes_more"] + why["python_bytes_more"] + why["arrow_bytes_more"]
        if in_use < stayed / 3:
            return "retained", "allocator (fragments)"
    causes: dict[str, Cause] = {"grows": "leak", "levels off": "held"}
    return (causes[repeated], "what no step gave back") if repeated in causes else ("undecided", "")


# A cell names what it holds in one run.
_IN_WORDS = {
    "held": "in one run the {} held most of it",
    "retained": "in one run most of it was free memory that the {} kept",
}


def cause_in_words(holders: pd.DataFrame | None, line: Mapping[str, Any]) -> str:
    """What held the growth of a line of table `growth`, with the largest input; empty if that is not known."""
    if holders is None or holders.empty:
        return ""
    same = [axis for axis in ("experiment", *AXES) if axis in holders and axis != SIZE and pd.notna(line.get(axis))]
    own = holders[(holders[same] == [line[axis] for axis in same]).all(axis=1)]
    if own.empty:
        return ""
    largest = own.sort_values(SIZE).iloc[-1]
    return _IN_WORDS.get(largest["cause"], "").format(largest["owner"])
