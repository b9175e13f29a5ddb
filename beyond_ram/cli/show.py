"""`beyond-ram show`: watched runs side by side, on the terminal and as a page."""

import argparse
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "show",
        help="watched runs side by side",
        description="Prints the summary of a run, or several runs side by side. --html makes a page of them that opens "
        "from a file, offline.",
    )
    parser.add_argument("folder", nargs="+", type=Path, metavar="FOLDER", help="the folder of a run, of `watch --out`")
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page: asks, causes, memory over time")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from .. import run_page
    from ..run_page import side_by_side
    from ..watch import summary

    runs = {str(folder): run_page.Run.read(folder) for folder in dict.fromkeys(arguments.folder)}
    if arguments.html:
        run_page.write(arguments.html, runs)
    shown = side_by_side.lines(runs) if len(runs) > 1 else summary.lines(dict(next(iter(runs.values())).record))
    print("\n".join(shown))
    if arguments.html:
        print(arguments.html)
    return 0
