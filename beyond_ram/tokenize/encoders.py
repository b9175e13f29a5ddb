"""The stacks that encode, newest first, and the choice of one for a tokenizer."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..shipped import CHECKOUT, FILES, IN_CHECKOUT
from ..text import last_line

STACKS = ("encoder", "encoder-0.23")
ENGINE = Path(__file__).parent / "engine"


@dataclass(frozen=True)
class Encoder:
    """A stack that can encode with a tokenizer.

    `version`: the release of tokenizers; `why`: the reason against earlier stacks of STACKS, or ""; `cuts`: whether
    large documents may be cut; `cuts_why`: the reason for that; `need_per_byte`: maximum bytes of memory to encode a
    whole document, per byte of its text.
    """

    stack: str
    python: Path
    version: str
    why: str
    cuts: bool
    cuts_why: str
    need_per_byte: int


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


def interpreter(stack: str) -> Path:
    """The interpreter of a stack. Builds its environment if it is missing or of another lock.

    Raises ValueError for an unknown stack, StackError if it cannot be built.
    """
    from ..stacks.venv import build

    lock_file, folder = lock(stack), place(stack)
    build(lock_file, folder)
    return folder / "bin" / "python"


def release(stack: str) -> str:
    """The release of tokenizers in a stack's lock. Raises ValueError."""
    locked = re.search(r"(?m)^tokenizers==([^\s;\\]+)", lock(stack).read_text(encoding="utf-8"))
    if not locked:
        raise ValueError(f"stack {stack} has no tokenizers")
    return locked[1]


def of_release(wanted: str) -> str:
    """The first of STACKS with a release of tokenizers, given in full or by its beginning. Raises ValueError."""
    releases = {stack: release(stack) for stack in STACKS}
    for stack, version in releases.items():
        if version == wanted or version.startswith(f"{wanted}."):
            return stack
    raise ValueError(
        f"--tokenizers {wanted}: the releases are {' and '.join(releases.values())}; another one needs a stack: "
        f"`beyond-ram stack add NAME tokenizers=={wanted} pyarrow numpy xxhash pysimdjson`, then `--stack NAME`"
    )


def choose(tokenizer: Path, stacks: tuple[str, ...] = STACKS) -> Encoder:
    """The first stack whose tokenizers loads a tokenizer.json and encodes with it.

    Raises ValueError, in one line, if the file is not a tokenizer or no stack can use it.
    """
    reasons = []
    for stack in stacks:
        python = interpreter(stack)
        result = subprocess.run(
            [str(python), str(ENGINE / "probe.py"), str(tokenizer)], capture_output=True, text=True, check=False
        )
        try:
            answer = json.loads(result.stdout)
        except ValueError:  # the probe was killed, or is broken
            last = last_line(result.stderr, f"ended with {result.returncode}")
            answer = {"cannot": f"stack {stack} failed with {tokenizer}: {last}"}
        if "refused" in answer:
            raise ValueError(answer["refused"])
        if "cannot" in answer:
            reasons.append(answer["cannot"])
            continue
        why = "; ".join(reasons)
        return Encoder(
            stack, python, answer["version"], why, answer["cuts"], answer["why"], need_per_byte=answer["need_per_byte"]
        )
    raise ValueError("; ".join(reasons))
