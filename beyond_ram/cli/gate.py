"""`beyond-ram gate`: test if other requirements make something worse."""

import argparse
import contextlib
import glob
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .. import files
from ..shipped import FILES
from .options import add_budget_to, add_json_to, finish, show
from .project import project
from .script_options import add_stack_to, check_file, stack_of

if TYPE_CHECKING:
    import pandas as pd

    from ..gate.cells import GateCells
    from ..gate.result import Gate
    from ..gate.wheels import Requirement
    from ..measure.campaign import Campaign


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "gate",
        help="test if other requirements make something worse",
        description="Build two stacks that differ in the requirements, run the same cells with both in turn until "
        "each metric is decided, and list what got worse. Exit status 0: nothing worse, 1: worse, 2: undecided.",
    )
    for side in ("baseline", "candidate"):
        parser.add_argument(
            f"--{side}", nargs="+", required=True, metavar="REQ",
            help="as for pip: NAME==VERSION, a wheel, a local checkout, an address",
        )  # fmt: skip
    parser.add_argument(
        "--cells", nargs="+", default=[], metavar="NAME|FILE",
        help="shipped sets of cells, or your own configs (default: all shipped cells with these packages)",
    )  # fmt: skip
    parser.add_argument(
        "--script", nargs="+", default=[], metavar="FILE",
        help="Python files instead of cells, or patterns such as 'cases/*.py'; what each requires stands in it "
        "(PEP 723), and one that requires no package of the two sides is left out",
    )  # fmt: skip
    add_stack_to(parser)
    add_budget_to(parser, "results-gate")
    parser.add_argument(
        "--rare", type=float, metavar="SHARE",
        help="say `same` only where a change in this share of the runs would have been seen, at least 0.1 "
        "(default: 0.31 where eight runs a side take up to 45 s, else 0.53)",
    )  # fmt: skip
    add_json_to(parser, "gate.json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit with 1 if something got worse, 2 if undecided."""
    import tempfile
    from hashlib import sha256

    from ..decisions.rule import fewest_for
    from ..experiment.places import open_results, results_fault
    from ..folders import check
    from ..gate import cells
    from ..gate.result import STATUS
    from ..gate.wheels import requirements
    from ..measure.campaign import SPENT, opened
    from ..measure.gate import SIDES

    if arguments.script and arguments.cells:
        raise ValueError("--script and --cells: give one of them")
    if arguments.rare is not None:
        fewest_for(arguments.rare)  # raises ValueError
    scripts = _scripts(arguments.script)
    if arguments.stack and not arguments.script:
        raise ValueError("--stack is for scripts: give --script with it")
    here, out, stack = Path.cwd(), arguments.out.resolve(), stack_of(arguments)
    root = FILES if arguments.script else project()
    check(out)
    if fault := results_fault(out / "results", root):
        raise ValueError(f"{out / 'results'} {fault}")
    show("reading and building the requirements")
    with tempfile.TemporaryDirectory(prefix="beyond-ram-wheels-") as folder:
        built = {side: requirements(getattr(arguments, side), Path(folder, side)) for side in SIDES}
        question = {
            "command": "gate", **{side: [one.content for one in of] for side, of in built.items()},
            "scripts": {file.name: sha256(file.read_bytes()).hexdigest() for file in scripts},
            "cells": {name: sha256(Path(name).read_bytes()).hexdigest() if Path(name).is_file() else "shipped"
                      for name in arguments.cells},
            "stack": stack and sha256(stack.read_bytes()).hexdigest(), "rare": arguments.rare,
        }  # fmt: skip
        with opened(out, question) as campaign:
            campaign.show = show
            wanted = {side: [one.copied_to(out / "wheels" / side) for one in of] for side, of in built.items()}
            named = {one.package for side in wanted.values() for one in side}
            # Snakemake opens it too, but not where the cells read nothing that has to be made.
            open_results(str(out / "results"))
            with contextlib.chdir(root):
                if arguments.script:
                    chosen = cells.of_scripts([here / file for file in scripts], named, out, stack)
                else:
                    chosen = cells.choose(arguments.cells, named, out, Path.cwd(), here)
                gate = _measured(wanted, chosen, arguments, campaign)
            _write(gate, out)
            notes = [SPENT] if campaign.out_of_budget else []
            if chosen.left_out:
                notes.append(f"left out, because they require no package of the sides: {', '.join(chosen.left_out)}")
            finish(arguments, gate.as_json(), [*gate.lines(), *notes])
    return STATUS[gate.result]


def _scripts(names: list[str]) -> list[Path]:
    """The files of some names, of which any may be a pattern. Raises ValueError."""
    files = list[Path]()
    for name in names:
        matching = [name] if Path(name).is_file() else sorted(glob.glob(name))  # noqa: PTH207 (Path: not absolute ones)
        if not matching:
            raise ValueError(f"there is no file {name}")
        for file in matching:
            check_file(Path(file))
        files += map(Path, matching)
    return files


def _measured(
    wanted: "dict[str, list[Requirement]]", chosen: "GateCells", arguments: argparse.Namespace, campaign: "Campaign"
) -> "Gate":
    """Build both sides and measure the cells, in the folder of our programs."""
    from ..gate import result, sides
    from ..gate.runs import GateRuns, cases, comparisons, rules
    from ..measure.gate import BASELINE, CANDIDATE, GatePolicy

    out, budget_s = campaign.out, 60 * arguments.budget
    named = [one for side in wanted.values() for one in side]
    show(f"building the two sides of {', '.join(chosen.bases)}")
    scripts = bool(arguments.script)
    built = sides.both(chosen.bases, wanted, out, out / "envs" if scripts else Path("envs"), exact=scripts)
    if not arguments.script:
        show("making what the cells read")
        _prepare(chosen, out)
    runs = GateRuns(chosen.config, chosen.cells, built, campaign, budget_s)
    campaign.once = runs.once
    cells = cases(chosen.cells)
    stacks = {name: str(cell["stack"]) for name, cell in cells.items()}
    policy = GatePolicy(stacks, campaign.seed, rules, arguments.rare)
    campaign.run(policy, budget_s)
    policy.end(campaign.runs)
    table = runs.table(campaign.runs)
    others = {
        base: sides.other_differences(built[base, BASELINE], built[base, CANDIDATE], named) for base in chosen.bases
    }
    for base in _other_answers(table):
        others[base] = ", ".join(filter(None, (others[base], "the answer")))
    return result.Gate(
        requested=wanted, runs=table, table=comparisons(policy, cells, table), used_s=campaign.used_s,
        budget_s=budget_s, other_differences={base: what for base, what in others.items() if what},
        moved_packages={one.stack: one.moved_packages for one in built.values() if one.moved_packages},
        cells=[cell.experiment for cell in chosen.cells], seed=campaign.seed,
    )  # fmt: skip


def _other_answers(runs: "pd.DataFrame") -> list[str]:
    """The scripts whose sides give other answers, and each side always the same."""
    if "answer_sha256" not in runs:
        return []
    answers = runs.dropna(subset=["answer_sha256"]).groupby(["experiment", "stack"])["answer_sha256"].unique()
    scripts = answers.groupby("experiment").agg(lambda of: {len(one) for one in of} == {1} and len({*map(str, of)}) > 1)
    return scripts.index[scripts.astype(bool)].tolist()


def _prepare(chosen: "GateCells", out: Path) -> None:
    """Make what the cells read, by Snakemake. Raises RuntimeError with the place of its log."""
    from ..gate.cells import FILE

    needs = {need for cell in chosen.cells for need in chosen.config.job(cell).needs()}
    targets = sorted(needs - {script.file for script in chosen.config.scripts.values()})
    if not targets:  # without any, Snakemake would make everything
        return
    log = out / "prepare.log"
    words = [sys.executable, "-m", "beyond_ram", "run", *targets, "--configfile", str(out / FILE), "--nolock"]
    with files.log(log) as output:
        done = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, cwd=project(), check=False)
    if done.returncode:
        raise RuntimeError(f"what the cells read could not be made: {log}")


def _write(gate: "Gate", out: Path) -> None:
    """All files but gate.json, and the summary of a GitHub job."""
    from xml.etree import ElementTree

    from ..records import tables

    markdown = gate.markdown()
    tables.write(gate.runs, out / "runs.csv", out / "runs.parquet")
    tables.write(gate.changes, out / "changes.csv", out / "changes.parquet")
    files.write(out / "gate.md", markdown)
    files.write(out / "gate.xml", ElementTree.tostring(gate.junit(), encoding="utf-8", xml_declaration=True))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown)
