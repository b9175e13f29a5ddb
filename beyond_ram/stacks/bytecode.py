"""The bytecode of an environment: linked from another stack with the same file, else compiled.

Installers put a package into several environments as hard links to one file. So bytecode of one environment is valid
for the others: Python compares time and size of the source, and sets the file name when it imports. The packages' own
tests are left out, which are a fifth to a half of all bytes (docs/stacks.md).
"""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from .locks import PYTHON

TESTS = {"test", "tests"}
_TAG = f"cpython-{PYTHON.replace('.', '')}"


def compile_all(folder: Path, turn: int) -> None:
    """Compile the modules of an environment on all cores. Files that are not Python are skipped.

    `turn` is the descriptor of the builder's lock. Compilers keep it open, so that the lock holds if the builder is
    killed.
    """
    others = [other for other in folder.parent.iterdir() if other.is_dir() and other.name != folder.name]
    missing = [path for path in modules(folder) if not linked(path, folder, others)]
    cores = len(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        compilers = []
        for core in range(cores):
            names = stack.enter_context(tempfile.TemporaryFile())
            names.write("".join(f"{path}\n" for path in missing[core::cores]).encode())
            names.seek(0)
            command = [str(folder / "bin" / "python"), "-I", "-S", "-m", "compileall", "-qq", "-i", "-"]
            compilers.append(subprocess.Popen(command, stdin=names, stdout=subprocess.DEVNULL, pass_fds=(turn,)))
            stack.callback(compilers[-1].kill)
        for compiler in compilers:
            compiler.wait()


def modules(folder: Path) -> Iterator[Path]:
    """Source files of an environment's packages, without their tests."""
    for packages in folder.glob("lib/python*/site-packages"):
        for place, inside, names in os.walk(packages):
            inside[:] = [name for name in inside if name not in TESTS]
            yield from (Path(place, name) for name in names if name.endswith(".py"))


def linked(path: Path, folder: Path, others: Iterable[Path]) -> bool:
    """Whether another environment has the same file with bytecode. If so, link that bytecode here."""
    state, inside, target = path.stat(), path.relative_to(folder), _bytecode(path)
    for twin in (other / inside for other in others if state.st_nlink > 1):
        with contextlib.suppress(OSError):
            if os.path.samestat(twin.stat(), state):
                target.parent.mkdir(exist_ok=True)
                os.link(_bytecode(twin), target)
                return True
    return False


def _bytecode(path: Path) -> Path:
    return path.parent / "__pycache__" / f"{path.stem}.{_TAG}.pyc"
