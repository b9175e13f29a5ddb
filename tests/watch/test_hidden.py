"""What hides memory from the readings is named, and weakens a request and a ceiling."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from beyond_ram.memory_request import UNSEEN, request_of
from beyond_ram.watch import ceilings, machine, watcher
from beyond_ram.watch.exits import Exits
from beyond_ram.watch.hidden import _TOO_OFTEN, PEAK, Writes
from beyond_ram.watch.missing import Missing
from beyond_ram.watch.sampler import Sampler
from beyond_ram.watch.summary import lines
from beyond_ram.watch.tree import Tree

from .conftest import CLI, PYTHON, needs_group, only_child, record_in

MB = 1_000_000
# Takes 100 MB in huge pages, with few page faults, gives them back, and does what the test adds.
TAKES = """
import ctypes, mmap, os, sys, time
def take():
    held = mmap.mmap(-1, 104 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(held))
    for at in range(-base % (2 << 20), 102 << 20, 2 << 20):
        held[at] = 1
        ctypes.CDLL(None).madvise(ctypes.c_void_p(base + at), ctypes.c_size_t(2 << 20), 25)
    del held
    return True
time.sleep(0.2)
"""
EXEC = "os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(0.3)'])"
COLLAPSES = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").exists()


def weak(record):
    """Whether the request is at least, and the result of a ceiling between what was read and the truth."""
    (judged,) = ceilings.judge(record, [ceilings.Ceiling("anon", 60 * MB, "60MB")])
    return request_of(record).at_least, judged["result"]


def named(record):
    return " ".join(note["why"] for note in record["missing"] if note["what"] == UNSEEN)


@pytest.mark.slow
@pytest.mark.skipif(not COLLAPSES, reason="the kernel has no huge pages")
@pytest.mark.usefixtures("alone")
def test_memory_that_exec_hides_is_known_from_the_reaped_process(watched):
    record = watched(TAKES + "take()\n" + EXEC, interval_ms=5000)
    assert record["peak"]["hwm_bytes"]["reaped_bytes"] > 100 * MB
    at_least, result = weak(record)
    assert at_least and result == "unknown"


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_mark_that_is_set_back_counts_its_page_faults(watched):
    program = """
import time
held = bytearray(b"x") * 20_000_000
time.sleep(0.3)
del held
more = bytearray(b"x") * 100_000_000
del more
open("/proc/self/clear_refs", "w").write("5")
time.sleep(0.3)
"""
    record = watched(program, interval_ms=250)
    at_least, result = weak(record)
    assert (at_least or request_of(record).request_bytes > 100 * MB) and result != "within"


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize("way", ["peak", "moved", "removed"])
def test_writes_to_memory_groups_are_noticed(way, watched, other_group):
    if way == "peak" and other_group.version == 2:
        pytest.skip("on cgroup v2 a peak is reset for the file that writes to it only")
    own = "open(sys.argv[1] + '/cgroup.procs', 'w').write('0'); take(); os._exit(0)"
    program = {
        "peak": """
own = [line.split(':', 2)[2].strip() for line in open('/proc/self/cgroup') if ':memory:' in line]
folder = '/sys/fs/cgroup/memory' + own[0]
take(); open(folder + '/memory.max_usage_in_bytes', 'w').write('0')
""",
        "moved": f"if os.fork() == 0: {own}\nos.wait(); time.sleep(0.3)",
        "removed": f"if os.fork() == 0: {own}\nos.wait(); os.rmdir(sys.argv[1]); time.sleep(0.3)",
    }[way]
    record = watched(TAKES + program, str(other_group.path), interval_ms=1000)
    assert record["exit_status"] == 0
    seen = any(note["what"] == "the memory group" for note in record["missing"])  # a sample was in time
    assert seen or ("set back" if way == "peak" else "another group") in named(record)
    at_least, result = weak(record)
    assert (at_least or request_of(record).request_bytes > 100 * MB) and result != "within"


# Takes and gives back 100 MB, sets its mark back, and fills its group with as much page cache, beside other processes.
MARKED = """
import os, sys, time
end, ends = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.close(ends); os.read(end, 1); os._exit(0)
time.sleep(0.3)
child = os.fork() if sys.argv[2] == 'child' else 0
if child == 0:
    held = bytearray(b'x') * 100_000_000
    del held
    open('/proc/self/clear_refs', 'w').write('5')
    if sys.argv[2] == 'child': os._exit(0)
else:
    os.waitpid(child, 0)
with open(sys.argv[1], 'wb') as file:
    for _ in range(110): file.write(bytes(1_000_000))
    file.flush(); os.fsync(file.fileno())
time.sleep(0.5)
"""


@pytest.mark.slow
@needs_group
@pytest.mark.skipif(os.geteuid() != 0, reason="seeing who sets back a mark needs root")
@pytest.mark.parametrize("way", ["own", "child"])
def test_mark_that_is_set_back_in_a_group_is_named(way, watched, tmp_path):
    record = watched(MARKED, str(tmp_path / "file"), way, interval_ms=5000)
    if record["peak"]["hwm_bytes"]["set_back"] is None:
        pytest.skip("the kernel does not permit it here")
    assert record["exit_status"] == 0 and record["peak"]["anon_bytes"] < 60 * MB
    assert any(note["what"] == "marks" for note in record["missing"])
    assert weak(record) == (True, "unknown")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["peak", "mark"])
def test_what_a_user_can_set_back_is_named(way, ordinary, public_folder, delegated):
    sets_back = """
import time
own = [line.split(':', 2)[2].strip() for line in open('/proc/self/cgroup') if ':memory:' in line]
held = bytearray(b'x') * 100_000_000
del held
open('/proc/self/clear_refs', 'w').write('5')
open('/sys/fs/cgroup/memory' + own[0] + '/memory.max_usage_in_bytes', 'w').write('0')
time.sleep(0.3)
"""
    program, arguments = (sets_back, []) if way == "peak" else (MARKED, [str(public_folder / "file"), "own"])
    out = public_folder / "out"
    words = [*ordinary, "-m", "beyond_ram", "watch", "--interval-ms", "5000", "--max-anon", "60MB", "--out", str(out)]
    words += ["--", ordinary[-1], "-I", "-S", "-c", program, *arguments]
    done = subprocess.run([*delegated, *words], capture_output=True, text=True, timeout=60)
    record = record_in(out)
    assert (record["exit_status"], record["peak"]["hwm_bytes"]["set_back"]) == (0, None), done.stderr
    if way == "peak":
        assert "set back" in named(record) and weak(record) == (True, "unknown") and done.returncode == 3
    else:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith(("within", "unknown"))]
        assert line.startswith("unknown") or line.endswith("by the marks of its processes"), line


def test_writer_that_ended_waits_for_its_record(tmp_path):
    """Its record may come after its write was seen."""
    with only_child("") as parent:
        sampler = Sampler(tmp_path / "s.csv", 0, Tree(parent))
        sampler.exits = sampler.exits or cast("Exits", SimpleNamespace(new=list, close=lambda: None))
        with subprocess.Popen([*PYTHON, ""]) as ended:
            pass
        sampler._writers = [(ended.pid, PEAK)]
        sampler._note_writers()
        assert not sampler.written
        sampler.peaks._record_end(ended.pid, "python", 1, final=True)
        sampler._note_writers()
        assert sampler.written == {PEAK}
        sampler.close()


def test_more_writes_than_the_kernel_queues_are_noticed(tmp_path):
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queued > 1 << 16:
        pytest.skip("the queue is too long to fill")
    writes = Writes(tmp_path)
    for number in range(queued + 1):  # equal events in sequence are queued once
        (tmp_path / f"{number % 2}").write_bytes(b"")
    assert (os.getpid(), _TOO_OFTEN) in writes.new()
    writes.close()


@pytest.mark.parametrize(("by_group", "around", "noted"), [(1, 0, False), (0, 1, False), (0, 0, True)])
def test_kill_that_no_followed_group_counts_is_named(by_group, around, noted, monkeypatch):
    def group(kills):
        return SimpleNamespace(kills=lambda: kills, meter=SimpleNamespace(kills=lambda: kills))

    monkeypatch.setattr(machine, "oom_kills", lambda: 6)
    missing, peaks = Missing(), SimpleNamespace(killed={7}, name_of=str)
    counting = SimpleNamespace(group=group(by_group), around=group(around))
    options = SimpleNamespace(memory_limit_bytes=None)
    run = SimpleNamespace(counting=counting, oom_kills=5, missing=missing, options=options)
    watcher._Run._note_kills_elsewhere(run, SimpleNamespace(sampler=SimpleNamespace(peaks=peaks)))
    assert missing.has(UNSEEN) is noted


@pytest.mark.slow
@pytest.mark.skipif(not COLLAPSES, reason="the kernel has no huge pages")
@pytest.mark.usefixtures("alone")
def test_shared_pages_that_become_huge_for_a_moment_are_counted(watched):
    program = (
        FORKS.partition("(replaced, tell)")[0]
        + """
if os.fork() == 0:
    time.sleep(0.5); request_of(base, size, 25); request_of(base, size, 4); time.sleep(0.5); os._exit(0)
raise SystemExit(os.wait()[1])
"""
    )
    record = watched(program.replace("40 << 20", "160 << 20"), interval_ms=400)
    if record["exit_status"]:
        pytest.skip("the kernel has no MADV_COLLAPSE")
    request = request_of(record)
    assert request.at_least or request.request_bytes > 2 * (160 << 20)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("way", ["name", "groups"])
def test_what_else_stands_in_its_status_does_not_hide_a_process(way, watched):
    if way == "groups" and os.geteuid() != 0:
        pytest.skip("joining groups needs root")
    hides = {
        "name": "ctypes.CDLL(None).prctl(15, b'VmLck:SigQ:', 0, 0, 0)",  # the lines about memory begin and end so
        "groups": "os.setgroups(range(100_000, 101_000))",  # they come first, in more than a page
    }[way]
    record = watched(f"import ctypes, os, time\n{hides}\nheld = bytearray(b'x') * 100_000_000; time.sleep(0.5)")
    assert record["exit_status"] == 0
    assert record["peak"]["anon_bytes"] > 100 * MB and weak(record)[1] == "above"


@pytest.mark.slow
@needs_group
def test_limit_that_the_command_raises_is_named(watched):
    program = """
import re, time
text = open('/proc/self/cgroup').read()
v1, v2 = re.search('memory:(.*)', text), re.search('^0::(.*)', text, re.MULTILINE)
names = ['memsw.limit_in_bytes', 'limit_in_bytes'] if v1 else ['max']
folder = '/sys/fs/cgroup/memory' + v1[1] if v1 else '/sys/fs/cgroup' + v2[1]
for name in names: open(f'{folder}/memory.{name}', 'w').write('300M')
held = bytearray(b'x') * 100_000_000; time.sleep(0.2)
"""
    record = watched(program, memory_limit_bytes=60 * MB)
    if record["exit_status"]:
        pytest.skip("the limit may not be raised here")
    assert "memory limit" in [note["what"] for note in record["missing"]]  # a busy machine may miss others


@pytest.mark.slow
@needs_group
def test_writes_of_others_to_memory_groups_are_not_the_commands(watched, other_group):
    mover = [*PYTHON, "import sys, time; open(sys.argv[1] + '/cgroup.procs', 'w').write('0'); time.sleep(0.2)"]
    with subprocess.Popen([*mover, str(other_group.path)]):
        assert watched("import time; time.sleep(0.6)")["missing"] == []


# Forks four children, which replace the 40 MB that they share. When all have, they hold that for 2 s.
FORKS = """
import ctypes, fcntl, mmap, os, struct, sys, time
libc, size = ctypes.CDLL(None), 40 << 20
held = mmap.mmap(-1, size + (2 << 20), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
base = ctypes.addressof(ctypes.c_char.from_buffer(held))
base += -base % (2 << 20)
ctypes.memset(base, 1, size); time.sleep(0.3)
def request_of(at, size, how): assert not libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), how)
def userfaultfd():
    number = {'x86_64': 323, 'aarch64': 282}[os.uname().machine]
    file, source = libc.syscall(number, 1), ctypes.create_string_buffer(1 << 20)
    fcntl.ioctl(file, 0xC018AA3F, struct.pack('QQQ', 0xAA, 0, 0))
    fcntl.ioctl(file, 0xC020AA00, struct.pack('QQQQ', base, size, 1, 0))
    for at in range(base, base + size, 1 << 20):
        page = ctypes.addressof(source) & -4096
        request_of(at, 1 << 20, 4)
        for to in range(at, at + (1 << 20), 4096):
            fcntl.ioctl(file, 0xC028AA03, struct.pack('QQQQq', to, page, 4096, 0, 0))
def huge():
    request_of(base, size, 14)
    for at in range(base, base + size, 2 << 20): request_of(at, 2 << 20, 4); ctypes.memset(at, 2, 2 << 20)
(replaced, tell), (end, holds) = os.pipe(), os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(holds); time.sleep(0.3); globals()[sys.argv[1]](); os.write(tell, b'.'); os.close(tell)
        os.read(end, 1); os._exit(0)
os.close(tell)
while os.read(replaced, 1): pass
time.sleep(2); os.close(holds)
raise SystemExit(any(os.wait()[1] for _ in range(4)))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("way", ["userfaultfd", "huge"])
def test_shared_pages_that_are_replaced_without_faults_are_read(way, watched):
    if way == "huge" and not COLLAPSES:
        pytest.skip("the kernel has no huge pages")
    record = watched(FORKS, way)
    if record["exit_status"] and way == "userfaultfd":
        pytest.skip("the kernel has no userfaultfd")
    assert record["exit_status"] == 0
    assert record["peak"]["kept"]["kept_bytes"] > 5 * (40 << 20)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_lines_say_that_memory_of_processes_was_sampled(watched):
    for _ in range(5):
        record = watched("import time; held = bytearray(30_000_000); time.sleep(0.2)")
        if not record["missing"]:  # else the watcher had no processor for a moment, and says so
            break
    record["ceilings"] = ceilings.judge(record, [ceilings.Ceiling(kind, 60 * MB, "60MB") for kind in ceilings.KINDS])
    told = [line for line in lines(record) if line.startswith(("ask for", "within"))]
    assert len(told) == 3 and all("of its processes" in line and len(line) <= 120 for line in told), told


def run_in(out, prefix, program, *arguments):
    words = [*prefix, *CLI, "--out", str(out), "--", *PYTHON, program, *arguments]
    subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return record_in(out)


@pytest.mark.slow
@pytest.mark.parametrize("below", ["", "/task"])
def test_mount_over_a_process_is_noticed(below, tmp_path, unshared):
    program = f"""
import ctypes, os, sys, time
child = os.fork()
if child == 0: time.sleep(0.3); os._exit(0)
source = '/proc/%d' % os.getpid() if not '{below}' else sys.argv[1]
assert not ctypes.CDLL(None).mount(source.encode(), b'/proc/%d{below}' % child, None, 4096, None)
os.wait()
"""
    (tmp_path / "empty").mkdir()
    record = run_in(tmp_path / "out", unshared("-Urm"), program, str(tmp_path / "empty"))
    assert f"{below}, so that" in named(record) and request_of(record).at_least


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting /proc again needs root")
def test_proc_in_place_of_proc_is_noticed(tmp_path, unshared):
    program = """
import ctypes, time
libc = ctypes.CDLL(None)
assert not libc.umount2(b'/proc', 2) and not libc.mount(b'proc', b'/proc', b'proc', 0, None)
time.sleep(0.3)
"""
    record = run_in(tmp_path, unshared("-m"), program)
    assert "mounted on /proc, so that" in named(record) and request_of(record).at_least


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="entering a namespace of others needs root")
@pytest.mark.usefixtures("alone")
def test_process_that_a_namespace_of_others_adopts_is_noticed(watched, unshared):
    program = """
import ctypes, os, sys, time
time.sleep(0.1)
if os.fork() == 0:
    space = os.open('/proc/%s/ns/pid' % sys.argv[1], os.O_RDONLY)
    assert not ctypes.CDLL(None).setns(space, 0)
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(1.4)
        os._exit(0)
    os.wait(); os._exit(0)
os.wait(); time.sleep(1.5)
"""
    with subprocess.Popen([*unshared("-p", "--fork"), "sleep", "60"]) as maker:
        try:
            until = [*PYTHON, "import sys, time\nwhile not open(sys.argv[1]).read(): time.sleep(0.01)"]
            children = f"/proc/{maker.pid}/task/{maker.pid}/children"
            subprocess.run([*until, children], timeout=20, check=True)
            first = Path(children).read_text().strip()
            record = watched(program, first)
        finally:
            subprocess.run(["kill", "-9", *Path(children).read_text().split()])
    assert record["exit_status"] == 0
    assert "namespace of others" in named(record) and weak(record) == (True, "unknown")


@pytest.mark.slow
def test_container_of_the_command_is_no_namespace_of_others(tmp_path, unshared):
    program = (
        "import os, time as t\nif os.fork(): os.wait()\nelif os.fork(): os._exit(0)\nelse: t.sleep(0.2)\nt.sleep(0.3)"
    )
    prefix = unshared("-Urpf")
    words = [*CLI, "--out", str(tmp_path), "--", *prefix, *PYTHON, program]
    subprocess.run(words, capture_output=True, timeout=60, check=True)
    assert record_in(tmp_path)["missing"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_processes_whose_main_threads_have_ended_do_not_share_their_parents_memory(watched):
    program = """
import ctypes, os, platform, signal, threading, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
number, libc = {'x86_64': 60, 'aarch64': 93}[platform.machine()], ctypes.CDLL(None)
def leader_ends(work):
    threading.Thread(target=work).start()
    time.sleep(0.1)
    libc.syscall(number, 0)
def child():
    time.sleep(0.1)
    held = bytearray(b'x' * 100_000_000)
    time.sleep(0.8)
    os._exit(0)
def parent():
    time.sleep(0.3)
    if os.fork() == 0:
        threading.Thread(target=child).start()
        libc.syscall(number, 0)
    time.sleep(1.5)
    os._exit(0)
leader_ends(parent)
"""
    record = watched(program)
    assert record["peak"]["anon_bytes"] > 100 * MB
    assert weak(record)[1] == "above"


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "note"), [(0.05, "was stopped"), (1, "nothing was read for")])
def test_stop_of_the_watcher_is_named(seconds, note, tmp_path):
    program = f"""
import os, signal, time
time.sleep(0.1)
watcher = int(open('/proc/%d/stat' % os.getppid()).read().rpartition(')')[2].split()[1])
os.kill(watcher, signal.SIGSTOP); time.sleep({seconds}); os.kill(watcher, signal.SIGCONT); time.sleep(0.2)
"""
    record = run_in(tmp_path, [], program)
    assert note in named(record) and weak(record) == (True, "unknown")


@pytest.mark.slow
def test_last_process_of_a_quick_chain_of_forks_is_left_running(watched):
    """Each process ends as soon as it has a child, so a listed one is gone before it is read."""
    program = "import os, time\nfor _ in range(60):\n    if os.fork(): os._exit(0)\ntime.sleep(1)"
    assert watched(program)["left_running"], "two, if one was read just before it ended"
