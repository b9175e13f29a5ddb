"""`beyond-ram fit`: which settings of a program fit into a memory budget, and which of these is fastest."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files
from .watch import size as memory_size

if TYPE_CHECKING:
    from ..fit.answer import Answer

MINUTES = 10.0


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "fit",
        help="which settings of a program fit into a memory budget",
        description="Runs a program a few times with small input, and predicts the memory that each setting keeps at "
        "full size. Exit status 0: a setting fits, 1: none, 2: cannot say.",
        usage="beyond-ram fit --budget SIZE [--vary NAME=V,V…]… [--grow NAME=A..B] [--minutes M] [--largest N]\n"
        "                      [--confirm] [--out DIR] -- COMMAND with {NAME}",
    )
    parser.add_argument("--budget", type=memory_size, required=True, metavar="SIZE", help="what there is, as 64G")
    parser.add_argument(
        "--vary", action="append", default=[], metavar="NAME=V,V", help="a setting and its values, as workers=0,2,4"
    )
    parser.add_argument(
        "--grow", action="append", default=[], metavar="NAME=A..B",
        help="the size of the input: small runs begin at A, the answer is for B, as rows=100k..50M",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=_minutes, default=MINUTES, metavar="M", help=f"for all small runs (default: {MINUTES:g})"
    )
    parser.add_argument("--largest", metavar="N", help="no small run has a larger size (default: what the time allows)")
    parser.add_argument(
        "--confirm", action="store_true", help="run the best setting at full size, under a limit of what is requested"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results-fit"), metavar="DIR",
        help="fit.json and all runs, which a later call uses again (default: results-fit)",
    )  # fmt: skip
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command, after --")
    parser.set_defaults(run=run)


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def run(arguments: argparse.Namespace) -> int:
    """The exit status: 1 where no setting fits, 2 where that cannot be said."""
    from ..fit import answer, factors
    from ..folders import check, mark

    plan = factors.plan(arguments.command, arguments.vary, arguments.grow)
    largest = factors.number(arguments.largest, "--largest") if arguments.largest else None
    if not arguments.budget:
        raise ValueError("--budget 0: every program needs more than that")
    if largest and (not plan.growth or largest < 2 * plan.growth.first):
        raise ValueError("--largest: at least twice the first size of --grow")
    out = arguments.out.absolute()
    check(out)
    out.mkdir(parents=True, exist_ok=True)
    mark(out)
    tell = _progress()
    found = answer.answer(plan, arguments.budget, 60 * arguments.minutes, out, largest, tell)
    tell("")
    print("\n".join(answer.text(found)), flush=True)
    _write(found, None, out)
    if not arguments.confirm or not found.best:
        return found.status
    return _confirm(found, out, tell)


def _confirm(found: "Answer", out: Path, tell: Callable[[str], None]) -> int:
    """Run the best setting at full size under a limit of what is requested for it."""
    from ..fit.design import Point
    from ..fit.runs import Runs

    assert found.best and found.best.ask_bytes and found.best.memory
    limit = found.best.ask_bytes
    run = Runs(found.plan, out, tell).limited(Point(found.best.setting, found.target), limit)
    tell("")
    done = run.outcome == "completed"
    _write(found, {"outcome": run.outcome, "limit_bytes": limit, "kept_bytes": run.kept_bytes}, out)
    kept = f"kept {run.kept_bytes / 1e6:,.0f} MB of {limit / 1e6:,.0f} MB in {run.seconds:,.1f} s"
    print(
        f"confirmed: completed under this limit, {kept}" if done else f"not confirmed: killed at {limit / 1e6:,.0f} MB"
    )
    return 0 if done else 2


def _write(found: "Answer", confirmed: dict[str, Any] | None, out: Path) -> None:
    from ..fit.answer import as_json

    files.write(out / "fit.json", json.dumps(as_json(found, confirmed), indent=1) + "\n")


def _progress() -> Callable[[str], None]:
    """Tells on one line of a terminal, or on a line each where there is none."""

    def tell(line: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif line:
            print(line, file=sys.stderr, flush=True)

    return tell
