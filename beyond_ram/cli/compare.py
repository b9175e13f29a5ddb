"""`beyond-ram compare`: compare a baseline and a candidate in existing results."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from .options import add_json_to


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "compare",
        help="compare two stacks or two results folders",
        description="Compare every cell that both sides ran. Writes the table `changes` and a "
        "page, worst first. Exit status 0: nothing worse, 1: worse, 2: memory, work or failures are undecided.",
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
    """Exit with 1 if something got worse, 2 if undecided. Raises ValueError if nothing can be compared."""
    from ..report.changes import compare

    sides = arguments.baseline, arguments.candidate
    if not any(Path(place).is_dir() for place in (*sides, arguments.results)):
        no_runs = f"nor is there a folder {arguments.results} with runs of two stacks; name two results folders"
        raise ValueError(f"neither {sides[0]} nor {sides[1]} is a folder, {no_runs}, or --results")
    compared = compare(*sides, arguments.results, arguments.out, other_machines=arguments.other_machines)
    packages = [(pair, one) for pair, of_pair in compared.packages.items() for one in of_pair]
    arguments.document = {
        "changes": json.loads(compared.table.to_json(orient="records")),
        "packages": [{"stacks": pair, "package": asdict(one)} for pair, one in packages],
        "not_compared": compared.alone,
    }
    print("\n".join(compared.text()))
    return compared.status
