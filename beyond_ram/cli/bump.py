"""`beyond-ram bump`: upgrade a stack, run its cells with both locks, and compare them."""

import argparse
import subprocess
import sys
from pathlib import Path

from .project import project, renew


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "bump",
        help="upgrade a stack, run its cells with both locks, and say what got worse",
        description="Renews the lock of a stack, runs the workflow with the lock before and the new one, and compares "
        "them. Exit status 0: nothing worse, 1: worse, 2: memory, work or failures are undecided, or it could not run. "
        "After a failure the same command goes on.",
    )
    parser.add_argument("stack", nargs="?", default="current", metavar="STACK", help="(default: current)")
    parser.add_argument("--package", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    parser.add_argument("--configfile", nargs="+", type=Path, default=[], help="the config of these results")
    parser.add_argument(
        "--target", action="append", default=[], help="of the workflow, as `load` (default: everything)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit with 1 if something got worse, 2 if undecided. Raises ValueError where nothing can be compared."""
    from ..report.changes import compare
    from ..stacks.locks import BEFORE, ENVS, lock_of

    name, envs = arguments.stack, project() / ENVS
    lock_of(name, envs)
    _run_workflow(arguments, "--dry-run", "--quiet", "all")  # a mistyped config or target must not renew the lock
    renew(project(), name, arguments.package)
    if not (envs / f"{name}{BEFORE}.txt").is_file():
        print(f"{name} has no newer release, and no earlier lock to compare with")
        return 0
    _run_workflow(arguments)
    compared = compare(f"{name}{BEFORE}", name, arguments.results)
    print("\n".join(compared.text()))
    return compared.status


def _run_workflow(arguments: argparse.Namespace, *options: str) -> None:
    """Run the workflow; its progress goes to the terminal. Raises RuntimeError."""
    files = ["--configfile", *map(str, arguments.configfile)] if arguments.configfile else []
    done = subprocess.run([sys.executable, "-m", "beyond_ram", "run", *arguments.target, *files, *options], check=False)
    if done.returncode:
        raise RuntimeError("the workflow failed, see above; run the same command again to continue")
