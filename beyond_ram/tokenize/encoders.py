"""The stacks that encode, newest first, and which of them takes a tokenizer."""

import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..files import whole

STACKS = ("encoder", "encoder-0.23")
ENGINE = Path(__file__).parent / "engine"
_PROJECT = Path(__file__).resolve().parents[2]
_INSTALLED = Path(__file__).parent / "envs"


@dataclass(frozen=True)
class Encoder:
    """A stack that takes a tokenizer.

    `version` of tokenizers; `why` not the first of STACKS, or ""; `cuts`: whether large documents may be cut, and
    `cuts_why` the reason for either. `exact`: the `python` and `version` of the last of STACKS, whose ids are meant,
    and ranges of code points, `codes`, with which this one gives others; None where it is not asked, for `exact_why`.
    """

    stack: str
    python: Path
    version: str
    why: str
    cuts: bool
    cuts_why: str
    exact: dict[str, Any] | None = None
    exact_why: str = ""


def lock(stack: str) -> Path:
    """The lock of a stack: the checkout's, or the one that an installed package carries. Raises ValueError."""
    for folder in (_PROJECT / "envs", _INSTALLED):
        if (folder / f"{stack}.txt").is_file():
            return folder / f"{stack}.txt"
    raise ValueError(f"there is no stack {stack!r}; `beyond-ram stack add` makes one")


def place(stack: str) -> Path:
    """Where the environment of a stack is: with those of the checkout, or in the user's cache."""
    if (_PROJECT / "Snakefile").is_file():
        return _PROJECT / ".stacks" / stack
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "beyond-ram" / "stacks" / stack


def interpreter(stack: str) -> Path:
    """The interpreter of a stack; its environment is built where it is missing or of another lock.

    Raises ValueError for a stack that is not there, StackError where it cannot be built.
    """
    from ..stacks.venv import build

    wanted, folder = lock(stack), place(stack)
    build(wanted, folder)
    return folder / "bin" / "python"


def choose(tokenizer: Path, stacks: tuple[str, ...] = STACKS) -> Encoder:
    """The first stack whose tokenizers loads a tokenizer.json and encodes with it.

    Raises ValueError, in one line, where the file is none, or no stack takes it.
    """
    said = []
    for stack in stacks:
        python = interpreter(stack)
        done = subprocess.run(
            [str(python), str(ENGINE / "probe.py"), str(tokenizer)], capture_output=True, text=True, check=False
        )
        try:
            found = json.loads(done.stdout)
        except ValueError:  # it was killed, or is broken
            last = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
            found = {"cannot": f"stack {stack} failed with {tokenizer}: {last[-1]}"}
        if "refused" in found:
            raise ValueError(found["refused"])
        if "cannot" in found:
            said.append(found["cannot"])
            continue
        chosen = Encoder(stack, python, found["version"], "; ".join(said), found["cuts"], found["why"])
        return chosen if stack == stacks[-1] else _exactly(chosen, tokenizer, stacks[-1])
    raise ValueError("; ".join(said))


def _exactly(chosen: Encoder, tokenizer: Path, meant: str) -> Encoder:
    """The encoder, with the code points for which the stack that is meant has to be asked."""
    from ..stacks.locks import StackError

    try:
        python = interpreter(meant)
    except StackError as error:
        raise ValueError(
            f"the ids are to be those of stack {meant}, and it cannot be built: {str(error).splitlines()[0]}; "
            f"`--stack {chosen.stack}` encodes without it"
        ) from None
    found = _differing(chosen, tokenizer, meant, python)
    if "cannot" in found:
        return replace(chosen, exact_why=found["cannot"])
    return replace(chosen, exact={"python": str(python), "version": found["version"], "codes": found["codes"]})


def _differing(chosen: Encoder, tokenizer: Path, meant: str, python: Path) -> dict[str, Any]:
    """What differ.py says of two stacks and a tokenizer: asked once, then kept in the user's cache."""
    program = ENGINE / "differ.py"
    digest = hashlib.sha256()
    for part in (tokenizer, program, lock(chosen.stack), lock(meant)):
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "beyond-ram" / "differ"
    kept = cache / f"{digest.hexdigest()}.json"
    try:
        known: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        if known.keys() == {"version", "codes"}:
            return known
    except (OSError, ValueError, AttributeError):
        pass
    command = [str(chosen.python), str(program), str(tokenizer), str(python)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise ValueError(
            f"stacks {chosen.stack} and {meant} could not be compared over {tokenizer}: {last[-1]}"
        ) from None
    if "codes" in found:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with whole(kept) as partial:
                partial.write_text(done.stdout, encoding="utf-8")
        except OSError:
            pass  # asked again the next time
    return found
