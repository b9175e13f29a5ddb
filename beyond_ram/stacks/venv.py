"""Environments of stacks: one virtual environment each, exactly the lock."""

import os
import shutil
import subprocess
from pathlib import Path

from ..files import whole
from ..folders import fresh, mark, remove
from . import torch
from .locks import PYTHON, StackError
from .variants import reason

MARKER = "beyond-ram.lock"
# Else a first run compiles all that it imports, and each does where PYTHONDONTWRITEBYTECODE is set.
_COMPILED = "--compile-bytecode"


def build(lock: Path, folder: Path) -> None:
    """Build the environment of a lock, compiled. The marker, a copy of the lock inside the folder, comes last.

    Of the lock of a variant that cannot be there is only the marker. Raises StackError with uv's reason; nothing is
    left of an environment that fails. A folder that stands there must have been made here: ForeignFolderError else.
    """
    if (folder / MARKER).is_file():
        mark(folder)
    fresh(folder)
    if reason(lock):
        shutil.copyfile(lock, folder / MARKER)
        return
    try:
        _uv("venv", "--quiet", "--allow-existing", f"--python={PYTHON}", str(folder), lock=lock)
        python = folder / "bin" / "python"
        hashed, bare = torch.split(lock.read_text(encoding="utf-8"))
        requirements = folder / "requirements.txt"
        requirements.write_text(hashed, encoding="utf-8")
        sync = ("pip", "sync", "--quiet", "--require-hashes", _COMPILED, f"--python={python}")
        _uv(*sync, str(requirements), lock=lock)
        if bare:
            _install_torch(bare, python, lock)
    except BaseException:
        remove(folder)
        raise
    with whole(folder / MARKER) as partial:
        shutil.copyfile(lock, partial)


def _install_torch(requirement: str, python: Path, lock: Path) -> None:
    places = list(torch.sources())
    for number, options in enumerate(places, start=1):
        try:
            _uv("pip", "install", "--quiet", _COMPILED, f"--python={python}", *options, requirement, lock=lock)
        except StackError:
            if number == len(places):
                raise
        else:
            return


def _uv(*arguments: str, lock: Path) -> None:
    # Bytecode belongs into the environment, which others use too.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(["uv", *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f"{lock}: its environment cannot be built\n{done.stderr.strip()}")
