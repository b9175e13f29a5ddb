"""`beyond-ram stack`: make, renew and build the locked environments that workloads run in."""

import argparse
import contextlib
import sys
from pathlib import Path

from .project import project


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("stack", help="make, renew or build a stack of pinned versions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    adding = actions.add_parser("add", help="make a stack from requirements and lock it")
    adding.add_argument("name")
    adding.add_argument("requirements", nargs="+", metavar="REQ")
    adding.set_defaults(run=_add)

    upgrading = actions.add_parser("upgrade", help="renew a lock, keeping the results of the old one beside the new")
    upgrading.add_argument("name")
    upgrading.add_argument("packages", nargs="*", metavar="PACKAGE", help="only these (default: all)")
    upgrading.add_argument("--results", type=Path, default=Path("results"), help="results folder (default: results)")
    upgrading.set_defaults(run=_upgrade)

    varying = actions.add_parser("vary", help="lock BASE+PACKAGE-VERSION: one package changed (what the rules call)")
    varying.add_argument("name")
    varying.add_argument("lock", type=Path)
    varying.set_defaults(run=_vary)

    listing = actions.add_parser("releases", help="list the releases of a package, oldest first, as JSON")
    listing.add_argument("package")
    listing.set_defaults(run=_releases)

    building = actions.add_parser("build", help="build the environment of a lock (what the rules call)")
    building.add_argument("lock", type=Path)
    building.add_argument("folder", type=Path)
    building.set_defaults(run=_build)


def _add(arguments: argparse.Namespace) -> int:
    from ..stacks import add

    with contextlib.chdir(project()):
        add(arguments.name, arguments.requirements)
    print(f"envs/{arguments.name}.txt is locked; name {arguments.name!r} under `stack` in a matrix to weigh it")
    return 0


def _upgrade(arguments: argparse.Namespace) -> int:
    from ..experiment import kept
    from ..stacks import lock_sha256, upgrade
    from ..stacks.locks import ENVS

    kept.read(arguments.results)  # a kept.json that is no map is refused before the lock changes
    with contextlib.chdir(project()):
        before = lock_sha256(arguments.name)
        lock = Path(ENVS, f"{arguments.name}.txt").read_bytes()
        renewed = upgrade(arguments.name, arguments.packages)
    if not renewed:
        print(f"envs/{arguments.name}.txt is as new as it can be; nothing changed", file=sys.stderr)
        return 0
    moved = kept.keep(arguments.results, arguments.name, lock)
    print(f"envs/{arguments.name}.txt is renewed; the next snakemake runs its cells")
    print(f"{len(moved)} runs of the old lock are kept beside them, as stack {arguments.name}@{before[:8]}")
    return 0


def _vary(arguments: argparse.Namespace) -> int:
    from ..stacks import moved, reason, vary

    vary(arguments.name, Path("envs"), arguments.lock)
    if said := reason(arguments.lock):
        print(f"{arguments.name} cannot be: {said}", file=sys.stderr)
    if other := moved(arguments.lock):
        print(f"{arguments.name}: moved too: {other}", file=sys.stderr)
    return 0


def _releases(arguments: argparse.Namespace) -> int:
    import json

    from ..stacks import releases

    print(json.dumps(releases(arguments.package)))
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from ..stacks import build

    build(arguments.lock, arguments.folder)
    return 0
