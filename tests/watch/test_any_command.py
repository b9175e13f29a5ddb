"""A watched command behaves as it would alone, and its processes end with a killed watcher."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from beyond_ram.memory_request import request_of
from beyond_ram.watch import GuardError, WatchOptions, command, procfs, watch
from beyond_ram.watch.watcher import ends_by

from .conftest import CLI, PYTHON, events_in, read_within, record_in
from .test_events import SAY

# A command whose workers have sessions of their own, with a child each. All hold the pipe open.
FAMILY = """
import os, sys, time
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            pass
        break
os.write(int(sys.argv[1]), b'%d\\n' % os.getpid())
signal = __import__('signal'); signal.pause()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(number, pipe):
    program = (
        f"import os, signal, sys, time; signal.signal({int(number)}, lambda *_: sys.exit(7)); "
        # signal.pause() would miss a signal that comes just before it
        f"os.write({pipe[1]}, b'.'); [time.sleep(0.01) for _ in range(3000)]"
    )
    watcher = subprocess.Popen([*CLI, "--", *PYTHON, program], pass_fds=[pipe[1]], stderr=subprocess.DEVNULL)
    assert read_within(pipe[0], 20) == b"."
    watcher.send_signal(number)
    assert watcher.wait(20) == 7


def test_ignored_signals_stay_ignored_and_others_do_not(watched, tmp_path):
    status_file = tmp_path / "said"
    program = f"import shutil; shutil.copy('/proc/self/status', {str(status_file)!r})"
    # If nohup started it, pytest itself ignores SIGHUP.
    ours = {signal.SIGUSR2: signal.SIG_IGN, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    try:
        watched(program)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    masks = dict(line.split(":\t") for line in status_file.read_text().splitlines() if line.startswith("Sig"))
    ignored, blocked = int(masks["SigIgn"], 16), int(masks["SigBlk"], 16)
    assert ignored & 1 << signal.SIGUSR2 - 1
    assert not ignored & (1 << signal.SIGTERM - 1 | 1 << signal.SIGHUP - 1)
    assert blocked == 0


def test_only_one_variable_is_added():
    environment = {"PATH": os.environ["PATH"], "ONE": "two", "PYTHONPATH": str(Path(__file__).parents[2])}
    env = ["/usr/bin/env", "-0"]
    alone = subprocess.run(env, env=environment, capture_output=True, check=True).stdout.split(b"\0")
    watched = subprocess.run([*CLI, "--", *env], env=environment, capture_output=True, check=True).stdout.split(b"\0")
    added = set(watched) - set(alone)
    assert set(alone) <= set(watched)
    assert [entry.partition(b"=")[0] for entry in added] == [b"BEYOND_RAM_EVENTS"]


@pytest.mark.slow
def test_command_may_close_its_descriptors(watched):
    record = watched("import os, time; os.closerange(0, 1000); held = bytearray(30_000_000); time.sleep(0.2)")
    assert record["exit_status"] == 0
    assert record["peak"]["anon_bytes"] > 30e6


@pytest.mark.slow
def test_command_keeps_its_input_output_and_descriptors(pipe):
    program = f"import os, sys; os.write({pipe[1]}, b'third'); sys.stdout.write(sys.stdin.read().upper())"
    done = subprocess.run([*CLI, "--", *PYTHON, program], input=b"text", capture_output=True, pass_fds=[pipe[1]])
    assert done.stdout == b"TEXT"
    assert read_within(pipe[0], 1) == b"third"


def test_nothing_survives_when_the_guard_is_killed(tmp_path, pipe):
    pids = []

    def kill_the_guard():
        while len(pids) < 5:
            pids.extend(read_within(pipe[0], 20).split())
        for child in procfs.children(os.getpid()):
            if b"guard" in (procfs.read(child, "cmdline") or b""):
                os.kill(child, signal.SIGKILL)

    other = threading.Thread(target=kill_the_guard)
    other.start()
    with pytest.raises(GuardError):
        watch([*PYTHON, FAMILY, str(pipe[1])], tmp_path)
    other.join()
    os.close(pipe[1])
    assert read_within(pipe[0], 20) == b""


def guard_of(watcher):
    (guard,) = (pid for pid in procfs.children(watcher) if b"guard" in (procfs.read(pid, "cmdline") or b""))
    return guard


def test_command_ends_with_its_guard_while_the_watcher_is_stopped(pipe):
    program = f"import os, signal; os.write({pipe[1]}, b'%d' % os.getpid()); signal.pause()"
    # A session of its own: the kernel hangs up on an orphaned process group with a stopped process, tests included.
    command = [*CLI, "--", *PYTHON, program]
    watcher = subprocess.Popen(command, pass_fds=[pipe[1]], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        pid = int(read_within(pipe[0], 60))
        watcher.send_signal(signal.SIGSTOP)
        os.kill(guard_of(watcher.pid), signal.SIGKILL)
        assert ends_by(time.monotonic() + 20, pid)
    finally:
        watcher.kill()
        watcher.wait()


# A watcher whose guard fails in each turn and then only waits for the command.
FAILING_GUARD = """
import sys
from beyond_ram.cli import main
from beyond_ram.watch import command
command._PROGRAM = command._PROGRAM.replace("sys.exit(", "guard._Guard._turn = lambda *_: 1 / 0; sys.exit(")
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("waits", [False, True], ids=["before it only waits", "while it only waits"])
def test_guard_that_only_waits_ends_with_the_watcher(waits, pipe):
    program = f"import os, signal; os.write({pipe[1]}, b'.'); signal.pause()"
    words = ["-c", FAILING_GUARD, "watch", "--", *PYTHON, program]
    watcher = subprocess.Popen([sys.executable, *words], pass_fds=[pipe[1]], stderr=subprocess.DEVNULL)
    os.close(pipe[1])
    try:
        assert read_within(pipe[0], 60) == b"."
        guard, until = guard_of(watcher.pid), time.monotonic() + 60
        while waits and procfs.read(guard, "wchan") != b"do_wait":
            assert time.monotonic() < until, procfs.read(guard, "wchan")
            time.sleep(0.02)
        watcher.kill()
        watcher.wait()
        ended = ends_by(time.monotonic() + 20, guard)
    finally:
        watcher.kill()
        watcher.wait()
    if not ended:
        os.kill(guard, signal.SIGKILL)
    assert ended
    assert read_within(pipe[0], 20) == b""


@pytest.mark.slow
def test_other_children_of_the_process_are_not_reaped(watched):
    mine = subprocess.Popen([*PYTHON, "raise SystemExit(5)"])
    watched("import time; time.sleep(0.3)")
    assert mine.wait(10) == 5


@pytest.mark.slow
def test_processes_that_outlive_the_command_are_listed_and_kept(tmp_path, pipe):
    program = (
        "import os, sys\nif os.fork() == 0:\n os.setsid()\n os.write(int(sys.argv[1]), b'%d' % os.getpid())\n"
        " import signal; signal.pause()\nimport time; time.sleep(0.3)"
    )
    record = watch([*PYTHON, program, str(pipe[1])], tmp_path)
    daemon = int(read_within(pipe[0], 1))
    try:
        assert [entry["pid"] for entry in record["left_running"]] == [daemon]
        os.kill(daemon, 0)
    finally:
        os.kill(daemon, signal.SIGKILL)


@contextmanager
def following(out, then, signals=""):
    """Yield a watcher that follows, its command's shell, and a process that outlives the shell and is still there at
    the end."""
    # A shell that runs the tests in the background ignores two signals, and the watcher would inherit that.
    program = ["sh", "-c", f"sleep 20 >&- 2>&- & echo $! $${then}"]
    command = ["env", f"--default-signal={signals}", *CLI, "--follow", "--out", str(out), "--", *program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as watcher:
        assert watcher.stdout
        followed, shell = map(int, watcher.stdout.readline().split())
        try:
            yield watcher, shell, followed
            os.kill(followed, 0)
        finally:
            os.kill(followed, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_signals_end_following_with_a_whole_record_and_kill_nothing(number, tmp_path):
    with following(tmp_path, "", number.name[3:]) as (watcher, shell, followed):
        while Path(f"/proc/{shell}").exists():
            time.sleep(0.01)
        for _ in range(3):  # a scheduler may send it again
            watcher.send_signal(number)
        assert watcher.wait(20) == 0
    record = record_in(tmp_path)
    assert (record["outcome"], record["signals"]) == ("detached", [number.name])
    assert [entry["pid"] for entry in record["left_running"]] == [followed]
    assert request_of(record).at_least


@pytest.mark.slow
def test_following_ends_with_a_command_that_a_signal_ended(tmp_path):
    with following(tmp_path, "; wait", "TERM") as (watcher, _, _):
        watcher.terminate()
        assert watcher.wait(20) == 128 + signal.SIGTERM
    assert record_in(tmp_path)["signal"] == "SIGTERM"


@pytest.mark.slow
def test_a_signal_that_the_command_handles_makes_the_request_a_lower_bound(tmp_path):
    program = "import signal as s, sys\ns.signal(s.SIGUSR1, lambda *_: sys.exit())\nprint(flush=True)\ns.pause()"
    with subprocess.Popen([*CLI, "--out", str(tmp_path), "--", *PYTHON, program], stdout=subprocess.PIPE) as watcher:
        assert watcher.stdout
        watcher.stdout.readline()
        watcher.send_signal(signal.SIGUSR1)
        assert watcher.wait(20) == 0
    record = record_in(tmp_path)
    assert (record["outcome"], record["signals"]) == ("completed", ["SIGUSR1"])
    assert request_of(record).at_least


def test_command_without_a_guard_runs_and_the_record_says_what_is_missing(monkeypatch, watched):
    monkeypatch.setattr(sys, "executable", "/none")
    record = watched("raise SystemExit(7)")
    assert record["exit_status"] == 7
    assert [note["what"] for note in record["missing"]] == ["everything", "CPU time and storage"]


# After its order the guard reads first from the command's process.
LATE_GUARD = """
import os, sys, time
read, late = os.read, [%s]
def read_late(descriptor, size):
    data = read(descriptor, size)
    if descriptor != int(sys.argv[1]) and late:
        time.sleep(late.pop())
    return data
os.read = read_late
"""


@pytest.mark.slow
@pytest.mark.parametrize("late_s", [0.3, 1.0], ids=["late", "later than the watcher waits for it"])
def test_start_is_right_if_the_guard_reports_it_late(late_s, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_PROGRAM", LATE_GUARD % late_s + command._PROGRAM)
    before = time.time()
    program = SAY + "print(time.time()); say('first'); time.sleep(1.2); say('slept')"
    with (tmp_path / "output").open("w+") as output:
        record = watch([*PYTHON, program], tmp_path, WatchOptions(stdout=output.fileno()))
        output.seek(0)
        began = float(output.read())
    assert before < record["started_at"] <= began
    times = {event["event"]: event["t_s"] for event in events_in(tmp_path)}
    assert began - record["started_at"] - 0.01 <= times["first"]
    assert times["first"] + 1.2 <= times["slept"] <= record["duration_s"] == times["end"]
