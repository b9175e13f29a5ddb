"""`beyond-ram stack`: make, renew and build the locked environments of workloads."""

import argparse
import contextlib
from pathlib import Path

from .project import project, renew


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("stack", help="add, upgrade or build stacks of pinned versions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    adding = actions.add_parser("add", help="add a stack from requirements, and lock it")
    adding.add_argument("name")
    adding.add_argument("requirements", nargs="+", metavar="REQ")
    adding.add_argument("--pre", action="store_true", help="allow prereleases, now and in every upgrade")
    adding.set_defaults(run=_add)

    upgrading = actions.add_parser("upgrade", help="renew a lock; the one before stays as stack NAME-before")
    upgrading.add_argument("name")
    upgrading.add_argument("packages", nargs="*", metavar="PACKAGE", help="only these (default: all)")
    upgrading.set_defaults(run=_renew)

    listing = actions.add_parser("releases", help="list the releases of a package, oldest first, as JSON")
    listing.add_argument("package")
    listing.add_argument("prereleases", nargs="*", metavar="VERSION", help="prereleases to list too")
    listing.set_defaults(run=_releases)

    building = actions.add_parser("build", help="build the environment of a lock (called by rules)")
    building.add_argument("lock", type=Path)
    building.add_argument("folder", type=Path)
    building.set_defaults(run=_build)


def _add(arguments: argparse.Namespace) -> int:
    from ..stacks.locks import add

    with contextlib.chdir(project()):
        add(arguments.name, arguments.requirements, prereleases=arguments.pre)
    print(f"envs/{arguments.name}.txt is locked; name {arguments.name!r} under `stack` in a matrix to measure it")
    return 0


def _renew(arguments: argparse.Namespace) -> int:
    renew(project(), arguments.name, arguments.packages)
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
