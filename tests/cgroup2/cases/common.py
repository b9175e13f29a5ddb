"""Shared by all cases: the command, its record, and groups made by hand."""

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from beyond_ram.cli import main

for _module in ("beyond_ram.cli.watch", "beyond_ram.watch"):
    import_module(_module)  # once, for all forks

PROJECT = Path(__file__).resolve().parents[3]
ROOT_GROUP = Path("/sys/fs/cgroup")
MB = 1_000_000
_CALL = (
    f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from beyond_ram.cli import main; sys.exit(main(sys.argv[1:]))"
)
BEYOND_RAM = [sys.executable, "-S", "-c", _CALL]
PYTHON = [sys.executable, "-I", "-S", "-B", "-c"]


def holds(size_bytes):
    """Return a command that holds this much memory for a moment."""
    return [*PYTHON, f"import time; held = bytearray({size_bytes}); time.sleep(0.2)"]


class Watched:
    """A finished call of `beyond-ram watch`."""

    def __init__(self, done, out):
        self.status, self.stderr = done.returncode, done.stderr
        run = out / "run.json"
        self.record = json.loads(run.read_text()) if run.exists() else {}
        print(f"status {self.status}\n{self.stderr}")

    @property
    def mechanism(self):
        return str(self.record["peak"]["cgroup"].get("mechanism"))

    @property
    def cgroup_bytes(self):
        return int(self.record["peak"]["cgroup_bytes"])


def holds_until(end, size_bytes):
    """Return a command that holds this much memory, prints a line, and ends when the file `end` exists."""
    program = f"import os, time; held = bytearray({size_bytes}); print(flush=True)\n"
    return [*PYTHON, f"{program}while not os.path.exists({str(end)!r}): time.sleep(0.1)"]


def watch(*words, prefix=(), group=None, end=None):
    """Run `beyond-ram watch` to its end, behind the words of `prefix`, or in a `group`.

    The file `end` is made after some samples, and ends the watched program (`holds_until`).
    """
    out = Path(tempfile.mkdtemp(prefix="out-", dir="/var/tmp"))
    out.chmod(0o777)
    arguments = ["watch", "--out", str(out), *words]

    def call():
        return run([*prefix, *BEYOND_RAM, *arguments]) if prefix else _fork(arguments, group)

    if end is None:
        return Watched(call(), out)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(call)
        wait_until(lambda: done.done() or any(out.rglob("samples.csv")), 300)
        time.sleep(2)  # it takes samples meanwhile, and writes them later
        end.touch()
        return Watched(done.result(), out)


def attach(group):
    """Watch a group while a process in it holds 60 MB, until that has ended."""
    end = Path(tempfile.mkdtemp(dir="/var/tmp"), "end")
    with subprocess.Popen(holds_until(end, 60 * MB), preexec_fn=joining(group), stdout=subprocess.PIPE) as running:
        assert running.stdout and running.stdout.readline()
        result = watch("--cgroup", str(group), end=end)
    assert result.status == 0
    assert 60 * MB < result.cgroup_bytes < 100 * MB
    return result


def run(command, group=None):
    return subprocess.run(
        command, preexec_fn=joining(group), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600
    )


def _fork(arguments, group):
    """Run the command in a fork of this process, which has imported it: the imports take longer than the rest."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        pid = os.fork()
        if not pid:
            status = 70
            try:
                if group:
                    (group / "cgroup.procs").write_text("0")
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(output.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                sys.stdout = os.fdopen(1, "w", closefd=False)
                status = main(arguments)
                sys.stdout.flush()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(arguments, status, output.read(), errors.read())


def joining(group):
    """Return a function for `preexec_fn` that enters a group."""
    return None if group is None else lambda: (group / "cgroup.procs").write_text("0") and None


@contextmanager
def made(path, **files):
    """Make a group below the root, with the memory controller, and write these files (`memory_max="100M"`)."""
    folder = ROOT_GROUP
    for name in path.split("/"):
        (folder / "cgroup.subtree_control").write_text("+memory")
        folder = folder / name
        folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 2)).write_text(text)
    try:
        yield folder
    finally:
        (folder / "cgroup.kill").write_text("1")
        until = time.monotonic() + 20
        while folder != ROOT_GROUP:
            try:
                for below in sorted(folder.rglob("*/"), reverse=True):
                    below.rmdir()
                folder.rmdir()
                folder = folder.parent
            except OSError:
                if time.monotonic() > until or folder.name != path.rpartition("/")[2]:
                    break
                time.sleep(0.1)


def groups_of_ours():
    """Return all groups that the program has made. Groups that end meanwhile are skipped."""
    return [
        str(Path(folder, name))
        for folder, names, _ in os.walk(ROOT_GROUP)
        for name in names
        if name.startswith("beyond-ram-")
    ]


def wait_until(true, within_s=120.0):
    until = time.monotonic() + within_s
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def assert_no_group_is_left():
    """Wait until no group is left: a manager removes a scope some time after its last process."""
    assert wait_until(lambda: not groups_of_ours()), groups_of_ours()


def check_kill(mechanism, **how):
    """Check that a program runs until it needs more than its limit, and that the group's peak and pressure are read.

    `how` are arguments of `watch`.
    """
    reached = Path(tempfile.mkdtemp(prefix="reached-", dir="/var/tmp"))
    reached.chmod(0o777)
    program = f"held = bytearray({40 * MB}); open('{reached}/file', 'w'); held = None; held = bytearray({100 * MB})"
    more = watch("--memory-limit", "60M", "--", *PYTHON, program, **how)
    assert (reached / "file").exists(), more.record
    assert (more.status, more.record["outcome"]) == (137, "killed_at_limit"), more.record
    assert more.mechanism == mechanism, more.mechanism
    assert 0.9 * (60 << 20) < more.cgroup_bytes <= 60 << 20
    assert more.record["peak"]["kept"]["basis"] == more.record["pressure"]["of"] == "group"
    assert_no_group_is_left()
    return {"killed_at_bytes": more.cgroup_bytes}


def check_limit(mechanism, **how):
    """Check the same, and that a program below the limit completes, with its exact peak: once for each mechanism."""
    killed = check_kill(mechanism, **how)
    less = watch("--memory-limit", "60M", "--", *holds(40 * MB), **how)
    assert (less.status, less.record["outcome"], less.mechanism) == (0, "completed", mechanism)
    assert 40 * MB < less.cgroup_bytes < 50 * MB
    assert less.record["peak"]["kept"]["basis"] == less.record["pressure"]["of"] == "group"
    assert_no_group_is_left()
    return {**killed, "peak_bytes": less.cgroup_bytes}
