"""What the tests share: a clone of the project as a user would have it, and the commands run in it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from beyond_ram import stacks

ROOT = Path(__file__).resolve().parents[1]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# Where the environment forbids bytecode, each of the hundreds of interpreters that tests start would compile pandas,
# torch or Snakemake anew: 1 to 3 s of CPU each. It is kept beside the sources, and goes with the session.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    BYTECODE = tempfile.TemporaryDirectory(prefix="beyond-ram-bytecode-")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = BYTECODE.name
    sys.dont_write_bytecode = False


def project_files() -> list[str]:
    """Every file of the project: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def interpreter(stack: str) -> Path:
    """The interpreter of a stack, of the environment that the workflow uses too; built where it is missing or old."""
    folder, lock = ROOT / ".stacks" / stack, ROOT / "envs" / f"{stack}.txt"
    marker = folder / stacks.venv.MARKER
    if not marker.exists() or marker.read_bytes() != lock.read_bytes():
        stacks.build(lock, folder)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which tests may run anything and edit anything."""
    folder = tmp_path_factory.mktemp("clone")
    for name in project_files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


@pytest.fixture(scope="session")
def run_in(clone: Path) -> Run:
    """Run a command of the driver's environment in the clone, and return what it did and said."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(clone),
    }

    def run(*command: str, cwd: Path = clone, **options: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options
        )  # type: ignore[call-overload, no-any-return]

    return run
