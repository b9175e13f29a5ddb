"""The project folder of the commands, wherever they are called, and the renewal of a lock in it."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from ..shipped import CHECKOUT, IN_CHECKOUT


def project() -> Path:
    """The folder of the project. Raises ValueError if beyond-ram does not run from a checkout."""
    if not IN_CHECKOUT:
        raise ValueError("this needs the workflow, which is in a checkout of beyond-ram: call it there, by `uv run`")
    return CHECKOUT


def renew(folder: Path, name: str, packages: Sequence[str]) -> None:
    """Upgrade some packages of a lock of a project, or all, and print what changed. Raises StackError."""
    from ..stacks.locks import BEFORE, between, upgrade

    with contextlib.chdir(folder):
        if not upgrade(name, packages):
            print(f"envs/{name}.txt is as new as it can be; nothing changed", file=sys.stderr)
            return
        differing = between(f"{name}{BEFORE}", name, Path())
    print("\n".join(map(str, differing)) or "no version, only hashes of files")
    print(f"envs/{name}.txt is renewed, and stack {name}{BEFORE} has the lock before; the next snakemake runs both")
