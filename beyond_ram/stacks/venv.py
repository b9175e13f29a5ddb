"""Environments of stacks: one virtual environment each, with exactly the locked packages."""

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import mask_secrets
from ..files import locked, write
from ..folders import check, fresh, remove
from . import bytecode, torch
from .locks import PYTHON, StackError, text_of, uv
from .variants import reason

MARKER = "beyond-ram.lock"


def is_built(lock: Path, folder: Path) -> bool:
    """Whether a folder has the complete environment of this lock."""
    try:
        return (folder / MARKER).read_bytes() == lock.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False


def build(lock: Path, folder: Path) -> None:
    """Build and compile the environment of a lock if it is missing.

    The marker, a copy of the lock, is written last. One process builds at a time; others wait for it. An impossible
    variant gets only the marker. Raises StackError with uv's reason; then nothing is left of the environment. Raises
    ForeignFolderError if a folder exists there that was not made here.
    """
    if is_built(lock, folder):
        return
    text_of(lock)
    if not (folder / MARKER).is_file():
        check(folder)  # a failed build leaves nothing, not even a lock file
    with _alone(folder) as turn:
        if not is_built(lock, folder):
            _build(lock, folder, turn)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[int]:
    """Wait for other builders of a folder, and for the uv of a killed builder. Returns the descriptor of the lock."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    turn = os.open(folder.parent / f".{folder.name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        if locked(turn) is False:  # a file system without locks locks nothing for others either
            print(f"{folder}: another process builds it; waiting for that", file=sys.stderr, flush=True)
            fcntl.flock(turn, fcntl.LOCK_EX)
        yield turn
    finally:
        os.close(turn)


def _build(lock: Path, folder: Path, turn: int) -> None:
    infeasible = reason(lock)
    (folder / MARKER).unlink(missing_ok=True)  # first, so that an interrupted removal leaves no marker
    fresh(folder)
    try:
        if not infeasible:
            _install(lock, folder, turn)
    except BaseException:
        remove(folder)
        raise
    write(folder / MARKER, lock.read_bytes())


# The lock has all versions. A project in the current folder may limit upload times for its own lock.
ANY_TIME = "--exclude-newer=false"


def _install(lock: Path, folder: Path, turn: int) -> None:
    _uv("venv", "--quiet", "--allow-existing", f"--python={PYTHON}", str(folder), lock=lock, turn=turn)
    python = folder / "bin" / "python"
    hashed, bare = torch.split(text_of(lock))
    requirements = folder / "requirements.txt"
    write(requirements, hashed)
    how = ("--quiet", "--require-hashes", "--allow-empty-requirements", f"--python={python}")
    sync = ("pip", "sync", *how, ANY_TIME, str(requirements))
    try:
        # The hashes identify the packages, so cached ones can be used without asking the index.
        _uv(*sync, "--offline", lock=lock, turn=turn)
    except StackError:
        _uv(*sync, lock=lock, turn=turn)
    if bare:
        # Stacks that download torch at the same time would each store it in uv's cache, several gigabytes, and share no
        # pages of it in memory.
        with _alone(folder.parent / "torch"):
            _install_torch(bare, python, lock, turn)
    # Otherwise the first run compiles its imports, or every run does if PYTHONDONTWRITEBYTECODE is set.
    bytecode.compile_all(folder, turn)


def _install_torch(requirement: str, python: Path, lock: Path, turn: int) -> None:
    """Install torch from the first source that has it. If no source answers, use the cached build."""
    installing = ("pip", "install", "--quiet", f"--python={python}", ANY_TIME, requirement)
    reasons = []
    for options in [*torch.sources(), ["--offline"]]:
        try:
            return _uv(*installing, *options, lock=lock, turn=turn)
        except StackError as error:
            reasons.append(error)
    raise reasons[-2]  # an error of the index, not of the cache


def _uv(*arguments: str, lock: Path, turn: int) -> None:
    done = subprocess.run([uv(), *arguments], capture_output=True, text=True, check=False, pass_fds=(turn,))
    if done.returncode:
        raise StackError(f"{lock}: its environment cannot be built\n{mask_secrets.in_text(done.stderr.strip())}")
