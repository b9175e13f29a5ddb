"""Attaching to running processes: readings equal those of a watcher from the start, and processes are not confused."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from beyond_ram.watch import attach, memory_group, procfs, targets
from beyond_ram.watch.reader import NAMES

from ..conftest import interpreter
from .conftest import (
    CLI,
    PYTHON,
    check_files,
    needs_group,
    only_child,
    peaks_from,
    read_within,
    record_in,
    wait_until_begun,
)

NEAR = 0.01
# A step that lasts until the test has enough samples.
HOLD = """
def hold():
    os.write(int(sys.argv[1]), b'.')
    os.read(int(sys.argv[2]), 1)
"""
STEPS = 4
# A high peak, then steady levels: in the parent, and in workers that come and go.
LEVELS = f"""
import os, signal, sys
{HOLD}
peak = bytearray(200_000_000); del peak
hold()
held = bytearray(60_000_000)
workers, (read, write) = [], os.pipe()
for number in range(3):
    workers.append(os.fork())
    if not workers[-1]:
        mine = bytearray(20_000_000 * (number + 1))
        os.write(write, b'.')
        signal.pause()
for worker in workers: os.read(read, 1)
hold()
more = bytearray(40_000_000)
hold()
del more
for worker in workers:
    os.kill(worker, signal.SIGKILL)
    os.wait()
hold()
"""
# As LEVELS, with the worker processes of PyTorch.
LOADER = f"""
import os, sys, numpy, torch
from torch.utils.data import DataLoader, Dataset
{HOLD}
class Rows(Dataset):
    held = None
    def __len__(self): return 400
    def __getitem__(self, at):
        if Rows.held is None: Rows.held = numpy.ones(6_000_000)
        return numpy.full(5_000, at)
hold()
for epoch in range(2):
    for number, batch in enumerate(DataLoader(Rows(), batch_size=20, num_workers=3)):
        if number == 9: hold()
hold()
"""


@pytest.fixture
def go():
    """Yield a pipe that starts the program's next step."""
    read, write = os.pipe()
    os.set_inheritable(read, True)
    yield read, write
    os.close(read)
    os.close(write)


def start(program, pipe, go):
    """Start a program that waits in each step."""
    inherited = [pipe[1], go[0]]
    return subprocess.Popen([*PYTHON, program, *map(str, inherited)], pass_fds=inherited)


def both_peaks(command, pipe, go, folder, find):
    """Return the peaks of a watcher from the start and of one that attached, both since the attaching."""
    inherited = [pipe[1], go[0]]
    command = [*command, *map(str, inherited)]
    first = subprocess.Popen([*CLI, "--out", str(folder / "first"), "--", *command], pass_fds=inherited, stderr=-1)
    assert read_within(pipe[0], 60) == b"."
    second = subprocess.Popen([*CLI, "--out", str(folder / "second"), *find(first.pid)])
    wait_until_begun(second, folder / "second")
    for step in range(STEPS):
        assert step == 0 or read_within(pipe[0], 60) == b"."
        wait_for_samples(first.pid, second.pid)
        os.write(go[1], b".")
    assert (first.wait(60), second.wait(60)) == (0, 0)
    began_at = record_in(folder / "second")["started_at"] + 0.05
    return peaks_from(folder / "first", began_at), peaks_from(folder / "second", began_at)


def wait_for_samples(*watchers, times=8):
    """Wait until each watcher has slept this many times more, which it does between two samples."""

    def slept(pid):
        return int(re.search(rb"^voluntary_ctxt_switches:\s+(\d+)", procfs.read(pid, "status") or b"", re.M)[1])

    wanted = {pid: slept(pid) + times for pid in watchers}
    until = time.monotonic() + 60
    while any(slept(pid) < enough for pid, enough in wanted.items()):
        assert time.monotonic() < until
        time.sleep(0.02)


def leading(pipe, go, *steps):
    """Return a function for `on_begin` that leads a program watched by this thread through its steps."""
    watcher = threading.get_native_id()

    def lead():
        for times in steps:
            read_within(pipe[0], 60)
            wait_for_samples(watcher, times=times)
            os.write(go[1], b".")

    return threading.Thread(target=lead, daemon=True).start


def last_of(name):
    """Return a function that gives the options for the first process of a program below a watcher."""

    def find(watcher):
        below = [pid for pid in procfs.descendants(watcher) if name in (procfs.read(pid, "cmdline") or b"").decode()]
        return ["--pid", str(min(below))]

    return find


def check_near(first, second):
    print(first, second, file=sys.stderr)
    for kind, size in first.items():
        # A batch in shared memory may live shorter than a sample interval: small kinds are compared with the total.
        assert second[kind] == pytest.approx(size, rel=NEAR, abs=NEAR * first["rss_bytes"]), kind


@pytest.mark.slow
def test_attached_watcher_sees_the_same_as_one_from_the_start(pipe, go, tmp_path):
    first, second = both_peaks([*PYTHON, LEVELS], pipe, go, tmp_path, last_of("peak = bytearray"))
    check_near(first, second)
    attached_record, whole = record_in(tmp_path / "second"), record_in(tmp_path / "first")
    assert attached_record["outcome"] == "ended"
    assert attached_record["exit_status"] is None
    assert attached_record["attached"]["before"]["hwm_bytes"] > 200e6
    assert attached_record["peak"]["hwm_bytes"]["processes"][0]["hwm_bytes"] < 150e6, "the mark of before is no peak"
    assert attached_record["duration_s"] < whole["duration_s"]


@pytest.mark.slow
@pytest.mark.end_to_end
@pytest.mark.release  # the test above does the same with workers that import nothing
def test_data_loader_and_its_workers_are_followed(pipe, go, tmp_path):
    program = tmp_path / "loader.py"
    program.write_text(LOADER)
    first, second = both_peaks([str(interpreter("loaders")), str(program)], pipe, go, tmp_path, last_of("loader.py"))
    check_near(first, second)
    assert record_in(tmp_path / "second")["peak"]["processes"] >= 4


@pytest.mark.slow
def test_process_in_other_namespaces_is_followed(pipe, go, tmp_path, unshared):
    """As in a container, with its own process ids and /proc."""
    command = [*unshared("--pid", "--mount", "--fork", "--mount-proc"), *PYTHON, LEVELS]

    def find(watcher):
        inside = [p for p in procfs.descendants(watcher) if len(_namespace_pids(p)) > len(_namespace_pids(os.getpid()))]
        return ["--pid", str(min(inside))]

    check_near(*both_peaks(command, pipe, go, tmp_path, find))


def _namespace_pids(pid):
    """Return the ids of a process, one for each namespace."""
    match = re.search(rb"^NSpid:\s+(.*)$", procfs.read(pid, "status") or b"", re.MULTILINE)
    return match[1].split() if match else []


@pytest.mark.slow
@needs_group
def test_group_is_followed(pipe, go, tmp_path, other_group):
    """As of a job or a container: it existed before the command, and its peak is not reset."""
    join = "".join(f"echo $$ > {file}; " for file in other_group.processes_files)
    command = ["bash", "-c", join + 'exec "$@"', "bash", *PYTHON, LEVELS]
    first, second = both_peaks(command, pipe, go, tmp_path, lambda _: ["--cgroup", str(other_group.path)])
    check_near(first, second)
    attached_record = record_in(tmp_path / "second")
    assert attached_record["attached"]["before"]["cgroup_peak_bytes"] > 200e6
    # Pages that workers share with their parent count once.
    assert 100e6 < attached_record["peak"]["cgroup_bytes"] < second["rss_bytes"]
    assert 100e6 < attached_record["peak"]["kept"]["kept_bytes"] < second["rss_bytes"]
    assert attached_record["peak"]["kept"]["basis"] == "around"


def test_memory_group_of_a_job_that_has_just_begun_is_waited_for(tmp_path, monkeypatch, sleeping):
    """Slurm makes the group of its freezer first."""
    first, memory, pid = tmp_path / "freezer/slurm/uid_0/job_7", tmp_path / "memory/slurm/uid_0/job_7", sleeping().pid

    def make(folder, *files):
        folder.mkdir(parents=True)
        for name in (*files, "cgroup.procs"):
            (folder / name).write_text(f"{pid}\n")

    monkeypatch.setattr(targets, "_GROUPS", tmp_path)
    make(first)
    threading.Timer(0.15, make, (memory, "memory.stat", "memory.usage_in_bytes")).start()
    assert targets.slurm_job("7").group == (memory, 1)


@pytest.mark.slow
@pytest.mark.parametrize("reader", NAMES)
def test_tree_is_followed_after_its_first_process_ended(reader, pipe, go, tmp_path):
    program = f"""
import os, sys, time
{HOLD}
first = os.getpid()
if os.fork(): hold(); os._exit(0)
os.setsid()
while os.getppid() == first: time.sleep(0.01)
hold()
held = bytearray(50_000_000)
hold()
"""
    with start(program, pipe, go) as process:
        attached_record = attach.attach(
            targets.processes([process.pid], reader),
            tmp_path,
            attach.AttachOptions(on_begin=leading(pipe, go, 8, 8, 8)),
        )
    assert attached_record["peak"]["anon_bytes"] > 50e6


@pytest.mark.slow
def test_written_bytes_are_known_after_the_end(pipe, go, tmp_path):
    program = f"import os, sys\n{HOLD}\nhold(); file = os.open({str(tmp_path / 'file')!r}, os.O_CREAT | os.O_WRONLY)\n"
    program += "os.write(file, bytes(5_000_000)); os.fsync(file); hold()"
    with start(program, pipe, go) as process:
        threading.Thread(target=process.wait).start()  # no zombie is left when it has ended
        lead = leading(pipe, go, 8, 35)  # storage is read twice a second
        options = attach.AttachOptions(on_begin=lead)
        attached_record = attach.attach(targets.processes([process.pid]), tmp_path / "out", options)
    assert attached_record["storage"]["written_bytes"] >= 5_000_000


@pytest.mark.slow
def test_ctrl_c_ends_only_the_watcher(pipe, go, tmp_path):
    with start(f"import os, sys\n{HOLD}\nheld = bytearray(30_000_000); hold()", pipe, go) as process:
        assert read_within(pipe[0], 60) == b"."
        command = [*CLI, "--pid", str(process.pid), "--out", str(tmp_path / "out")]
        watcher = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_until_begun(watcher, tmp_path / "out")
        wait_for_samples(watcher.pid)
        watcher.send_signal(signal.SIGINT)
        output = watcher.communicate(timeout=10)[1]
        assert watcher.returncode == 0
        assert process.poll() is None
        process.kill()
    assert "detached" in output
    assert "ask for     at least" in output
    check_files(tmp_path / "out")
    assert record_in(tmp_path / "out")["peak"]["anon_bytes"] > 30e6


@pytest.mark.slow
@pytest.mark.parametrize("reset", [False, True])
def test_marks_are_reset_only_on_request(reset, pipe, tmp_path):
    program = "import os, sys, time\npeak = bytearray(90_000_000); del peak\nos.write(int(sys.argv[1]), b'.')\n"
    program += "time.sleep(60)"
    with subprocess.Popen([*PYTHON, program, str(pipe[1])], pass_fds=[pipe[1]]) as process:
        assert read_within(pipe[0], 20) == b"."
        options = attach.AttachOptions(reset_marks=reset, timeout_s=0.3)
        attached_record = attach.attach(targets.processes([process.pid]), tmp_path, options)
        now = procfs.memory(process.pid)
        process.kill()
    assert now is not None
    assert (now.hwm_bytes > 90e6) is not reset
    assert attached_record["attached"]["before"]["hwm_bytes"] > 90e6
    assert attached_record["peak"]["hwm_bytes"]["processes"][0]["hwm_bytes"] < 60e6


def _start_with_pid(pid, start):
    """Start a process with an id that has just become free."""
    for _ in range(50):
        try:
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        except OSError:
            pytest.skip("needs root: /proc/sys/kernel/ns_last_pid cannot be written")
        if start().pid == pid:
            return
    pytest.skip("its id was never given out again: this machine starts too much else")


@pytest.mark.parametrize("reader", NAMES)
@pytest.mark.parametrize("seen_to_end", [True, False])
def test_process_with_a_reused_id_is_not_followed(seen_to_end, reader, sleeping):
    """With and without a reading between the end of one process and the start of the other."""
    first, other = sleeping(), sleeping()
    tree = targets.Followed(targets.processes([first.pid, other.pid], reader))
    tree.memory()
    assert {process.pid for process in tree.living} == {first.pid, other.pid}
    first.kill()  # it stays a zombie until it is waited for
    while procfs.memory(first.pid):
        time.sleep(0.01)
    if seen_to_end:
        _, ended = tree.memory()
        assert [process.pid for process in ended] == [first.pid]
    first.wait()
    time.sleep(5 / os.sysconf("SC_CLK_TCK"))  # psutil knows a start to a tick
    _start_with_pid(first.pid, sleeping)
    for _ in range(3):
        tree.memory()
        tree.doubt()
    assert {process.pid for process in tree.living} == {other.pid}
    tree.close()


@pytest.mark.slow
@needs_group
def test_limit_that_a_scheduler_sets_after_it_has_made_the_group_is_read(tmp_path, other_group, sleeping):
    group = other_group.path
    limit = group / ("memory.limit_in_bytes" if other_group.version == 1 else "memory.max")
    (group / "cgroup.procs").write_text(str(sleeping().pid))
    options = attach.AttachOptions(on_begin=lambda: limit.write_text(str(300 << 20)), timeout_s=0.5)
    attached_record = attach.attach(targets.group(group), tmp_path, options)
    assert attached_record["peak"]["around"]["limit_bytes"] == 300 << 20


@pytest.mark.slow
def test_events_of_an_attached_program_are_read(pipe, go, tmp_path, monkeypatch):
    program = f"""
import os, sys; sys.path.insert(0, {str(Path(__file__).parents[2] / "scripts" / "workloads")!r})
import events
{HOLD}
events.phase('before'); hold(); hold()
events.phase('work'); held = bytearray(30_000_000); hold()
events.phase('idle'); hold()
"""
    monkeypatch.setenv("BEYOND_RAM_EVENTS", str(tmp_path / "told"))
    with start(program, pipe, go) as process:
        assert read_within(pipe[0], 60) == b"."
        os.write(go[1], b".")  # it is in phase `before`
        attached_record = attach.attach(
            targets.processes([process.pid]),
            tmp_path / "out",
            attach.AttachOptions(on_begin=leading(pipe, go, 8, 8, 8)),
        )
    assert [phase["phase"] for phase in attached_record["phases"]] == ["", "work", "idle"]
    assert attached_record["phases"][1]["anon_bytes"] > 30e6
    assert attached_record["phases"][2]["anon_bytes"] > 30e6, "a phase without changes lacks the existing memory"


def test_kernel_thread_is_refused(refused):
    if procfs.name(2) != "kthreadd":
        pytest.skip("no kernel threads are seen in here")
    assert "a kernel thread" in refused("watch", "--pid", "2")


@pytest.mark.slow
def test_watcher_does_not_measure_itself(tmp_path):
    """A shell attaches to itself, as the script of a job may."""
    script = f"{sys.executable} -m beyond_ram watch --pid $$ --out {tmp_path} & "
    script += f"until [ -e {tmp_path}/.watch-*/samples.csv ]; do sleep 0.1; done; sleep 1; kill -INT $!; wait $!"
    subprocess.run(["bash", "-c", script], check=True, stderr=subprocess.DEVNULL)
    names = {entry["name"] for entry in record_in(tmp_path)["peak"]["hwm_bytes"]["processes"]}
    assert names == {"bash", "sleep"}


def test_members_of_a_v2_group_are_read(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "cgroup.procs").write_text("12\n")
    (tmp_path / "below" / "cgroup.procs").write_text("0\n7\n")
    assert sorted(targets.members(tmp_path)) == [7, 12]
    assert memory_group.own_group(groups="0::/there/is/none\n") is None


def test_process_that_hides_has_not_ended(monkeypatch):
    """As one that may not be read any more where /proc has hidepid."""
    with only_child("") as parent:
        (pid,) = procfs.children(parent)
        tree = targets.Followed(targets.processes([pid]))
        tree.memory()
        monkeypatch.setattr(procfs, "started_s", lambda _: None)
        tree.doubt()
        tree.memory()
        assert [process.pid for process in tree.living] == [pid]
        tree.close()


def test_empty_group_of_a_slurm_job_is_waited_for_as_steps_come_one_after_another(tmp_path):
    def is_over(asked, empty_for_s):
        target = SimpleNamespace(named=asked, group=(tmp_path, 2))
        return attach._Following._is_over(SimpleNamespace(target=target), empty_for_s)

    assert [is_over({"slurm_job": "7"}, empty_s) for empty_s in (5, 31)] == [False, True]
    assert is_over({"cgroup": "/a"}, 5)
