"""`beyond-ram bump`: a stack's upgrade, the runs of both locks, and what changed, in one command."""

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

from . import compare, stack
from .project import project


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "bump",
        help="upgrade a stack, run its cells again, and say what got worse",
        description="Renews the lock of a stack, runs the workflow, and compares the runs of both locks. Exit status "
        "0: nothing was shown to be worse, 1: something was, 2: it could not run. After a failure the "
        "same command goes on.",
    )
    parser.add_argument("stack", nargs="?", metavar="STACK", help="(default: the one that the results have runs of)")
    parser.add_argument("--package", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    parser.add_argument("--configfile", nargs="+", type=Path, default=[], help="the config of these results")
    parser.add_argument(
        "--target", action="append", default=[], help="of the workflow, as `load` (default: everything)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """The exit status: 1 where something got worse. Raises ValueError where nothing can be compared."""
    from ..experiment import kept
    from ..experiment.grammar import parse
    from ..stacks.locks import lock_of, upgrade

    name = arguments.stack or _only(arguments.results)
    with contextlib.chdir(project()):
        lock = lock_of(name).absolute()
    old = lock.read_bytes()
    _run_workflow(arguments, "--dry-run", "--quiet", "all")  # a mistyped config or target must not renew the lock
    earlier = list(dict.fromkeys(str(parse(path)["stack"]) for path in kept.read(arguments.results)))
    earlier = [one for one in earlier if one.partition("@")[0] == name]
    measured = next(kept.runs_of(arguments.results, name, old), None) is not None
    if not measured and not earlier:
        print(f"no run of {name} yet: its present lock is run first", file=sys.stderr)
        _run_workflow(arguments)
        measured = True
    baseline = earlier[-1] if earlier else None
    if measured:  # else an earlier call has renewed the lock, and its runs are missing
        baseline = stack.renew(name, lambda: upgrade(name, arguments.package), [arguments.results]) or baseline
    if baseline is None:
        print(f"{name} has no newer release, and no earlier lock to compare with")
        return 0
    _run_workflow(arguments)
    words = {"baseline": baseline, "candidate": name, "results": arguments.results, "out": None}
    return compare.run(argparse.Namespace(**words, other_machines=False))


def _only(results: Path) -> str:
    """The stack that a results folder has runs of. Raises ValueError where that is not one."""
    stacks = {path.name.partition("~")[2].partition("@")[0] for path in (results / "runs").glob("*/stack~*")}
    named = sorted(one for one in stacks if (project() / "envs" / f"{one}.in").is_file())
    if len(named) != 1:
        runs = f"it has runs of {', '.join(named)}" if named else "it has no runs"
        raise ValueError(f"which stack? {results}: {runs}; name one: beyond-ram bump STACK")
    return named[0]


def _run_workflow(arguments: argparse.Namespace, *options: str) -> None:
    """Run the workflow; its progress goes to the terminal. Raises RuntimeError."""
    files = ["--configfile", *map(str, arguments.configfile)] if arguments.configfile else []
    done = subprocess.run([sys.executable, "-m", "beyond_ram", "run", *arguments.target, *files, *options], check=False)
    if done.returncode:
        raise RuntimeError("the workflow failed, see above; run the same command again to continue")
