"""`beyond-ram gate`: whether a change of requirements made something worse."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .project import project

if TYPE_CHECKING:
    from ..gate.cells import Cells
    from ..gate.verdict import Gate
    from ..gate.wheels import Requirement

BUDGET_MINUTES = 10.0


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "gate",
        help="whether a change of requirements made something worse",
        description="Builds two stacks that differ in the requirements, weighs the same cells with both in turn until "
        "each metric is decided, and says what got worse. Exit status 0: nothing worse, 1: worse, 2: cannot say.",
    )
    for side in ("baseline", "candidate"):
        parser.add_argument(
            f"--{side}", nargs="+", required=True, metavar="REQ",
            help="what pip takes: NAME==VERSION, a wheel, a local checkout, an address",
        )  # fmt: skip
    parser.add_argument(
        "--cells", nargs="+", default=[], metavar="NAME|FILE",
        help="shipped sets of cells, or configs of your own (default: every shipped cell that has the packages)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=_minutes, default=BUDGET_MINUTES, metavar="MINUTES",
        help=f"the most that weighing may take (default: {BUDGET_MINUTES:g})",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("results-gate"), metavar="DIR", help="all files (default: results-gate)"
    )
    parser.set_defaults(run=run)


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def run(arguments: argparse.Namespace) -> int:
    """The exit status: 1 where something got worse, 2 where that cannot be said."""
    from ..gate.sides import SIDES
    from ..gate.verdict import STATUS
    from ..gate.wheels import requirements

    here, out = Path.cwd(), arguments.out.absolute()
    _open(out)
    tell = _progress()
    tell("reading and building what was asked for")
    asked = {side: requirements(getattr(arguments, side), out / "wheels") for side in SIDES}
    with contextlib.chdir(project()):
        gate = _weighed(asked, arguments, here, out, tell)
    tell("")
    _write(gate, out)
    print("\n".join(gate.lines()))
    return STATUS[gate.verdict]


def _weighed(
    asked: "dict[str, list[Requirement]]",
    arguments: argparse.Namespace,
    here: Path,
    out: Path,
    tell: Callable[[str], None],
) -> "Gate":
    """Build both sides and weigh the cells, in the project's folder."""
    from ..gate import cells, schedule, sides, verdict

    named = [one for side in asked.values() for one in side]
    chosen = cells.choose(arguments.cells, {one.package for one in named}, out, Path.cwd(), here)
    tell(f"building the two sides of {', '.join(chosen.bases)}")
    built = sides.both(chosen.bases, asked, out, Path("envs"))
    tell("making what the cells read")
    _prepare(chosen, out)
    budget_s = 60 * arguments.budget
    found = schedule.decide(chosen.cells, schedule.Runs(chosen.config, built, out), budget_s, tell)
    apart = {
        base: sides.apart(built[base, sides.BASELINE], built[base, sides.CANDIDATE], named) for base in chosen.bases
    }
    return verdict.Gate(
        asked=asked, runs=found.runs, table=found.comparisons, used_s=found.used_s, budget_s=budget_s,
        apart={base: what for base, what in apart.items() if what},
        moved={one.stack: one.moved for one in built.values() if one.moved},
        cells=[cell.experiment for cell in chosen.cells],
    )  # fmt: skip


def _open(out: Path) -> None:
    """Make the folder, or take the one of an earlier gate, without its runs. Raises ForeignFolderError, ValueError."""
    from ..experiment.places import results_fault
    from ..folders import check, mark, remove

    check(out)
    if fault := results_fault(out / "results", project()):
        raise ValueError(f"{out / 'results'} {fault}")
    out.mkdir(parents=True, exist_ok=True)
    mark(out)
    runs = out / "results" / "runs"
    if runs.exists():
        mark(runs)
        remove(runs)


def _prepare(chosen: "Cells", out: Path) -> None:
    """Make what the cells read, by Snakemake. Raises RuntimeError with the place of its log."""
    targets = sorted({need for cell in chosen.cells for need in chosen.config.job(cell).needs()})
    if not targets:  # without any, Snakemake would make everything
        return
    log = out / "prepare.log"
    words = [sys.executable, "-m", "beyond_ram", "run", *targets, "--configfile", str(chosen.file), "--nolock"]
    with log.open("w") as said:
        done = subprocess.run(words, stdout=said, stderr=subprocess.STDOUT, cwd=project(), check=False)
    if done.returncode:
        raise RuntimeError(f"what the cells read could not be made: {log}")


def _write(gate: "Gate", out: Path) -> None:
    """All files, and the summary of a GitHub job."""
    from xml.etree import ElementTree

    from .. import pages, tables
    from ..analysis.changes import counts

    changes, markdown = gate.changes, gate.markdown()
    tables.write(gate.runs, out / "runs.csv", out / "runs.parquet")
    tables.write(changes, out / "changes.csv", out / "changes.parquet")
    pages.write(
        str(project() / "report" / "changes.html.jinja"), str(out / "changes.html"), lines=gate.words,
        summary=counts(changes),
    )  # fmt: skip
    (out / "gate.md").write_text(markdown, encoding="utf-8")
    ElementTree.ElementTree(gate.junit()).write(out / "gate.xml", encoding="utf-8", xml_declaration=True)
    (out / "gate.json").write_text(json.dumps(gate.as_json(), indent=1) + "\n", encoding="utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown)


def _progress() -> Callable[[str], None]:
    """Tells on one line of a terminal, or on a line each where there is none."""

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif line:
            print(line, file=sys.stderr, flush=True)

    return tell
