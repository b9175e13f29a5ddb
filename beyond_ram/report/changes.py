"""The comparison of two stacks or two results folders: the table of changes, a page, and lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..analysis.changes import changes, counts, in_words
from ..analysis.comparisons import comparisons
from ..analysis.frame import same_but_for
from ..analysis.rule import must_be_decided
from ..analysis.runs import runs as table_of_runs
from ..analysis.stack_differences import of_pair
from ..records import tables
from ..shipped import FILES, PACKAGE
from ..stacks.differences import Difference, packages_in_words
from ..stacks.locks import StackError, between
from ..workflow.chapters import SHIPPED_SPREAD
from . import page

_LINES = 10


@dataclass(frozen=True)
class ComparedSides:
    """Two sides, compared. `alone` names what only one of them has."""

    table: pd.DataFrame
    packages: Mapping[tuple[str, str], Sequence[Difference]]
    alone: Sequence[str]
    out: Path

    @property
    def status(self) -> int:
        """1 if something got worse; else 2 if something that must be decided is undecided; else 0."""
        undecided = self.table.loc[self.table["result"] == "undecided", "metric"]
        return 1 if "worse" in set(self.table["result"]) else 2 * any(map(must_be_decided, undecided))

    def text(self) -> Iterator[str]:
        """The first lines that are worse or better, the packages that differ, and where the rest is."""
        lines = zip(in_words(self.table), self.table["result"], strict=True)
        shown = [line for line, result in lines if result in ("worse", "better")]
        for line in shown[:_LINES]:
            yield (
                f"{line['result']}: {line['metric']}, {line['cell']}: {line['baseline']} to {line['candidate']}, "
                f"{line['effect']} ({line['interval']}, n = {line['n']})"
            )
        if len(shown) > _LINES:
            yield f"and {len(shown) - _LINES} more"
        for pair, packages in self.packages.items():
            if packages:
                yield f"packages that differ between {' and '.join(pair)}: {packages_in_words(packages)}"
        yield from (f"not compared: {what}" for what in self.alone)
        yield f"{counts(self.table)}; {self.out}/changes.html, {self.out}/changes.csv"


def compare(
    baseline: str, candidate: str, results: Path, out: Path | None = None, *, other_machines: bool = False
) -> ComparedSides:
    """Compare two stacks in `results`, or two results folders, and write table and page into `out`.

    Raises ValueError if nothing can be compared.
    """
    folders = [Path(side) for side in (baseline, candidate)]
    if all(_is_results(folder) for folder in folders):
        runs, pairs, stacks_alone = _of_folders(*folders)
        results = folders[1]
    elif any(_is_results(folder) for folder in folders):
        absent = next(folder for folder in folders if not _is_results(folder))
        why = "it has no runs" if absent.exists() else "there is no such folder"
        raise ValueError(f"{absent}: no results folder, {why}; the other side is one")
    else:
        runs, pairs, stacks_alone = *_of_stacks(results, baseline, candidate), []
    table = changes(_compared(results, runs, pairs))
    if table.empty:
        raise ValueError(f"no cell was run both by {baseline} and by {candidate}")
    others = sorted(set(table["machines"]) - {""})
    if others and not other_machines:
        raise ValueError(
            f"{baseline} and {candidate} were measured on {others[0]}; "
            "with --other-machines they are compared all the same"
        )
    packages = {pair: _differences(*pair) or _of_versions(runs, *pair) for pair in pairs}
    out = out or results / "changes"
    out.mkdir(parents=True, exist_ok=True)
    tables.write(table, out / "changes.csv", out / "changes.parquet")
    page.write(
        "changes.html.jinja", out / "changes.html", lines=in_words(table), summary=counts(table),
        differences=[of_pair(pair, differing) for pair, differing in packages.items()],
    )  # fmt: skip
    return ComparedSides(table, packages, [*stacks_alone, *_cells_alone(runs, pairs)], out)


def _compared(results: Path, runs: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """The report's results if it has these runs, so that both agree. Otherwise compare them here."""
    comparisons_path = results / "tables" / "comparisons.parquet"
    newest = max(path.stat().st_mtime for path in (results / "runs").rglob("run.json"))
    if len(pairs) == 1 and comparisons_path.exists() and comparisons_path.stat().st_mtime >= newest:
        of_report = tables.read(comparisons_path)
        lines = of_report[[(*pair,) == pairs[0] for pair in of_report[["before", "after"]].to_numpy()]]
        if len(lines):
            return lines
    return comparisons(runs, pairs, session_spread=pd.read_csv(PACKAGE / SHIPPED_SPREAD))


def _cells_alone(runs: pd.DataFrame, pairs: list[tuple[str, str]]) -> list[str]:
    """Number of cells, and of repeats, that only one side of a pair has. A failed run may have left nothing."""
    lines = []
    for sides in pairs:
        groups = [group for _, group in same_but_for(runs, "stack")]
        repeats = [[set(group.loc[group["stack"] == stack, "rep"]) for stack in sides] for group in groups]
        for own, other, stack in ((0, 1, sides[0]), (1, 0, sides[1])):
            cells = sum(bool(one[own]) and not one[other] for one in repeats)
            more = sum(len(one[own] - one[other]) for one in repeats if one[other])
            lines += [f"{cells} {'cell' if cells == 1 else 'cells'} that only {stack} has"] if cells else []
            lines += [f"{more} {'repeat' if more == 1 else 'repeats'} that only {stack} has"] if more else []
    return lines


def _differences(baseline: str, candidate: str) -> list[Difference]:
    """The packages that two stacks lock in different versions; empty if a lock is unknown, as with two folders."""
    try:
        return between(baseline, candidate, FILES)
    except StackError:
        return []


def _of_versions(runs: pd.DataFrame, baseline: str, candidate: str) -> list[Difference]:
    """The differences between the package versions that the runs of two stacks recorded."""
    differences = []
    for name in sorted(column for column in map(str, runs) if column.startswith("version_")):
        sides = [runs.loc[runs["stack"] == stack, name].dropna().unique() for stack in (baseline, candidate)]
        before, after = (" and ".join(map(str, versions)) or None for versions in sides)
        if before != after:
            differences.append(Difference(name.removeprefix("version_").replace("_", "-"), before, after))
    return differences


def _is_results(folder: Path) -> bool:
    return (folder / "runs").is_dir()


def _runs(results: Path) -> pd.DataFrame:
    """Table `runs` of a results folder. Raises ValueError if it has no runs."""
    files = sorted((results / "runs").rglob("run.json")) if _is_results(results) else []
    if not files:
        raise ValueError(f"{results}: no results folder, it has no runs")
    return table_of_runs(tables.read_runs(files))


def _of_stacks(results: Path, baseline: str, candidate: str) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    table = _runs(results)
    stacks = sorted(set(table["stack"]))
    for stack in (baseline, candidate):
        if stack not in stacks:
            raise ValueError(f"{results}: no run of stack {stack!r} (there are: {', '.join(stacks)})")
    return table[table["stack"].isin([baseline, candidate])], [(baseline, candidate)]


def _of_folders(baseline: Path, candidate: Path) -> tuple[pd.DataFrame, list[tuple[str, str]], list[str]]:
    """The runs of both folders, with the baseline's stacks renamed, and the stacks that only one folder has."""
    first, second = (_runs(folder) for folder in (baseline, candidate))
    stacks = sorted(set(first["stack"]) & set(second["stack"]))
    before = {stack: f"{stack} in {baseline}" for stack in stacks}
    alone = [
        f"stack {stack}, which only {folder} has"
        for folder, runs in ((baseline, first), (candidate, second))
        for stack in sorted({*runs["stack"]} - {*stacks})
    ]
    first = first[first["stack"].isin(stacks)].assign(stack=lambda table: table["stack"].map(before))
    second = second[second["stack"].isin(stacks)]
    return pd.concat([first, second], ignore_index=True), [(before[stack], stack) for stack in stacks], alone
