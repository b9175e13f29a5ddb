"""Shared by the tests of the watcher: small programs run by a bare interpreter."""

import csv
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from beyond_ram.cli import main
from beyond_ram.watch import WatchOptions, groups, memory_group, watch

from ..conftest import ROOT

PYTHON = [sys.executable, "-I", "-S", "-B", "-c"]
CLI = [sys.executable, "-m", "beyond_ram", "watch"]
NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


def no_group():
    """Return the reason why no memory group can be made here, or None."""
    try:
        groups.make().remove()
    except groups.GroupError as error:
        return str(error)
    return None


# Reads a file into locked memory: the kernel cannot take back what it charges for it.
LOCKS = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
file, size = os.open(sys.argv[1], os.O_RDONLY), os.path.getsize(sys.argv[1])
place = libc.mmap(None, ctypes.c_size_t(size), 1, 1, file, ctypes.c_long(0))
assert not libc.mlock(ctypes.c_void_p(place), ctypes.c_size_t(size))
time.sleep(0.2)
"""

needs_group = pytest.mark.skipif(no_group() is not None, reason=f"no memory cgroup can be made here: {no_group()}")


@pytest.fixture
def watched(tmp_path):
    """Return a function that runs a program text under the watcher."""

    def run(program, *arguments, **how):
        return watch([*PYTHON, program, *arguments], tmp_path / "out", WatchOptions(**how))

    return run


@pytest.fixture
def alone(monkeypatch):
    """Nothing counts the command but the readings of its processes."""

    def none(limit_bytes=None):
        raise groups.GroupError("none")

    monkeypatch.setattr(groups, "make", none)
    monkeypatch.setattr("beyond_ram.watch.memory_group.Around.find", lambda: None)


@pytest.fixture
def other_group():
    """Make a memory group in which nothing runs, and remove it at the end."""
    made = groups.make()
    yield made
    made.remove()


@pytest.fixture
def refused(capfd):
    """Return a function that calls `beyond-ram` with bad arguments, checks status 2, and gives the message."""

    def call(*words):
        try:
            status = main(list(words))
        except SystemExit as ended:  # by the parser
            status = int(str(ended.code))
        captured = capfd.readouterr()
        assert (status, captured.out) == (2, "")
        return captured.err

    return call


@pytest.fixture
def pipe():
    """Yield a pipe with an inheritable write end, which stays open as long as a process that inherited it lives."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:
            continue


@pytest.fixture
def sleeping():
    """Return a function that starts a process which sleeps until the end of the test."""
    processes = []

    def start():
        processes.append(subprocess.Popen([*PYTHON, "import signal; signal.pause()"]))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def called(*command, status=0, **how):
    """Run a command to its end, check its status, and return what it wrote to standard error."""
    done = subprocess.run(command, capture_output=True, text=True, **how)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture
def unshared():
    """Return a function that gives the words before a command that run it in namespaces of its own."""

    def words(*how):
        prefix = ["unshare", *how]
        if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode:
            pytest.skip(f"no namespace can be made here: {' '.join(prefix)}")
        return prefix

    return words


def record_in(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def samples_in(folder):
    with (folder / "samples.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def peaks_from(folder, began_at):
    """Return the highest sample of each kind from a Unix time on."""
    started_at = record_in(folder)["started_at"]
    later = [line for line in samples_in(folder) if started_at + float(line["t_s"]) >= began_at]
    return {kind: max(int(line[kind]) for line in later) for kind in ("rss_bytes", "anon_bytes", "shmem_bytes")}


def events_in(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").split("\n") if line]


def check_files(folder, *others):
    """Check that a folder has the files of a run and these others, and nothing else."""
    assert {path.name for path in folder.iterdir()} == {"events.jsonl", "run.json", "samples.csv", *others}


def wait_until_begun(watcher, folder):
    """Wait until a watcher has begun to write into its folder."""
    while not list(folder.glob(".watch-*/samples.csv")):
        assert watcher.poll() is None
        time.sleep(0.02)


def read_within(descriptor, seconds):
    """Return the next bytes of a pipe, b"" at its end; fail if neither comes in time."""
    ready, _, _ = select.select([descriptor], [], [], seconds)
    assert ready, f"nothing within {seconds} s"
    return os.read(descriptor, 65536)


@contextmanager
def only_child(code):
    """Run code in the only child of a process, and yield the id of that process when the code has run.

    The test process itself has many more children: the stacks that wait for other tests.
    """
    program = "import os, signal, sys\nif os.fork(): os.wait()\n"
    program += "else: exec(sys.argv[1]); print(flush=True); signal.pause()"
    command = [*PYTHON, program, code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        try:
            assert parent.stdout and parent.stdout.readline()
            yield parent.pid
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def _ordinary():
    """Return the words for an interpreter with our packages that an ordinary user may run."""
    packages = Path(psutil.__file__).parents[1]
    for python in (sys.executable, "/usr/bin/python3"):
        words = ["env", f"PYTHONPATH={ROOT}:{packages}", "PYTHONDONTWRITEBYTECODE=1", python]
        tried = subprocess.run(
            [*AS_NOBODY, *words, "-c", f"import psutil, beyond_ram.watch, os; os.execv({python!r}, ['x', '-c', ''])"],
            capture_output=True,
        )
        if tried.returncode == 0:
            return words
    return []


@pytest.fixture(scope="module")
def ordinary():
    """Return the words before an interpreter's options that run it as an ordinary user."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("becomes another user, which needs root and setpriv")
    if not (words := _ordinary()):
        pytest.skip("no interpreter here can be run by an ordinary user")
    return [*AS_NOBODY, *words]


@pytest.fixture
def public_folder():
    """Make a folder that all users may write to, which pytest's own is not."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.fixture
def delegated():
    """Yield the words before a command that run it in a memory group which belongs to an ordinary user."""
    own = memory_group.own_folder()
    if own is None or own.version != 1 or no_group():
        pytest.skip("makes a group for another user, which is done here with cgroup v1 only")
    folder = own.folder / f"beyond-ram-test-{os.getpid()}"
    folder.mkdir()
    try:
        for place in (folder, folder / "cgroup.procs"):
            os.chown(place, NOBODY, NOBODY)
        yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs; exec "$@"', "sh"]
    finally:
        groups.group.remove(folder, own.folder)
