"""`beyond-ram atlas`: what each release of the data libraries costs, and the difference between two locks."""

import argparse
import sys
from pathlib import Path

from .options import add_budget_to, add_json_to, finish, show


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "atlas",
        help="small cases over all recent releases of the data stack's libraries",
        description="Runs every case (a script with inline metadata, PEP 723; the first requirement is the library) "
        "with the releases of its library of the last two years, and lists the steps between them. A second call runs "
        "what is left. `beyond-ram atlas compare LOCK LOCK` lists the steps between two locks.",
    )
    parser.add_argument(
        "--library", nargs="+", action="extend", default=[], metavar="NAME", help="these libraries only"
    )
    parser.add_argument("--cases", type=Path, metavar="DIR", help="the folder of cases (default: cases/atlas)")
    add_budget_to(parser, "results-atlas", "stop after this, with the building of environments; the next call goes on")
    add_json_to(parser, "atlas.json")
    parser.set_defaults(run=run)
    _add_compare_to(parser.add_subparsers(metavar="compare"))


def _add_compare_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("compare", help="the steps that lie between two locks")
    parser.add_argument("before", metavar="LOCK", help="a lock file: lines NAME==VERSION")
    parser.add_argument("after", metavar="LOCK|newest", help="another, or the newest releases that the atlas has")
    parser.add_argument("--atlas", type=Path, metavar="DIR", help="folder of an atlas (default: the shipped one)")
    add_json_to(parser)
    parser.set_defaults(run=run_compare)


def run(arguments: argparse.Namespace) -> int:
    """Return 0, also if the budget ran out; 2 if nothing could be run."""
    from ..atlas import tables
    from ..atlas.cases import FOLDER, cases
    from ..atlas.make import Atlas
    from ..folders import ensure
    from ..stacks import index

    folder = arguments.cases or FOLDER
    every, wanted = cases(folder), cases(folder, arguments.library)
    out = arguments.out.absolute()
    ensure(out)
    atlas = Atlas(out, 60 * arguments.budget, show)
    with index.for_uv():
        atlas.make(wanted, every)
    show("")
    trouble = list(dict.fromkeys(atlas.trouble))
    for line in trouble:
        print(f"not run: {line}", file=sys.stderr)
    cells, steps = (tables.read(out / name) for name in (tables.CELLS, tables.STEPS))
    ran = sum(int(cell["runs"]) > 0 for cell in cells)
    more = "; the budget is used up, the same command goes on" if atlas.out_of_budget else ""
    text = [f"{ran} of {len(cells)} cells of a case and a release ran; {len(steps)} confirmed steps"]
    of_call = {"runs": atlas.runs, "out_of_budget": atlas.out_of_budget, "not_run": trouble}
    finish(arguments, {"cells": cells, "steps": steps, **of_call}, [*text, f"{atlas.runs} runs in this call{more}"])
    return 0 if ran else 2


def run_compare(arguments: argparse.Namespace) -> int:
    """Return 0."""
    from ..atlas.compare import compare, lines
    from ..atlas.tables import SHIPPED

    compared = compare(arguments.before, arguments.after, arguments.atlas or SHIPPED)
    arguments.document = {
        "before": compared.before,
        "after": compared.after,
        "libraries": [{"library": change.library, "before": change.before, "after": change.after,
                       "cases": [{"case": case, "steps": list(steps)} for case, steps in change.cases.items()]}
                      for change in compared.changes],
        "not_in_the_atlas": list(compared.others),
    }  # fmt: skip
    print("\n".join(lines(compared)))
    return 0
