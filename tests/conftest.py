"""Shared by all tests: environments of stacks, a clone of the project, commands in it, and the order of tests."""

import contextlib
import fcntl
import functools
import gc
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from beyond_ram.folders import MARK
from beyond_ram.stacks import locks, venv

from . import forks
from .forks import stacks

ROOT = Path(__file__).resolve().parents[1]
# For files that are slow to make and the same for every checkout. It may be removed at any time.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beyond-ram-tests"

# A shell ignores SIGINT for background commands, and nohup ignores SIGHUP. Processes that tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# `pytest --hypothesis-profile long` tries more examples.
settings.register_profile("long", max_examples=2000)


# Folders whose tests share something slow to make: a cluster, a token dataset with its stack, a copy of the project.
FOLDERS = ("slurm", "workloads", "rules")
# Files whose tests read the same reports of recorded runs (analysis/opposite.py), which take seconds to make.
REPORTS = (
    "analysis/test_opposite.py", "analysis/findings/test_sentences.py", "figures/test_figures.py",
    "report/test_sections.py",
)  # fmt: skip
# Files that take a minute, for which other processes would wait at the end.
EARLY = ("test_workflow.py", "test_wheel.py", "gate", "measure", "bisect", "atlas", "tokenize")
# A folder whose tests wait for two thirds of their time: other processes compute meanwhile.
WAITING = "watch"
# Guests take minutes.
GUESTS = "cgroup2"


def scope_of(file):
    """Return the scope that the tests of a file stay together in: their folder, what they read, or the file."""
    folder = file.split("/")[1]
    return folder if folder in FOLDERS else "reports" if file.endswith(REPORTS) else file


class ScopeScheduling(LoadScopeScheduling):
    """Keeps the tests of a scope (`scope_of`) in one process, so that no other process waits for what they share.

    `--dist loadgroup` does the same with marks, but does not work under pytest 9.2, because it writes into `_nodeid`.
    """

    def _split_scope(self, nodeid):
        return scope_of(nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ScopeScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Exclude imported objects from garbage collection, because they stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Put files with slow tests first, FOLDERS and EARLY before others, so that all processes end at about one time.

    Files of WAITING are spread over the other slow ones. GUESTS come even before. End-to-end tests
    have a timeout of two hours, the others that of pyproject.toml.
    """
    for item in items:
        if item.get_closest_marker("end_to_end") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(7200))
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def place(item):
        folder, first = item.nodeid.partition("::")[0].split("/")[1], [*FOLDERS, *EARLY]
        return item.path.parent.name != GUESTS, item.path not in slow, [*first, folder].index(folder)

    items.sort(key=place)
    files = [*dict.fromkeys(item.path for item in items if item.path in slow)]
    kinds = [[file for file in files if (file.parent.name == WAITING) == waits] for waits in (True, False)]
    spread = {file: at / len(kind) for kind in kinds for at, file in enumerate(kind)}
    items.sort(key=lambda item: (item.path.parent.name != GUESTS, spread.get(item.path, 1)))


def project_files():
    """Return every file of the project that is tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@functools.cache
def environment_of(stack):
    """Build a stack's environment once, and return its folder, or the error.

    It stays in the user's cache folder under the hash of its lock, for every checkout.
    """
    lock = ROOT / "envs" / f"{stack}.txt"
    folder = CACHE / "stacks" / f"{stack}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    try:
        venv.build(lock, folder)
    except locks.StackError as error:
        return error
    return folder


def interpreter(stack):
    """Return the interpreter of a stack; build its environment if it is missing or old."""
    environment = environment_of(stack)
    if isinstance(environment, locks.StackError):
        raise environment
    return environment / "bin" / "python"


@functools.cache
def forking(python, *modules):
    """Start an interpreter that imports some modules once a session. Programs run as forks of it."""
    return stacks.Stack(python, *modules)


@pytest.fixture(scope="session", autouse=True)
def _stacks_end():
    yield
    stacks.close_all()


def link_stack(stack, project):
    """Link a stack's environment into a copy of the project, with a marker that a rule may replace."""
    lock, folder = project / "envs" / f"{stack}.txt", project / ".stacks" / stack
    if venv.is_built(lock, folder):
        return
    folder.mkdir(parents=True)
    for entry in interpreter(stack).parents[1].iterdir():
        if entry.name not in (MARK, venv.MARKER):
            (folder / entry.name).symlink_to(entry)
    (folder / MARK).touch()
    shutil.copyfile(lock, folder / venv.MARKER)  # newer than the lock, as after a build


def lend_bytecode(stack, stacks):
    """Link the tests' stacks into a folder, so that stacks that are built there link their bytecode (bytecode.py).

    Builds `stack` if it is missing. The others are for packages that uv unpacked again since this one was built.
    """
    stacks.mkdir(parents=True, exist_ok=True)
    for built in interpreter(stack).parents[2].glob("*/"):
        (stacks / f"lent-{built.name}").symlink_to(built)


def once(folder, make):
    """Return a folder that the first process fills, while others wait."""
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
def shared(tmp_path_factory):
    """Return a folder that the processes of a session share, for `once`."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@contextlib.contextmanager
def mounted(place, size):
    """Mount a file system of some size on a new folder."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def small_disk(tmp_path):
    with mounted(tmp_path / "disk", "16m") as place:
        yield place


def assert_golden(page, file):
    """Compare a text with its golden page, or renew that with BEYOND_RAM_GOLDEN=1."""
    if os.environ.get("BEYOND_RAM_GOLDEN"):
        file.write_text(page)
    assert page == file.read_text()


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def clone(tmp_path_factory):
    """Copy the project, so that tests can run and edit anything in it."""
    folder = tmp_path_factory.mktemp("clone")
    for name in project_files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder


@pytest.fixture(scope="session")
def path(shared):
    """Return a PATH with the commands of the driver's environment, where `snakemake` forks a server (forks/)."""
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    folder = once(shared / "forks", lambda partial: forks.start(partial, owner))
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture(scope="session")
def run_in(clone, path):
    """Return a function that runs a command of the driver's environment in the clone."""
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(clone)}

    def run(*command, cwd=clone, **options):
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options
        )

    return run
