"""Both readers give what they know and leave the rest empty, with a complete /proc and with a restricted one."""

import json
import os
import subprocess
import sys
import time

import psutil
import pytest

from beyond_ram.memory_request import RSS, request_of
from beyond_ram.records.run_files import COLUMNS
from beyond_ram.run_page import RunFolder, write
from beyond_ram.watch import attach, ceilings, procfs, summary, targets, write_record
from beyond_ram.watch.psutil_reader import Psutil
from beyond_ram.watch.reader import HWM, NAMES, Reader, choose
from beyond_ram.watch.tree import Tree

from .conftest import PYTHON, called, read_within, record_in, samples_in

CLI = ["-m", "beyond_ram", "watch"]
HELD_BYTES, CHILD_BYTES = 60_000_000, 30_000_000
# A parent and a child, each with its own memory.
FAMILY = f"""
import os, sys, time
if os.fork() == 0:
    mine = bytearray({CHILD_BYTES})
    time.sleep(1.2)
    os._exit(0)
held = bytearray({HELD_BYTES})
time.sleep(1.0)
os.wait()
"""
# The same, idle until its standard input ends.
WAITING = f"""
import os, sys
read, write = os.pipe()
if os.fork() == 0:
    mine = bytearray({CHILD_BYTES})
    os.write(write, b'.')
else:
    held = bytearray({HELD_BYTES})
    os.read(read, 1)
    os.write(1, b'.')
sys.stdin.read()
"""
# Output of gVisor according to its sources (pkg/sentry/fsimpl/proc/task_files.go).
GVISOR = b"""Name:\tpython3
State:\tS (sleeping)
Tgid:\t7
Pid:\t7
PPid:\t1
TracerPid:\t0
FDSize:\t64
VmSize:\t104640 kB
VmRSS:\t61440 kB
VmData:\t80000 kB
Threads:\t1
Seccomp:\t0
"""


@pytest.fixture(params=NAMES)
def reader(request):
    return str(request.param)


@pytest.fixture
def waiting():
    """Start the two idle processes."""
    with subprocess.Popen([*PYTHON, WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdin
        assert read_within(process.stdout.fileno(), 20) == b"."
        yield process
        process.stdin.close()


def check_unknown_values(record, samples):
    """Check that unknown values are empty or null and named, and that known ones were read."""
    unknown = set(record["sampler"]["unknown"])
    lacking = " ".join(summary.lacking(record))
    waiting = record["pressure"] is not None  # false if neither /proc nor a group has pressure
    for column in COLUMNS:
        values = [line[column] for line in samples]
        if column.startswith("pressure_"):
            assert any(values) == waiting, column
        elif column in ("kept_bytes", "cgroup_bytes"):  # from a group or from the processes
            counted = record["peak"]["kept" if column == "kept_bytes" else "cgroup_bytes"]
            assert any(values) == (counted is not None), column
        elif column in unknown:
            assert not any(values), column
            assert column in lacking
        elif column not in ("phase", "pss_bytes", "uss_bytes", "pss_anon_bytes", "pss_shmem_bytes"):
            assert any(values), column
    peaks = [record["peak"], *record["phases"], *record["peak"]["course"]]
    for peak in peaks:
        for kind in unknown & peak.keys() - {HWM}:
            assert peak[kind] is None, kind
    if HWM in unknown:
        assert "marks" in lacking
        marks = record["peak"][HWM]
        assert marks["concurrent_upper_bound_bytes"] is marks["sum_upper_bound_bytes"] is None
        assert all(entry["final"] for entry in marks["processes"])
        assert all(phase[HWM] is None and not phase["hwm_exact"] for phase in record["phases"])


@pytest.mark.slow
def test_command_and_its_child_are_read(watched, reader, tmp_path):
    record = watched(FAMILY, reader=reader)
    samples = samples_in(tmp_path / "out")
    peak = record["peak"]
    assert record["sampler"]["reader"] == reader
    assert record["outcome"] == "completed"
    assert HELD_BYTES + CHILD_BYTES < peak["anon_bytes"] < 1.3 * (HELD_BYTES + CHILD_BYTES)
    assert peak["anon_bytes"] < peak["rss_bytes"]
    assert peak["rss_bytes"] == max(int(line["rss_bytes"]) for line in samples)
    assert peak["processes"] == 2
    assert {entry["pid"] for entry in peak["held_by"]["anon_bytes"]} >= {record["pid"]}
    assert peak["pss_bytes"] > 0
    # The guard has reaped all processes, and knows their usage.
    assert record["cpu_s"] > 0
    assert record["faults"]["minor"] > HELD_BYTES / 4096 / 512
    check_unknown_values(record, samples)
    assert (record["missing"] == []) is (reader == "procfs")


def test_both_readers_agree_on_idle_processes(waiting):
    trees = [Tree(os.getpid(), Reader()), Tree(os.getpid(), Psutil("compared"))]
    below = {waiting.pid, *procfs.children(waiting.pid)}
    readings = []
    for tree in trees:
        tree.memory()
        living = [process for process in tree.living if process.pid in below]
        usage = tree.usage()
        proportional = [tree.reader.proportional(process.pid) for process in living]
        readings.append(
            {
                "pids": {process.pid for process in living},
                "names": sorted(process.comm for process in living),
                "rss": sum(process.last.rss_bytes for process in living if process.last),
                "anon": sum(process.last.anon_bytes for process in living if process.last),
                "pss": sum(process.pss_bytes for process in proportional if process),
                "uss": sum(process.uss_bytes for process in proportional if process),
                "cpu": usage.cpu_s,
                "storage": usage.read_bytes is not None,
            }
        )
        tree.close()
    first, second = readings
    assert first["pids"] == second["pids"] == below
    print(first, second, file=sys.stderr)
    for kind in ("pids", "names", "storage"):
        assert first[kind] == second[kind]
    near = 64 * 4096 * (os.cpu_count() or 1) * 2  # the kernel counts pages per processor
    for kind in ("rss", "anon", "pss", "uss"):
        assert second[kind] == pytest.approx(first[kind], abs=near), kind
    assert second["cpu"] == pytest.approx(first["cpu"], abs=0.5)


@pytest.mark.slow
def test_running_process_is_followed(waiting, reader, tmp_path):
    target = targets.processes([waiting.pid], reader)
    record = attach.attach(target, tmp_path, attach.AttachOptions(timeout_s=0.6))
    peak = record["peak"]
    assert record["outcome"] == "detached"
    assert HELD_BYTES + CHILD_BYTES < peak["anon_bytes"] < 1.3 * (HELD_BYTES + CHILD_BYTES)
    assert peak["processes"] == 2
    assert record["attached"]["running_s"] >= 0
    assert record["cpu_s"] is not None
    assert (record["attached"]["before"]["hwm_bytes"] is None) is (reader == "psutil")
    assert (record["faults"]["minor"] is None) is (reader == "psutil")
    check_unknown_values(record, samples_in(tmp_path))
    assert list(summary.lines(record))


# --- the choice of a reader


def test_complete_proc_is_read_without_psutil():
    program = "import sys; from beyond_ram.cli import main; status = main(sys.argv[1:]); "
    program += "sys.exit(status or 'psutil' in sys.modules)"
    called(sys.executable, "-c", program, "watch", "--", "true")


@pytest.mark.slow
def test_proc_without_kinds_of_memory_is_read_with_psutil(watched, monkeypatch, tmp_path):
    """As on gVisor: status has no kinds of memory, and statm has 0 shared pages."""
    assert procfs.parse_memory(procfs.memory_lines(GVISOR)) is None
    as_it_is = psutil.Process.memory_info
    monkeypatch.setattr(procfs, "memory", lambda pid: procfs.parse_memory(procfs.memory_lines(GVISOR)))
    monkeypatch.setattr(psutil.Process, "memory_info", lambda self: as_it_is(self)._replace(shared=0))
    record = watched(FAMILY)
    assert record["sampler"]["reader"] == "psutil"
    assert {"anon_bytes", "file_bytes"} <= set(record["sampler"]["unknown"])
    assert record["peak"]["rss_bytes"] > HELD_BYTES + CHILD_BYTES
    check_unknown_values(record, samples_in(tmp_path / "out"))
    text = "\n".join(summary.lines(record))
    assert "anonymous unknown here" in text
    assert "/proc tells no kinds of memory here" in text


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_request_ceilings_and_page_without_kinds_of_memory(watched, monkeypatch, tmp_path):
    as_it_is = psutil.Process.memory_info
    monkeypatch.setattr(psutil.Process, "memory_info", lambda self: as_it_is(self)._replace(shared=0))
    record = watched(FAMILY, reader="psutil")
    advice = request_of(record)
    assert advice.basis == RSS
    assert advice.request_bytes > record["peak"]["rss_bytes"] == advice.kept_bytes
    assert "because its kinds are unknown" in "\n".join(summary.lines(record))
    limits = [ceilings.Ceiling(kind, size, str(size)) for kind, size in (("anon", 1 << 40), ("rss", HELD_BYTES))]
    record["ceilings"] = ceilings.judge(record, limits)
    assert [entry["result"] for entry in record["ceilings"]] == [ceilings.UNKNOWN, ceilings.ABOVE]
    assert list(ceilings.lines(record))
    write_record(record, tmp_path / "out")
    run = RunFolder.read(tmp_path / "out")
    write(tmp_path / "page.html", {"one": run})
    (rss,) = run.by_kind
    assert max(size for _, size in rss.points) == record["peak"]["rss_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("installed", [True, False])
def test_missing_psutil_is_named_in_the_message(installed, monkeypatch, watched):
    if not installed:
        monkeypatch.setitem(sys.modules, "beyond_ram.watch.psutil_reader", None)
        with pytest.raises(ValueError, match=r"--reader psutil: psutil is not installed: pip install"):
            choose("psutil")
    monkeypatch.setattr(procfs, "memory", lambda pid: None)
    record = watched("import time; time.sleep(0.2)")
    assert record["outcome"] == "completed"
    assert (record["sampler"]["samples"] > 0) is installed
    assert installed is not any("pip install" in note["why"] for note in record["missing"])


# --- a restricted /proc


def _mounted(options, words):
    """Return a command in a mount namespace whose /proc has these options."""
    return ["unshare", "--mount", "sh", "-c", f'mount -t proc -o {options} proc /proc && exec "$@"', "sh", *words]


def _can_mount(options):
    return subprocess.run(_mounted(options, ["true"]), capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2,subset=pid"])
def test_command_is_read_from_a_restricted_proc(options, reader, ordinary, public_folder):
    if not _can_mount(options):
        pytest.skip(f"/proc cannot be mounted with {options} here")
    out = public_folder / "out"
    python = ordinary[-1]
    command = [*ordinary, *CLI, "--reader", reader, "--out", str(out), "--", python, "-I", "-S", "-c", FAMILY]
    assert "Traceback" not in called(*_mounted(options, command))
    record = record_in(out)
    assert record["sampler"]["reader"] == reader
    assert HELD_BYTES + CHILD_BYTES < record["peak"]["anon_bytes"] < 1.3 * (HELD_BYTES + CHILD_BYTES)
    assert record["peak"]["processes"] == 2
    check_unknown_values(record, samples_in(out))


# Two children that may not be read; and a child of a process that hides when it has been read.
HIDE = "import ctypes, os, sys, time; hide = lambda: ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)"
HIDING = f"""
{HIDE}
for _ in range(2):
    if os.fork() == 0:
        hide(); time.sleep(0.2); held = bytearray({CHILD_BYTES}); time.sleep(2); os._exit(0)
os.wait(); os.wait()
"""
HIDING_CHILDREN = f"""
{HIDE}
time.sleep(0.2); hide()
if os.fork() == 0:
    held = bytearray({CHILD_BYTES}); time.sleep(0.5); os._exit(0)
os.wait()
"""
SHORT = "import subprocess\nfor _ in range(50): subprocess.run(['true'])"


def _hidden(folder, ordinary, program, *options, before=()):
    """Watch a program as an ordinary user to whom /proc hides processes. Return the status and the record."""
    if not _can_mount("hidepid=2"):
        pytest.skip("/proc cannot be mounted with hidepid here")
    words = [*ordinary, *CLI, "--out", str(folder), *options, "--", ordinary[-1], "-I", "-S", "-c", program]
    done = subprocess.run([*before, *_mounted("hidepid=2", words)], capture_output=True)
    print(done.stderr.decode(), file=sys.stderr)
    return done.returncode, record_in(folder)


@pytest.mark.slow
@pytest.mark.parametrize("program", [HIDING, HIDING_CHILDREN], ids=["unreadable", "unlisted"])
def test_processes_that_may_not_be_read_weaken_ceilings_and_request(program, ordinary, public_folder):
    status, record = _hidden(public_folder, ordinary, program, "--max-anon", "1T", "--max-rss", "1T")
    assert status == 3
    assert {entry["result"] for entry in record["ceilings"]} == {"unknown"}
    # A process may hide after it was read once: then a second line says that its children could not be listed.
    assert {note["what"] for note in record["missing"]} == {"processes"}
    assert record["peak"]["processes_unread"] > 0
    assert request_of(record).at_least
    text = list(summary.lines(record))
    assert any(line.startswith("ask for     at least --mem") for line in text)
    assert not any(line.startswith("why") for line in text)


@pytest.mark.slow
def test_short_processes_are_not_taken_for_unreadable_ones(ordinary, public_folder):
    status, record = _hidden(public_folder, ordinary, SHORT, "--max-anon", "1T")
    assert (status, record["missing"], record["peak"]["processes_unread"]) == (0, [], 0)


@pytest.mark.slow
def test_group_counts_processes_that_may_not_be_read(ordinary, public_folder, delegated):
    status, record = _hidden(public_folder, ordinary, HIDING, "--max-anon", "1T", before=delegated)
    assert status == 3
    kept = record["peak"]["kept"]
    assert (kept["basis"], kept["whole"]) == ("group", True)
    assert kept["kept_bytes"] > 2 * CHILD_BYTES
    asked = request_of(record)
    assert not asked.at_least and asked.polled_at_least
    assert record["peak"]["processes_unread"] == 2


@pytest.mark.slow
def test_hidden_process_of_another_user_is_refused(waiting, ordinary):
    if not _can_mount("hidepid=2"):
        pytest.skip("/proc cannot be mounted with hidepid here")
    for name in NAMES:
        command = [*ordinary, *CLI, "--reader", name, "--pid", str(waiting.pid)]
        assert "there is no such process here" in called(*_mounted("hidepid=2", command), status=2)


@pytest.mark.slow
def test_other_users_process_without_readable_smaps_is_followed(waiting, reader, ordinary):
    program = (
        "import json, sys; from beyond_ram.watch import attach, targets; "
        "target = targets.processes([int(sys.argv[1])], sys.argv[2]); "
        "print(json.dumps(attach.attach(target, None, attach.AttachOptions(timeout_s=1.0))))"
    )
    done = subprocess.run([*ordinary, "-c", program, str(waiting.pid), reader], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert HELD_BYTES + CHILD_BYTES < record["peak"]["anon_bytes"] < 1.3 * (HELD_BYTES + CHILD_BYTES)
    assert record["peak"]["pss_bytes"] is record["peak"]["uss_bytes"] is None
    assert "PSS and USS" in {note["what"] for note in record["missing"]}


@pytest.mark.slow
def test_command_without_readable_smaps_is_reported(reader, ordinary):
    """As of a setuid program: only root may read a process that is not dumpable."""
    hidden = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); held = bytearray(60 << 20); time.sleep(0.8)"
    output = called(*ordinary, *CLI, "--reader", reader, "--", ordinary[-1], "-c", hidden)
    assert "missing     PSS and USS: of a process they may not be read" in output


# --- other systems than Linux


ELSEWHERE = """
import os, signal, sys, time
import psutil  # imports its module for Linux
sys.platform = "darwin"
lacks = ["sigtimedwait", "SIGPWR", "SIGRTMIN", "SIGRTMAX"]
for module, names in ((signal, lacks), (time, ["CLOCK_BOOTTIME"]), (os, ["sched_getaffinity"])):
    for name in names:
        delattr(module, name)
from beyond_ram.watch import attach, reader, targets
target = targets.processes([int(sys.argv[1])])
assert target.reader.name == "psutil"
record = attach.attach(target, None, attach.AttachOptions(timeout_s=0.5))
import json
print(json.dumps(record))
"""


@pytest.mark.slow
def test_attaching_needs_no_functions_of_linux(waiting):
    """Functions of Python that macOS lacks are removed. This is not macOS: the files of /proc exist."""
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, str(waiting.pid)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["peak"]["rss_bytes"] > HELD_BYTES + CHILD_BYTES
    assert "darwin has no /proc" in " ".join(summary.lacking(record))


def test_setting_the_clock_does_not_change_starts(monkeypatch):
    """psutil adds the time of boot to a start, and setting the clock moves that time."""
    psutil_reader = choose("psutil")
    before, age_s = psutil_reader.started(os.getpid()), psutil_reader.now() - (psutil_reader.started(os.getpid()) or 0)
    day_s, boot_time, now = 86400, psutil._psplatform.boot_time, time.time
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: boot_time() - day_s)
    monkeypatch.setattr(time, "time", lambda: now() - day_s)
    assert psutil_reader.started(os.getpid()) == before is not None
    assert abs(psutil_reader.now() - (before or 0) - age_s) < 1


@pytest.mark.slow
def test_nothing_is_advised_without_readings(tmp_path, unshared):
    """In another PID namespace than /proc's nothing can be sampled, which is not a peak of 0."""
    words = [sys.executable, *CLI, "--out", str(tmp_path), "--", "sh", "-c", "sleep 0.1; exit 5"]
    output = called(*unshared("--pid", "--fork"), *words, status=5)
    record = record_in(tmp_path)
    assert record["sampler"]["samples"] == 0 and not samples_in(tmp_path)
    assert "samples" in [note["what"] for note in record["missing"]]
    peak = record["peak"]
    assert peak["rss_bytes"] is peak["anon_upper_bound_bytes"] is peak["unseen_bytes"] is None
    assert peak["hwm_bytes"]["sum_upper_bound_bytes"] is peak["hwm_bytes"]["concurrent_upper_bound_bytes"] is None
    with pytest.raises(KeyError, match="readings"):
        request_of(record)
    assert "ask for" not in output and "another PID namespace" in output
