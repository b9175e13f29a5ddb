"""`beyond-ram fit`: which settings of a program fit into the memory that there is, and which of these is fastest."""

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from .options import add_json_to, limit, minutes, show
from .programs import no_start, remove_own_path

if TYPE_CHECKING:
    from ..fit.answer import Answer

MINUTES = 10.0
EXTRA = "fit"


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "fit",
        help="which settings of a program fit into the memory that there is",
        description="Runs a program a few times with small input, and predicts the memory that each setting keeps at "
        "full size. Exit status 0: a setting fits, 1: none, 2: cannot say.",
        usage="beyond-ram fit --memory SIZE [--vary NAME=V,V…]… [--grow NAME=A..B] [--budget M] [--largest N]\n"
        "                      [--confirm] [--out DIR] -- COMMAND with {NAME}",
    )
    parser.add_argument("--memory", type=limit, required=True, metavar="SIZE", help="what there is, as 64G")
    parser.add_argument(
        "--vary", action="append", default=[], metavar="NAME=V,V", help="a setting and its values, as workers=0,2,4"
    )
    parser.add_argument(
        "--grow", action="append", default=[], metavar="NAME=A..B",
        help="the size of the input: small runs begin at A, the answer is for B, as rows=100k..50M",
    )  # fmt: skip
    parser.add_argument(
        "--budget",
        type=minutes,
        default=MINUTES,
        metavar="M",
        help=f"minutes for all small runs (default: {MINUTES:g})",
    )
    parser.add_argument("--largest", metavar="N", help="no small run has a larger size (default: what the time allows)")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="then run the best setting at full size, limited to the requested memory",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results-fit"), metavar="DIR",
        help="fit.json and all runs, which a later call uses again (default: results-fit)",
    )  # fmt: skip
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command, after --")
    add_json_to(parser, "fit.json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit with 0 if a setting fits, 1 if none does, 2 if it is unsure."""
    from ..fit import answer, factors
    from ..fit.runs import FitRuns
    from ..folders import ensure

    plan = factors.plan(arguments.command, arguments.vary, arguments.grow)
    largest = factors.number(arguments.largest, "--largest") if arguments.largest else None
    remove_own_path()
    if not shutil.which(plan.command[0]):
        raise ValueError(no_start(plan.command[0], call="beyond-ram fit … --"))
    if largest and (not plan.growth or largest < 2 * plan.growth.first):
        raise ValueError("--largest: at least twice the first size of --grow")
    out = arguments.out.absolute()
    ensure(out)
    runs = FitRuns(plan, out, show)
    result = answer.answer(runs, arguments.memory, 60 * arguments.budget, largest)
    show("")
    print("\n".join(answer.text(result)), flush=True)
    if runs.used_again:
        earlier = f"{runs.used_again} runs are of an earlier call"
        print(f"{earlier}: if what the program imports has changed, remove {arguments.out}")
    _write(result, None, out)
    if not arguments.confirm or not result.best:
        return result.status
    return _confirm(result, out)


def _confirm(result: "Answer", out: Path) -> int:
    """Run the best setting at full size, with the requested memory as its limit."""
    from ..fit.design import Point
    from ..fit.runs import FitRuns

    assert result.best and result.best.ask_bytes and result.best.memory
    limit_bytes = result.best.ask_bytes
    run = FitRuns(result.plan, out, show).limited(Point(result.best.setting, result.target), limit_bytes)
    show("")
    done = run.outcome == "completed"
    _write(result, {"outcome": run.outcome, "limit_bytes": limit_bytes, "kept_bytes": run.kept_bytes}, out)
    kept = f"kept {run.kept_bytes / 1e6:,.0f} MB of {limit_bytes / 1e6:,.0f} MB in {run.seconds:,.1f} s"
    print(
        f"confirmed: completed under this limit, {kept}"
        if done
        else f"not confirmed: killed at {limit_bytes / 1e6:,.0f} MB"
    )
    return 0 if done else 2


def _write(result: "Answer", confirmed: dict[str, Any] | None, out: Path) -> None:
    from ..fit.answer import as_json

    files.write(out / "fit.json", json.dumps(as_json(result, confirmed), indent=1) + "\n")
