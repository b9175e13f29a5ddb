"""`beyond-ram stack`: make, renew and build the locked environments of workloads."""

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from ..shipped import FILES
from .options import add_json_to
from .project import project

KEEP = 10


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("stack", help="add, upgrade, pin or compare stacks of pinned versions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    adding = actions.add_parser("add", help="add a stack from requirements, and lock it")
    adding.add_argument("name")
    adding.add_argument("requirements", nargs="+", metavar="REQ")
    adding.add_argument("--pre", action="store_true", help="allow prereleases, now and in every upgrade")
    adding.set_defaults(run=_add)

    upgrading = actions.add_parser("upgrade", help="renew a lock, and keep the results of the old one")
    upgrading.add_argument("name")
    upgrading.add_argument("what", nargs="*", metavar="PACKAGE", help="only these (default: all)")
    _of_results(upgrading)
    upgrading.set_defaults(run=_renew, by="upgrade")

    pinning = actions.add_parser("pin", help="set the version of one package; nothing else moves if it can stay")
    pinning.add_argument("name")
    pinning.add_argument("what", metavar="PACKAGE==VERSION")
    _of_results(pinning)
    pinning.set_defaults(run=_renew, by="pin")

    comparing = actions.add_parser("diff", help="list the differences between two stacks")
    comparing.add_argument("before", metavar="A", help="NAME, a kept NAME@LOCK, or BASE+PACKAGE-VERSION")
    comparing.add_argument("after", metavar="B")
    comparing.add_argument(
        "--results", type=Path, default=Path("results"), help="results folder with kept locks (default: results)"
    )
    add_json_to(comparing)
    comparing.set_defaults(run=_diff)

    pruning = actions.add_parser("prune", help="remove kept results of all but the last locks of each stack")
    pruning.add_argument("name", nargs="?", help="only this stack (default: all)")
    pruning.add_argument("--keep", type=_count, default=KEEP, metavar="K", help=f"locks to keep (default: {KEEP})")
    pruning.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    pruning.set_defaults(run=_prune)

    varying = actions.add_parser("vary", help="lock BASE+PACKAGE-VERSION, with one package changed (called by rules)")
    varying.add_argument("name")
    varying.add_argument("lock", type=Path)
    varying.set_defaults(run=_vary)

    listing = actions.add_parser("releases", help="list the releases of a package, oldest first, as JSON")
    listing.add_argument("package")
    listing.add_argument("prereleases", nargs="*", metavar="VERSION", help="prereleases to list too")
    listing.set_defaults(run=_releases)

    building = actions.add_parser("build", help="build the environment of a lock (called by rules)")
    building.add_argument("lock", type=Path)
    building.add_argument("folder", type=Path)
    building.set_defaults(run=_build)


def _of_results(parser: argparse.ArgumentParser) -> None:
    """Add the options for the results folders with runs of the old lock."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--results",
        type=Path,
        action="append",
        metavar="DIR",
        help="results folder with runs of the old lock; repeatable (default: results)",
    )
    where.add_argument("--no-results", action="store_true", help="there are none to keep")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of locks, such as 10")
    return int(text)


def _add(arguments: argparse.Namespace) -> int:
    from ..stacks.locks import add

    with contextlib.chdir(project()):
        add(arguments.name, arguments.requirements, prereleases=arguments.pre)
    print(f"envs/{arguments.name}.txt is locked; name {arguments.name!r} under `stack` in a matrix to measure it")
    return 0


def _renew(arguments: argparse.Namespace) -> int:
    from ..stacks.locks import pin, upgrade

    folders = [] if arguments.no_results else arguments.results or [Path("results")]
    change = {"pin": pin, "upgrade": upgrade}[arguments.by]
    renew(arguments.name, lambda: change(arguments.name, arguments.what), folders)
    return 0


def renew(name: str, change: Callable[[], bool], folders: Sequence[Path]) -> str | None:
    """Change a lock, print what changed, and keep the runs of the old lock in results folders.

    Returns the name of the kept runs; None if nothing changed, or without a folder. An invalid results folder is
    refused before the lock changes.
    """
    from ..experiment import kept
    from ..stacks.differences import MOST_NAMED, before_in_short, differences, requested
    from ..stacks.locks import lock_of, text_of

    with contextlib.chdir(project()):
        lock = lock_of(name)
        old = lock.read_bytes()
        before = text_of(lock)
        source = lock.with_suffix(".in")
        asked = requested(text_of(source)) if source.is_file() else []
    for folder in folders:
        kept.check(folder, name, old)
    with contextlib.chdir(project()):
        changed = change()
        new = lock.read_bytes()
    if not changed:
        print(f"{lock} is as new as it can be; nothing changed", file=sys.stderr)
        return None
    differing = differences(before, new.decode(), asked)
    named = [one for one in differing if one.package in asked] or differing[:MOST_NAMED]
    print("\n".join(map(str, named)) if differing else "no version, only hashes of files")
    if others := len(differing) - len(named):
        print(f"{others} other package{'' if others == 1 else 's'} moved with it")
    print(f"{lock} is renewed; the next snakemake runs its cells")
    kept_name = None
    for folder in folders:
        kept_name, runs = kept.keep(folder, name, old, before_in_short(differing, asked))
        print(f"{len(runs)} runs of the old lock are kept in {folder}, as stack {kept_name}")
    return kept_name


def _diff(arguments: argparse.Namespace) -> int:
    from ..experiment.kept import LOCKS
    from ..stacks.locks import between
    from ..stacks.variants import is_variant, reason
    from ..text import in_columns

    differing = between(arguments.before, arguments.after, FILES, arguments.results / LOCKS)
    for name in filter(is_variant, (arguments.before, arguments.after)):
        if infeasible := reason(FILES / ".stacks/locks" / f"{name}.txt"):
            raise ValueError(f"{name} cannot be: {infeasible}")
    arguments.document = {"packages": [asdict(one) for one in differing]}
    lines = [("package", arguments.before, arguments.after)] if differing else []
    lines += [(one.package, one.before or "none", one.after or "none") for one in differing]
    for line in in_columns(lines, left=3):
        print(line)
    print(f"{len(differing)} packages differ, all others are the same")
    return 0


def _prune(arguments: argparse.Namespace) -> int:
    from ..experiment import kept

    removed = kept.prune(arguments.results, arguments.keep, arguments.name)
    for name, runs in removed.items():
        print(f"{name}: {runs} runs and the lock are removed")
    of = arguments.name or "each stack"
    print(f"of {of} the {arguments.keep} locks that were kept last stay" + ("" if removed else ": nothing to remove"))
    return 0


def _vary(arguments: argparse.Namespace) -> int:
    from ..stacks.variants import moved, reason, vary

    vary(arguments.name, Path("envs"), arguments.lock)
    if infeasible := reason(arguments.lock):
        print(f"{arguments.name} cannot be: {infeasible}", file=sys.stderr)
    if other := moved(arguments.lock):
        print(f"{arguments.name}: moved too: {other}", file=sys.stderr)
    return 0


def _releases(arguments: argparse.Namespace) -> int:
    import json

    from ..stacks.variants import releases

    print(json.dumps(releases(arguments.package, arguments.prereleases)))
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from ..stacks.venv import build

    build(arguments.lock, arguments.folder)
    return 0
