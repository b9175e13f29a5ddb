"""`beyond-ram compare`: compare a baseline and a candidate in existing results."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..shipped import FILES, PACKAGE
from .options import add_json_to

if TYPE_CHECKING:
    import pandas as pd

    from ..stacks.differences import Difference

_LINES = 10


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "compare",
        help="compare two stacks or two results folders",
        description="Compare every cell that both sides ran. Writes the table `changes` and a "
        "page, worst first. Exits with 1 if something got worse, else with 0.",
    )
    parser.add_argument("baseline", metavar="BASELINE", help="a stack, or a results folder")
    parser.add_argument("candidate", metavar="CANDIDATE", help="likewise")
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="results folder of the stacks (default: results)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for table and page (default: changes, in the results)"
    )
    parser.add_argument("--other-machines", action="store_true", help="also compare runs of different machines")
    add_json_to(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Return 1 if something got worse, else 0. Raises ValueError if nothing can be compared."""
    from .. import tables
    from ..analysis.changes import changes, counts, in_words
    from ..analysis.stack_differences import of_pair
    from ..report import page
    from ..stacks.differences import packages_in_words

    folders = [Path(side) for side in (arguments.baseline, arguments.candidate)]
    if all(_is_results(folder) for folder in folders):
        runs, pairs, stacks_alone = _of_folders(*folders)
        results = folders[1]
    else:
        results, stacks_alone = arguments.results, []
        runs, pairs = _of_stacks(results, arguments.baseline, arguments.candidate)
    table = changes(_compared(results, runs, pairs))
    if table.empty:
        raise ValueError(f"no cell was run both by {arguments.baseline} and by {arguments.candidate}")
    others = sorted(set(table["machines"]) - {""})
    if others and not arguments.other_machines:
        raise ValueError(
            f"{arguments.baseline} and {arguments.candidate} were measured on {others[0]}; "
            "with --other-machines they are compared all the same"
        )
    differ = {pair: _differences(*pair) or _of_versions(runs, *pair) for pair in pairs}
    out = arguments.out or results / "changes"
    out.mkdir(parents=True, exist_ok=True)
    tables.write(table, out / "changes.csv", out / "changes.parquet")
    page.write(
        "changes.html.jinja", out / "changes.html", lines=in_words(table), summary=counts(table),
        differences=[of_pair(pair, packages) for pair, packages in differ.items()],
    )  # fmt: skip
    alone = [*stacks_alone, *_cells_alone(runs, pairs)]
    arguments.document = {
        "changes": json.loads(table.to_json(orient="records")),
        "packages": [{"stacks": pair, "package": asdict(one)} for pair, packages in differ.items() for one in packages],
        "not_compared": alone,
    }
    _print_changes(table, in_words(table))
    for pair, packages in differ.items():
        if packages:
            print(f"packages that differ between {' and '.join(pair)}: {packages_in_words(packages)}")
    for line in alone:
        print(f"not compared: {line}")
    print(f"{counts(table)}; {out}/changes.html, {out}/changes.csv")
    return int((table["verdict"] == "worse").any())


def _compared(results: Path, runs: "pd.DataFrame", pairs: "list[tuple[str, str]]") -> "pd.DataFrame":
    """The report's results if it has these runs, so that both agree. Otherwise compare them here."""
    import pandas as pd

    from .. import tables
    from ..analysis.comparisons import comparisons
    from ..outputs import SHIPPED_SPREAD

    comparisons_path = results / "tables" / "comparisons.parquet"
    newest = max(path.stat().st_mtime for path in (results / "runs").rglob("run.json"))
    if len(pairs) == 1 and comparisons_path.exists() and comparisons_path.stat().st_mtime >= newest:
        of_report = tables.read(comparisons_path)
        lines = of_report[[(*pair,) == pairs[0] for pair in of_report[["before", "after"]].to_numpy()]]
        if len(lines):
            return lines
    return comparisons(runs, pairs, session_spread=pd.read_csv(PACKAGE / SHIPPED_SPREAD))


def _cells_alone(runs: "pd.DataFrame", pairs: "list[tuple[str, str]]") -> list[str]:
    """Number of cells, and of repeats, that only one side of a pair has. A failed run may have left nothing."""
    from ..analysis.frame import same_but_for

    lines = []
    for sides in pairs:
        repeats = [
            [set(group.loc[group["stack"] == stack, "rep"]) for stack in sides]
            for _, group in same_but_for(runs, "stack")
        ]
        for own, other, stack in ((0, 1, sides[0]), (1, 0, sides[1])):
            cells = sum(bool(one[own]) and not one[other] for one in repeats)
            more = sum(len(one[own] - one[other]) for one in repeats if one[other])
            lines += [f"{cells} {'cell' if cells == 1 else 'cells'} that only {stack} has"] if cells else []
            lines += [f"{more} {'repeat' if more == 1 else 'repeats'} that only {stack} has"] if more else []
    return lines


def _print_changes(table: "pd.DataFrame", lines: list[dict[str, str]]) -> None:
    """Print the first lines that are worse or better."""
    shown = [line for line, verdict in zip(lines, table["verdict"], strict=True) if verdict in ("worse", "better")]
    for line in shown[:_LINES]:
        print(
            f"{line['verdict']}: {line['metric']}, {line['cell']}: {line['baseline']} to {line['candidate']}, "
            f"{line['effect']} ({line['interval']}, n = {line['n']})"
        )
    if len(shown) > _LINES:
        print(f"and {len(shown) - _LINES} more")


def _differences(baseline: str, candidate: str) -> "list[Difference]":
    """The packages that two stacks lock in different versions; empty if a lock is unknown, as with two folders."""
    from ..stacks.locks import StackError, between

    try:
        return between(baseline, candidate, FILES)
    except StackError:
        return []


def _of_versions(runs: "pd.DataFrame", baseline: str, candidate: str) -> "list[Difference]":
    """The differences between the package versions that the runs of two stacks recorded."""
    from ..stacks.differences import Difference

    differences = []
    for name in sorted(column for column in map(str, runs) if column.startswith("version_")):
        sides = [runs.loc[runs["stack"] == stack, name].dropna().unique() for stack in (baseline, candidate)]
        before, after = (" and ".join(map(str, versions)) or None for versions in sides)
        if before != after:
            differences.append(Difference(name.removeprefix("version_").replace("_", "-"), before, after))
    return differences


def _is_results(folder: Path) -> bool:
    return (folder / "runs").is_dir()


def _runs(results: Path) -> "pd.DataFrame":
    """Table `runs` of a results folder. Raises ValueError if it has no runs."""
    from ..analysis.runs import runs
    from ..tables import read_runs

    files = sorted((results / "runs").rglob("run.json")) if _is_results(results) else []
    if not files:
        raise ValueError(f"{results}: no results folder, it has no runs")
    return runs(read_runs(files))


def _of_stacks(results: Path, baseline: str, candidate: str) -> "tuple[pd.DataFrame, list[tuple[str, str]]]":
    table = _runs(results)
    stacks = sorted(set(table["stack"]))
    for stack in (baseline, candidate):
        if stack not in stacks:
            raise ValueError(f"{results}: no run of stack {stack!r} (there are: {', '.join(stacks)})")
    return table[table["stack"].isin([baseline, candidate])], [(baseline, candidate)]


def _of_folders(baseline: Path, candidate: Path) -> "tuple[pd.DataFrame, list[tuple[str, str]], list[str]]":
    """The runs of both folders, with the baseline's stacks renamed, and the stacks that only one folder has."""
    import pandas as pd

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
