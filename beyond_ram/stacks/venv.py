"""Environments of stacks: one virtual environment each, exactly the lock."""

import shutil
import subprocess
from pathlib import Path

from .locks import PYTHON, StackError
from .variants import reason

MARKER = "beyond-ram.lock"


def build(lock: Path, folder: Path) -> None:
    """Build the environment of a lock. The marker, a copy of the lock inside the folder, comes last.

    Of the lock of a variant that cannot be there is only the marker. Raises StackError with uv's reason; nothing is
    left of an environment that fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if reason(lock):
        folder.mkdir(parents=True)
        shutil.copyfile(lock, folder / MARKER)
        return
    try:
        _uv("venv", "--quiet", f"--python={PYTHON}", str(folder), lock=lock)
        python = folder / "bin" / "python"
        _uv("pip", "sync", "--quiet", "--require-hashes", f"--python={python}", str(lock), lock=lock)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    partial = folder / f".{MARKER}.partial"
    partial.write_bytes(lock.read_bytes())
    partial.replace(folder / MARKER)


def _uv(*arguments: str, lock: Path) -> None:
    done = subprocess.run(["uv", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f"{lock}: its environment cannot be built\n{done.stderr.strip()}")
