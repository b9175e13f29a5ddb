"""Findings about single cells: memory that grows with every epoch, and loaders that lose rows."""

import math
from collections.abc import Iterator

from ..decide import strength
from ..frame import describe
from ..loaders import by_way
from ..thresholds import EPOCH_BYTES
from .finding import Finding, Scope, Tables, failed, lines_of, tries


def regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work whose memory keeps growing."""
    table = tables["regrowth"]
    for line in lines_of(table[table["regrowth"].eq("grows") & table["slope_bytes_low"].gt(0)]):
        conditions = tuple(describe(line, ("subject", "case")))
        low, high = (line[f"slope_bytes_{end}"] * line["epochs_read"] for end in ("low", "high"))
        start = max(line["first_epoch_bytes"], 0.0)
        yield Finding(
            kind="regrowth",
            subject=str(line["stack"]),
            scope=Scope(str(line["experiment"]), conditions, failed=failed(line)),
            facts={"line": line},
            strength=math.exp(strength(low, high, start, EPOCH_BYTES, as_ratio=False)),
            seen=(line,),
        )


def rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row exactly once, in runs that finished."""
    loaders = by_way(tables["loaders"])
    wrong = loaders[(loaders["n"] > 0) & loaders["account"].str.contains(r"\d (?:missing|twice|wrong)")]
    for name, group in wrong.groupby("loader", sort=False):
        lines = lines_of(group.sort_values("rows_delivered"))
        line = lines[-1]
        yield Finding(
            kind="rows",
            subject=str(name),
            scope=Scope(
                str(line["experiment"]),
                (str(line["tokens"]), str(line["order"]), *describe(line, ["workers"])),
                len(lines),
                int((loaders["loader"] == name).sum()),
            ),
            facts={name: line[name] for name in ("account", "rows_expected", "rows_delivered", "n")},
            strength=tries(int(line["n"])),
            seen=tuple(lines),
        )
