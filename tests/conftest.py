"""What the tests share: a clone of the project as a user would have it, and the commands run in it."""

import fcntl
import functools
import gc
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from beyond_ram.folders import MARK
from beyond_ram.stacks import locks, venv

from . import forks, leftovers
from .forks import stacks

ROOT = Path(__file__).resolve().parents[1]
# What takes long to make and is the same for every checkout. It may be removed at any time.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beyond-ram-tests"
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# A shell ignores Ctrl-C for what it starts in the background, and nohup ignores SIGHUP: all that tests start would
# inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# `pytest --hypothesis-profile long`: for who has the time.
settings.register_profile("long", max_examples=2000)


# Folders that share what takes long to make: a cluster, a token dataset with its stack, a copy of the project.
FOLDERS = ("slurm", "workloads", "rules")
# Their tests wait more than they compute, so they start early, beside those that compute.
WAITING = ("weighing", "watch", "bisect", "atlas")


def scope_of(file: str) -> str:
    """What the tests of a file stay together with: their folder, or nothing else."""
    folder = file.split("/")[1]
    return folder if folder in FOLDERS else file


class Together(LoadScopeScheduling):  # type: ignore[misc]
    """Tests that share what is made once stay in one process, so that no other waits for it: those of `scope_of`.

    `--dist loadgroup` does the same by marks, but marks nothing under pytest 9.2: it writes into `_nodeid`.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid.partition("::")[0])


def pytest_configure() -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        leftovers.mark()
        leftovers.remove()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Together:
    return Together(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that is imported stays, and the garbage collector need not search it, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, FOLDERS and WAITING before others, so that no process is left alone at the end.

    Before these, files with tests that are alone: such a test waits for all that others are at, and they for it.

    What runs end to end has two hours, where the others have what pyproject.toml says.
    """
    for item in items:
        if item.get_closest_marker("end_to_end") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(7200))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    alone = {item.path for item in items if item.get_closest_marker("alone")}

    def place(item: pytest.Item) -> tuple[bool, bool, int]:
        folder, first = item.nodeid.split("/")[1], [*FOLDERS, *WAITING]
        return item.path not in alone, item.path not in slow, [*first, folder].index(folder)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that is marked `alone` measures times: while it runs, the other process runs no test.

    Tests hold a lock together, one that is alone holds it for itself. Who waits for the lock holds the door, so that
    it is not passed by those who come after it.
    """
    with Path(__file__).open() as lock, (ROOT / "pyproject.toml").open() as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(lock, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        try:
            return (yield)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # said, since a child that was forked would keep it


def project_files() -> list[str]:
    """Every file of the project: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@functools.cache
def environment_of(stack: str) -> Path | locks.StackError:
    """The folder of a stack's environment, or why it cannot be built: it is tried once.

    It is kept in the user's cache folder under the hash of its lock, for every checkout.
    """
    lock = ROOT / "envs" / f"{stack}.txt"
    folder = CACHE / "stacks" / f"{stack}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    try:
        venv.build(lock, folder)
    except locks.StackError as error:
        return error
    return folder


def interpreter(stack: str) -> Path:
    """The interpreter of a stack; its environment is built where it is missing or old."""
    environment = environment_of(stack)
    if isinstance(environment, locks.StackError):
        raise environment
    return environment / "bin" / "python"


@functools.cache
def forking(python: Path, *modules: str) -> stacks.Stack:
    """An interpreter that has imported some modules, once a session. Programs run as forks of it."""
    return stacks.Stack(python, *modules)


@pytest.fixture(scope="session", autouse=True)
def _stacks_end() -> Iterator[None]:
    yield
    stacks.close_all()


def link_stack(stack: str, project: Path) -> None:
    """The environment of a stack in a copy of the project: links into it, with a marker that a rule may replace."""
    lock, folder = project / "envs" / f"{stack}.txt", project / ".stacks" / stack
    if venv.is_built(lock, folder):
        return
    folder.mkdir(parents=True)
    for entry in interpreter(stack).parents[1].iterdir():
        if entry.name not in (MARK, venv.MARKER):
            (folder / entry.name).symlink_to(entry)
    (folder / MARK).touch()
    shutil.copyfile(lock, folder / venv.MARKER)  # newer than the lock, as one that was built


def lend_bytecode(stack: str, stacks: Path) -> None:
    """Put a stack of the tests beside those that will be built in a folder, which link its bytecode (bytecode.py)."""
    stacks.mkdir(parents=True, exist_ok=True)
    (stacks / f"lent-{stack}").symlink_to(interpreter(stack).parents[1])


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder that is filled by the process that asks first; the other waits, and finds it whole."""
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = folder.with_name(f".{folder.name}")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the processes of one session share, for what is made `once`."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", place], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


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
def path(shared: Path) -> str:
    """PATH with the commands of the driver's environment; `snakemake` is a fork of one that is imported (forks/)."""
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    folder = once(shared / "forks", lambda partial: forks.start(partial, owner))
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture(scope="session")
def run_in(clone: Path, path: str) -> Run:
    """Run a command of the driver's environment in the clone, and return what it did and said."""
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(clone)}

    def run(*command: str, cwd: Path = clone, **options: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options
        )  # type: ignore[call-overload, no-any-return]

    return run
