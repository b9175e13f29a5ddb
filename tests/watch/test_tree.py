"""The processes of a tree: those that hide, and those that have the memory of another, are counted once or named."""

import os
import signal
import subprocess
import time

import pytest

from beyond_ram.watch import procfs
from beyond_ram.watch.reader import Reader
from beyond_ram.watch.tree import Tree

from .conftest import PYTHON, only_child, read_within

HELD_BYTES = 60_000_000
# A child between vfork and exec, until its standard input ends: opening a pipe that nobody reads waits.
VFORK = f"""
import os, sys, threading
held = bytearray({HELD_BYTES})
def release():
    sys.stdin.read()
    os.open(sys.argv[1], os.O_RDONLY)
threading.Thread(target=release, daemon=True).start()
os.write(1, b'.')
wait = [(os.POSIX_SPAWN_OPEN, 3, sys.argv[1], os.O_WRONLY, 0)]
os.waitpid(os.posix_spawn('/bin/cat', ['cat', sys.argv[1]], {{}}, file_actions=wait), 0)
"""
# The main thread ends, and another one holds memory.
WITHOUT_MAIN_THREAD = f"""
import ctypes, os, sys, threading, time
def hold():
    held = bytearray({HELD_BYTES})
    time.sleep(0.2)
    os.write(1, b'.')
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=hold).start()
ctypes.CDLL(None).pthread_exit(None)
"""


class Hiding(Reader):
    """A reader that may not read some processes, as with hidepid."""

    def __init__(self):
        super().__init__()
        self.hidden = set()

    def _read(self, process, name):
        return None if process.pid in self.hidden else super()._read(process, name)


@pytest.fixture
def started():
    """Return a function that starts a program below this process and returns its id once it has written a byte. Its
    standard input ends with the test."""
    processes = []

    def start(program, *arguments):
        command = [*PYTHON, program, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        processes.append(process)
        assert process.stdout
        assert read_within(process.stdout.fileno(), 20) == b"."
        return process.pid

    yield start
    for process in processes:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream
            stream.close()


def anon_bytes(tree, *pids):
    """Return the sum over these processes. This process may have other children."""
    tree.memory()
    return sum(process.last.anon_bytes for process in tree.living if process.last and process.pid in pids)


def test_living_process_that_may_not_be_read_is_known():
    with only_child("") as parent:
        reader = Hiding()
        tree, (child,) = Tree(parent, reader), procfs.children(parent)
        reader.hidden.add(child)
        _, ended = tree.memory()
        assert [process.pid for process in ended] == tree.hidden == [child]
        assert not tree.living and tree.unreadable.keys() == {child}
        _, ended = tree.memory()
        assert not ended, "a process that is still hidden ended once more"
        reader.hidden.clear()  # after an exec, for example
        assert anon_bytes(tree, child) > 0 and not tree.hidden
        assert tree.unreadable.keys() == {child}
        tree.close()


def test_process_that_has_ended_is_not_unreadable(started):
    child = started("import os, sys; os.write(1, b'.'); sys.stdin.read()")
    tree = Tree(os.getpid(), Hiding())
    tree.memory()
    os.kill(child, 9)
    while procfs.lives(child):
        time.sleep(0.001)
    tree.memory()
    assert child not in tree.unreadable and child in tree.listed_pids()
    tree.close()


def test_process_between_vfork_and_exec_counts_once(started, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    parent = started(VFORK, str(tmp_path / "pipe"))
    while not (children := procfs.children(parent)):
        time.sleep(0.001)
    if not procfs.same_memory(parent, children[0]):
        pytest.skip("this kernel does not tell whether processes have one address space")
    tree = Tree(os.getpid())
    assert HELD_BYTES < anon_bytes(tree, parent, *children) < 1.5 * HELD_BYTES
    assert children[0] in tree.listed_pids() and children[0] not in tree.processes
    with (tmp_path / "pipe").open("rb"):  # it executes its program
        while procfs.same_memory(parent, children[0]):
            time.sleep(0.001)
        tree.memory()
        assert children[0] in tree.processes
    assert children[0] not in tree.unreadable
    tree.close()
    os.kill(children[0], signal.SIGKILL)  # it waits for a writer


def test_process_without_its_main_thread_counts(started):
    child = started(WITHOUT_MAIN_THREAD)
    assert not procfs.memory_lines(procfs.read(child, "status") or b"")
    tree = Tree(os.getpid())
    assert anon_bytes(tree, child) > HELD_BYTES
    assert anon_bytes(tree, child) > HELD_BYTES, "it counts in one sample only"
    tree.close()


def test_hidden_children_are_known_to_be_unknown(monkeypatch):
    with only_child("") as parent:
        tree, (child,), listdir = Tree(parent), procfs.children(parent), os.listdir

        def hiding(path):
            if path == f"/proc/{child}/task":
                raise FileNotFoundError(path)
            return listdir(path)

        monkeypatch.setattr(os, "listdir", hiding)
        tree.memory()
        assert tree.unlisted == {child}
        assert tree.processes.keys() == {child}
        tree.close()


@pytest.mark.slow
def test_many_short_processes_leave_no_note(watched):
    record = watched("import subprocess\nfor _ in range(100): subprocess.run(['true'])")
    assert record["missing"] == []
    assert record["peak"]["processes_unread"] == 0


def test_life_is_that_of_the_process_not_of_its_id():
    assert procfs.lives(os.getpid())
    with subprocess.Popen(["true"]) as ended:
        while procfs.read(ended.pid, "stat").rpartition(b")")[2].split()[0] != b"Z":
            time.sleep(0.001)
        assert not procfs.lives(ended.pid), "a zombie lives"
    assert not procfs.lives(ended.pid)
