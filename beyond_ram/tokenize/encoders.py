"""The stacks that encode: the one whose ids count, and the fast one whose interpreter runs."""

import os
import re
from pathlib import Path

from ..shipped import CHECKOUT, FILES, IN_CHECKOUT

FAST, NAMED = "encoder", "encoder-0.23"
"""The stack whose release is the fastest, and the one whose ids are given by default: transformers requires it."""
STORES = "stores"
"""The stack whose interpreter reads from object stores; apart, because files of a disk do without its packages."""
ENGINE = Path(__file__).parent / "engine"


def lock(stack: str) -> Path:
    """The lock of a stack. Raises ValueError."""
    file = FILES / "envs" / f"{stack}.txt"
    if file.is_file():
        return file
    raise ValueError(f"there is no stack {stack!r}; `beyond-ram stack add` makes one")


def place(stack: str) -> Path:
    """The folder of a stack's environment: in the checkout, or in the user's cache."""
    if IN_CHECKOUT:
        return CHECKOUT / ".stacks" / stack
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "beyond-ram" / "stacks" / stack


def stacks(chosen: str | None) -> tuple[str, ...]:
    """The stacks that encode by default, or the chosen one."""
    return (chosen,) if chosen else (FAST, NAMED)


def interpreter(stack: str) -> Path:
    """The interpreter of a stack. Builds its environment if it is missing or of another lock.

    Raises ValueError for an unknown stack, StackError if it cannot be built.
    """
    from ..stacks.venv import build

    lock_file, folder = lock(stack), place(stack)
    build(lock_file, folder)
    return folder / "bin" / "python"


def packages(stack: str) -> Path:
    """The folder of a stack's packages; `interpreter` explains the rest."""
    (folder,) = interpreter(stack).parent.parent.glob("lib/python3.*/site-packages")
    return folder


def release(stack: str) -> str:
    """The release of tokenizers in a stack's lock. Raises ValueError."""
    locked = re.search(r"(?m)^tokenizers==([^\s;\\]+)", lock(stack).read_text(encoding="utf-8"))
    if not locked:
        raise ValueError(f"stack {stack} has no tokenizers")
    return locked[1]


def of_release(wanted: str) -> str:
    """The stack with a release of tokenizers, given in full or by its beginning. Raises ValueError."""
    releases = {stack: release(stack) for stack in (FAST, NAMED)}
    for stack, version in releases.items():
        if version == wanted or version.startswith(f"{wanted}."):
            return stack
    raise ValueError(
        f"--tokenizers {wanted}: the releases are {' and '.join(releases.values())}; another one needs a stack: "
        f"`beyond-ram stack add NAME tokenizers=={wanted} pyarrow numpy xxhash pysimdjson`, then `--stack NAME`"
    )
