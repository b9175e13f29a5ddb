"""`beyond-ram show`: show one watched run, or several side by side, on the terminal and as a page."""

import argparse
from pathlib import Path

from .options import add_json_to


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "show",
        help="show a watched run, or several side by side",
        description="Print the summary of a run, or several runs side by side. --html also writes a page that opens "
        "offline.",
    )
    parser.add_argument("folder", nargs="+", type=Path, metavar="FOLDER", help="folder of a run, from `watch --out`")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page: requests, causes, memory over time")
    add_json_to(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from .. import memory_request, run_page
    from ..run_page import side_by_side
    from ..watch import summary

    runs = {str(folder): run_page.RunFolder.read(folder) for folder in dict.fromkeys(arguments.folder)}
    arguments.document = {
        "runs": [{"folder": name, **memory_request.document(run.record)} for name, run in runs.items()]
    }
    if arguments.html:
        run_page.write(arguments.html, runs)
    shown = side_by_side.lines(runs) if len(runs) > 1 else summary.lines(next(iter(runs.values())).record)
    print("\n".join(shown))
    if arguments.html:
        print(arguments.html)
    return 0
