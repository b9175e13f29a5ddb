"""Programs that a command starts: whose PATH finds them, and why one does not start."""

import errno
import os
import re
import shlex
import sys
from pathlib import Path

from ..shipped import CHECKOUT


def no_start(word: str, number: int | None = None, call: str = "beyond-ram watch --") -> str:
    """Why a command does not start, by the number of the system's error if it was tried, and what to type instead."""
    from ..text import did_you_mean

    path = Path(word)
    if number not in (None, errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC):  # nothing to type for these
        return f"{word} cannot be started: {os.strerror(number)}"
    if " " in word and not path.exists():
        shell = re.search(r"[|<>&;$*]", word)
        return f"{word!r} is one word: {call} {f'sh -c {shlex.quote(word)}' if shell else word}"
    if path.is_dir():
        return f"{word} is a folder, no command: {call} COMMAND…"
    if path.is_file():
        for ending, interpreter in ((".py", "python"), (".sh", "bash")):
            if path.suffix == ending:
                return f"{word} is a script, which needs its interpreter: {call} {interpreter} {word}"
        if number == errno.ENOEXEC:
            return f"{word} is in no format that this machine runs; a script begins with #! and its interpreter"
        if os.access(path, os.X_OK):
            return (
                f"{word} is not on PATH: {call} ./{word}"
                if os.sep not in word
                else f"{word} cannot be run: its first line may name an interpreter that is not here"
            )
        return f"{word} is not executable: name the program that reads it, or, if it is one, chmod +x {word}"
    if os.sep in word:
        return f"{word}: there is no such file"
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    programs = [path.name for folder in folders for path in Path(folder).glob("*")]
    return f"{word}: no such command on PATH{did_you_mean(word, programs)}"


def remove_own_path() -> None:
    """Remove our environment from PATH, where `uvx` or `uv run --project CHECKOUT` put it before the caller's programs.

    Not within the checkout, and not if beyond-ram is installed in the caller's own environment.
    """
    own, path = Path(sys.prefix), os.environ.get("PATH", "")
    first, _, rest = path.partition(os.pathsep)
    outside = own.parent == CHECKOUT and not Path.cwd().is_relative_to(CHECKOUT)
    by_uv_run = "UV_RUN_RECURSION_DEPTH" in os.environ and outside
    by_uvx = own.parent.name.startswith("archive-v") or (own / "uv-receipt.toml").exists()  # in uv's cache, or a tool
    if (by_uv_run or by_uvx) and rest and first == str(own / "bin"):
        os.environ["PATH"] = rest
        if os.environ.get("VIRTUAL_ENV") == sys.prefix:
            del os.environ["VIRTUAL_ENV"]
