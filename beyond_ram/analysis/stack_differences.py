"""Table `stack_differences`: packages that differ between compared stacks, from their locks."""

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from ..stacks.differences import Difference, base_of, differences, packages_in_words, requested
from .frame import Pairs

COLUMNS = ["before", "after", "package", "from_version", "to_version", "requested"]


def stack_differences(pairs: Pairs, locks: Mapping[str, str]) -> pd.DataFrame:
    """One line per package that a baseline and its candidate pin in different versions. A version is empty if a stack
    does not have the package.

    `locks` maps a stack to its lock, and `NAME.in` to the requirements of a stack. Required packages come first.
    """
    lines = []
    for before, after in pairs:
        if before not in locks or after not in locks:
            continue
        wanted = {name for stack in (before, after) for name in requested(locks.get(f"{base_of(stack)}.in", ""))}
        for one in differences(locks[before], locks[after], wanted):
            lines.append([before, after, *asdict(one).values(), one.package in wanted])
    return pd.DataFrame(lines, columns=COLUMNS)


def between(table: pd.DataFrame | None, before: str, after: str) -> list[Difference]:
    """The lines of two stacks as differences, in order; empty without a table."""
    if table is None:
        return []
    lines = table[table["before"].eq(before) & table["after"].eq(after)]
    return [
        Difference(line["package"], *(line[side] or None for side in ("from_version", "to_version")))
        for line in lines.fillna({"from_version": "", "to_version": ""}).to_dict("records")
    ]


def of_pair(pair: tuple[str, str], differences: list[Difference]) -> dict[str, str]:
    """The differences between two stacks, in words."""
    return {
        "sides": f"{pair[0]} and {pair[1]}",
        "number": f"{len(differences)} package{'' if len(differences) == 1 else 's'}",
        "packages": packages_in_words(differences, len(differences)),
    }
