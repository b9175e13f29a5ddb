"""`beyond-ram show`: runs side by side, as a page."""

import argparse
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "show",
        help="runs side by side, as a page",
        description="A page of runs: memory over time, phases, peaks, provenance. It opens from a file, offline.",
    )
    parser.add_argument("folder", nargs="+", type=Path, metavar="FOLDER", help="the folder of a run, of `watch --out`")
    parser.add_argument("--html", type=Path, default=Path("runs.html"), help="the page (default: runs.html)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..report import runs
    from ..report.run import Run

    named = dict.fromkeys(arguments.folder)
    found = {str(folder): Run.read(folder, of_a_cell=False) for folder in named}
    runs.write(arguments.html, found, "One run" if len(found) == 1 else f"{len(found)} runs side by side")
    print(arguments.html)
    return 0
