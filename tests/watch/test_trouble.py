"""Trouble of the watcher: the command still runs to its end, its status is passed on, and the record names what is
missing."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from beyond_ram.watch import groups, recorder, watch
from beyond_ram.watch.exit_status import as_a_shell, signal_name

from .conftest import CLI, PYTHON, called, check_files, events_in, needs_group, read_within, record_in, samples_in
from .test_any_command import FAMILY
from .test_events import SAY

FAILS = [*PYTHON, "import time; time.sleep(0.1); raise SystemExit(5)"]


def missing_notes(record):
    return "\n".join(f"{note['what']}: {note['why']}" for note in record["missing"])


# --- lines of programs

RAW = """
import os, sys, time
def raw(line):
    fd = os.open(os.environ['BEYOND_RAM_EVENTS'], os.O_WRONLY | os.O_APPEND)
    while line:
        line = line[os.write(fd, line):]
    os.close(fd)
now = b'%f' % time.monotonic()
"""


@pytest.mark.slow
def test_no_line_of_a_program_ends_the_watcher(watched, tmp_path):
    hostile = [
        rb"""b'{"monotonic_s": ' + now + b', "event": "\\ud800", "x": "\\udfff"}\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "own time", "t_s": null}\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "own time", "t_s": "x"}\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "own time", "t_s": 1e9, "tree": 5}\n' """,
        rb"""b'{"monotonic_s": ' + b'9' * 400 + b', "event": "x"}\n' """,
        rb"""b'{"monotonic_s": 1e300, "event": "future"}\n' """,
        rb"""b'{"monotonic_s": NaN, "event": "x"}\n{"monotonic_s": Infinity, "event": "x"}\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "values", "a": NaN, "b": -Infinity, "c": 5}\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "beyond", "a": 1e999, "c": 5}\n' """,
        rb"""b'[' * 200_000 + b'\n' """,
        rb"""b'{"monotonic_s": ' + now + b', "event": "work", "rows": 3, "tokens": 1e999}\n' """,
        rb"""b'\xff\xfe\n\n{}\n' """,
    ]
    program = RAW + "\n".join(f"raw({line.decode()})" for line in hostile) + "\ntime.sleep(1); sys.exit(7)"
    record = watched(program)
    assert record["exit_status"] == 7
    seen = events_in(tmp_path / "out")
    assert [event["event"] for event in seen][:2] == ["start", "\ud800"]
    assert all(0 <= event["t_s"] <= record["duration_s"] for event in seen)
    assert [event["tree"]["rss_bytes"] > 0 for event in seen if event["event"] == "own time"] == [True] * 3
    values = next(event for event in seen if event["event"] == "values")
    assert (values["a"], values["b"], values["c"]) == (None, None, 5)
    assert next(event for event in seen if event["event"] == "beyond")["c"] == 5
    assert record["work"] == {"rows": 3}
    assert "lines that are no events were passed over" in missing_notes(record)
    assert "fields that JSON cannot hold were left out" in missing_notes(record)
    json.dumps(record, allow_nan=False)


@pytest.mark.slow
def test_phase_with_any_name_is_one_field_of_one_line(watched, tmp_path, monkeypatch):
    names = ['a,"b"', "c\rd", "e\nf", "\x1b[31mred", "\ud800", "", "x" * 5000]
    program = SAY + f"for name in {names!r}:\n say('phase', phase=name)\n time.sleep(0.05)"
    monkeypatch.setattr(recorder, "MAX_LINES", 10)
    record = watched(program, interval_ms=2)
    rows = samples_in(tmp_path / "out")
    assert record["sampler"]["samples_per_line"] > 1, "samples were not thinned"
    assert all(None not in row and None not in row.values() for row in rows)
    expected = ["", 'a,"b"', "c?d", "e?f", "?[31mred", "?", "x" * 300]
    assert {row["phase"] for row in rows} <= set(expected)
    assert len({row["phase"] for row in rows}) > 1
    assert [span["phase"] for span in record["phases"]] == [*expected[:-1], "", "x" * 300]
    assert record["missing"] == []


@pytest.mark.slow
def test_events_with_line_separators_are_sorted(watched, tmp_path):
    program = RAW + (
        "import json\n"
        "for at, name in ((time.monotonic(), 'b'), (time.monotonic() - 0.02, 'a')):\n"
        " raw(json.dumps({'monotonic_s': at, 'event': name, 'x': '1\\u20282\\x853'}, ensure_ascii=False).encode()"
        " + b'\\n')\n"
        " time.sleep(0.1)\n"
        "sys.exit(6)"
    )
    record = watched("import time; time.sleep(0.1)\n" + program)
    assert record["exit_status"] == 6
    assert [event["event"] for event in events_in(tmp_path / "out")] == ["start", "a", "b", "end"]
    assert events_in(tmp_path / "out")[1]["x"] == "1\u20282\x853"


@pytest.mark.slow
def test_line_without_an_end_costs_neither_memory_nor_time(tmp_path):
    program = RAW + "for _ in range(200): raw(b'x' * 1_000_000)\n"
    program += 'raw(b\'\\n{"monotonic_s": \' + now + b\', "event": "after"}\\n\')'
    start = "import os, sys, time; from beyond_ram.cli import main; status = main(sys.argv[1:]); "
    start += "from beyond_ram.watch import procfs; "
    start += "print(procfs.memory(os.getpid()).hwm_bytes, time.process_time()); "
    start += "sys.exit(status)"
    command = [sys.executable, "-c", start, "watch", "--out", str(tmp_path), "--", *PYTHON, program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hwm_bytes, cpu_s = map(float, done.stdout.split())
    assert hwm_bytes < 100e6
    assert cpu_s < 2
    assert "after" in [event["event"] for event in events_in(tmp_path)]
    assert "missing     events: a line longer than 1048576 bytes was passed over" in done.stderr


def test_impossible_mark_is_ignored(watched):
    program = SAY + "say('x', hwm_bytes=10**30); say('x', hwm_bytes=True); time.sleep(0.1)"
    peak = watched(program)["peak"]
    assert peak["hwm_bytes"]["processes"][0]["hwm_bytes"] < 10**9
    assert peak["hwm_bytes"]["concurrent_upper_bound_bytes"] < 10**12


# --- descriptors

CLOSED = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-", "all": "<&- >&- 2>&-"}
CLOSED |= {"full stdout": "> /dev/full", "full stderr": "2> /dev/full"}


@pytest.mark.slow
@pytest.mark.parametrize(("how", "has_group"), [*((how, True) for how in CLOSED), ("all", False)])
def test_closed_or_full_descriptors_do_not_stop_the_command(how, has_group, tmp_path):
    seen, how = tmp_path / "seen", CLOSED[how]
    # The command has the descriptors that it would have unwatched.
    inner = f"for n in 0 1 2; do [ -e /proc/$$/fd/$n ] && echo $n >> {seen}; done; sleep 0.1; exit 5"
    alone = f"sh -c '{inner}' {how}"
    assert subprocess.run(["sh", "-c", alone], stdin=subprocess.DEVNULL, capture_output=True).returncode == 5
    expected = seen.read_text() if seen.exists() else ""
    seen.unlink(missing_ok=True)
    no_group = "from beyond_ram.watch import groups; groups.make = lambda limit: exec('raise groups.GroupError()'); "
    start = f"import sys; {'' if has_group else no_group}"
    start += "from beyond_ram.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["exec", sys.executable, "-c", '"$0"', "watch", "--", "sh", "-c", '"$1"']
    call = ["sh", "-c", f"{' '.join(words)} {how}", start, inner]
    done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 5, done.stderr
    assert (seen.read_text() if seen.exists() else "") == expected


# --- status

REALTIME = int(signal.SIGRTMIN) + 6


@pytest.mark.parametrize("number", [1, 9, 15, int(signal.SIGRTMIN), REALTIME, int(signal.SIGRTMAX)])
def test_names_of_signals_give_their_status(number):
    assert as_a_shell({"exit_status": None, "signal": signal_name(number)}) == 128 + number


@pytest.mark.parametrize(("outcome", "status"), [("killed_at_limit", 137), ("completed", 0)])
def test_kill_at_the_limit_is_no_success(outcome, status):
    """A shell may end with 0 after the kernel has killed its child, and before all of it is killed."""
    assert as_a_shell({"exit_status": 0, "signal": None, "outcome": outcome}) == status


@pytest.mark.slow
def test_real_time_signal_and_non_utf8_arguments_are_recorded(tmp_path):
    words = ["sh", "-c", f"sleep 0.1; kill -{REALTIME} $$", b"\xff\xfe"]
    called(*CLI, "--out", str(tmp_path), "--", *words, status=128 + REALTIME)
    record = record_in(tmp_path)
    assert record["signal"] == f"SIG{REALTIME}"
    assert os.fsencode(record["command"][-1]) == b"\xff\xfe"
    assert record["missing"] == []


@pytest.mark.slow
def test_signal_that_may_not_be_passed_on_is_reported(ordinary, public_folder):
    """A setuid program belongs to another user: signals to the watcher cannot reach it, as if unwatched."""
    program = public_folder / "become-root"
    shutil.copy(shutil.which("setpriv") or "", program)
    program.chmod(0o4755)
    if os.statvfs(public_folder).f_flag & os.ST_NOSUID:
        pytest.skip("no setuid on this file system")
    command = [*ordinary, *CLI[1:], "--", str(program), "--reuid=0", "sh", "-c", "echo begun; sleep 1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout and watcher.stderr
        assert watcher.stdout.readline() == "begun\n"
        watcher.send_signal(signal.SIGTERM)
        output = watcher.stderr.read()
    assert watcher.returncode == 0, output
    assert "SIGTERM was not passed on: Operation not permitted" in output


# --- files and folders


@contextmanager
def watched_command(out, *flags):
    """Do what is in the block while a command runs under the watcher. The command then ends with 5."""
    command = [*CLI, "--out", str(out), *flags, "--", "sh", "-c", "echo begun; read word; exit 5"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as watcher:
        assert watcher.stdout and watcher.stdout.readline() == "begun\n"
        time.sleep(0.1)
        yield
        output = watcher.communicate("\n", timeout=20)[1]
    assert watcher.returncode == 5, output


@pytest.mark.slow
def test_deleted_out_folder_is_made_again(tmp_path):
    with watched_command(tmp_path / "out"):
        shutil.rmtree(tmp_path / "out")
    check_files(tmp_path / "out")
    assert [event["event"] for event in events_in(tmp_path / "out")] == ["start", "end"]
    assert record_in(tmp_path / "out")["sampler"]["samples"] > 1


@pytest.mark.slow
def test_program_without_its_events_file_continues(tmp_path, root):
    program = f"import shutil, events; shutil.rmtree({str(tmp_path / 'out')!r}); events.mark('x'); raise SystemExit(5)"
    environment = os.environ | {"PYTHONPATH": str(root / "scripts" / "workloads")}
    command = [*CLI, "--out", str(tmp_path / "out"), "--", sys.executable, "-c", program]
    assert "the event 'x' was not recorded: [Errno 2]" in called(*command, status=5, env=environment)


@pytest.mark.slow
def test_input_removed_meanwhile_is_reported(tmp_path):
    (tmp_path / "input").write_bytes(b"x" * 10_000)
    with watched_command(tmp_path / "out", "--input", str(tmp_path / "input")):
        (tmp_path / "input").rename(tmp_path / "renamed")
    record = record_in(tmp_path / "out")
    assert "page cache: No such file or directory" in missing_notes(record)
    cached = record["page_cache"]
    assert (cached["input_resident_after"], cached["warning"]) == (None, None)
    assert cached["input_bytes"] >= 10_000 and cached["input_resident_before"] is not None
    assert record["peak"]["rss_bytes"] > 0


@pytest.mark.slow
def test_earlier_record_is_removed_before_new_samples(tmp_path):
    for earlier in ("", "{\n", '{"outcome": "comp'):
        (tmp_path / "run.json").write_text(earlier)
        (tmp_path / "events.jsonl").write_text('{"t_s": 0, "ev')
        watch([*PYTHON, "import time; time.sleep(0.05)"], tmp_path)
        assert not (tmp_path / "run.json").exists(), "the earlier record still exists"
        assert [event["event"] for event in events_in(tmp_path)] == ["start", "end"]


def kept_elsewhere(folder, *options):
    """Watch a command whose files have no place; return the folder below `folder` where they are, and the output."""
    environment = os.environ | {"TMPDIR": str(folder)}
    output = called(*CLI, *options, "--", *FAILS, status=5, env=environment)
    (kept,) = folder.glob("beyond-ram-kept-*")
    check_files(kept)
    return kept, output


@pytest.mark.slow
def test_files_are_kept_elsewhere_if_folders_have_their_names(tmp_path):
    for name in ("samples.csv", "run.json"):
        (tmp_path / "out" / name / "mine").mkdir(parents=True)
    kept, output = kept_elsewhere(tmp_path, "--out", str(tmp_path / "out"))
    assert output.count(f"it is in {kept}") == 2
    assert (tmp_path / "out" / "samples.csv" / "mine").is_dir()


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount a file system of 256 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder):
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            return folder / "filler"


@pytest.mark.slow
def test_files_are_kept_elsewhere_if_the_disk_stays_full(tiny_disk, tmp_path):
    fill(tiny_disk)
    page = tmp_path / "page.html"
    kept, output = kept_elsewhere(tmp_path, "--out", str(tiny_disk / "out"), "--html", str(page))
    assert "No space left on device; it is in" in output
    assert "No space left on device" in missing_notes(record_in(kept))
    assert "Kept memory over time" in page.read_text()


@pytest.mark.slow
def test_disk_that_is_full_for_a_while_loses_no_sample(tiny_disk, tmp_path):
    """Samples wait while the disk is full, and are written later."""
    program = (
        SAY + "say('phase', phase='x' * 300)\n" + f"go = {str(tmp_path / 'go')!r}\nopen(go + '.ready', 'w').close()\n"
        "while not os.path.exists(go):\n held = bytes(3_000_000); time.sleep(0.005); del held; time.sleep(0.005)\n"
        "sys.exit(5)"
    )
    start = (
        "import sys; from pathlib import Path; from beyond_ram.watch import WatchOptions, watch, write_record\n"
        "from beyond_ram.watch import outfile; outfile._AT_ONCE_BYTES = 1\n"
        f"out = Path({str(tiny_disk / 'out')!r})\n"
        f"record = watch({[*PYTHON, program]!r}, out, WatchOptions(interval_ms=1))\n"
        "write_record(record, out); sys.exit(record['exit_status'])"
    )
    watcher = subprocess.Popen([sys.executable, "-c", start])
    while not (tmp_path / "go.ready").exists() and watcher.poll() is None:
        time.sleep(0.01)
    filler = fill(tiny_disk)
    time.sleep(2)  # until the page that it writes into is full
    filler.unlink()
    time.sleep(0.6)
    (tmp_path / "go").touch()
    assert watcher.wait(20) == 5
    record = record_in(tiny_disk / "out")
    note = next(note for note in record["missing"] if "No space left" in note["why"])
    assert note["what"] == "samples.csv"
    assert note["until_s"] < record["duration_s"] - 0.3, "the note does not end when there was room"
    times = [float(row["t_s"]) for row in samples_in(tiny_disk / "out")]
    assert record["sampler"]["lines"] == len(times), "lines were lost"
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) < 1.5, "it was full for 2.6 s"


# --- restrictions of the machine


@pytest.mark.slow
def test_few_open_files_are_enough_for_many_processes(tmp_path):
    program = "import os, time\nfor _ in range(60):\n if os.fork() == 0: break\ntime.sleep(1)"
    command = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *CLI, "--out", str(tmp_path), "--", *PYTHON, program]
    called(*command)
    assert record_in(tmp_path)["peak"]["processes"] == 61


@pytest.mark.slow
def test_name_of_a_process_cannot_control_the_terminal(watched):
    from beyond_ram.watch.summary import lines

    program = "import time\nopen('/proc/self/comm', 'wb').write(b'\\x1b[31m\\x07red')\ntime.sleep(0.2)\n"
    program += "import os\nif os.fork() == 0:\n os.setsid(); time.sleep(1.5)\nheld = b'x' * 30_000_000; time.sleep(0.2)"
    record = watched(program)
    text = "\n".join(lines(record))
    assert "red" in text
    assert "\x1b" not in text + json.dumps(record, ensure_ascii=False)
    assert "\x07" not in text
    for entry in record["left_running"]:
        os.kill(entry["pid"], signal.SIGKILL)


KILLS = int(os.environ.get("KILLS", "8"))


def groups_folder():
    try:
        group = groups.make()
    except groups.GroupError:
        return None
    group.remove()
    return group.path.parent


def leftovers(parent, folder):
    """Return files, and empty groups whose maker has ended: other tests may make groups of their own."""
    below = {path for path in parent.iterdir() if path.is_dir() and is_left(path)} if parent else set()
    return below | set(folder.rglob(".watch-*")) | set(folder.glob("beyond-ram-*"))


def is_left(group):
    maker = re.match(r"beyond-ram-\d+-(\d+)-", group.name)
    try:
        return not (maker and Path("/proc", maker[1]).exists()) and not (group / "cgroup.procs").read_text()
    except OSError:  # gone meanwhile
        return False


def kill_watcher(wait, folder, *flags):
    """Kill a watcher after `wait`, a function of the pipe to which its processes write their ids. All of them end."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    command = [*CLI, *flags, "--", *PYTHON, FAMILY, str(write)]
    how = {"pass_fds": [write], "stderr": subprocess.DEVNULL, "env": os.environ | {"TMPDIR": str(folder)}}
    with subprocess.Popen(command, **how) as watcher:
        os.close(write)
        wait(read)
        watcher.kill()
    while read_within(read, 20):  # it ends when its last holder is dead
        pass
    os.close(read)


def left_after(before, most, *folders):
    """Wait some seconds until at most `most` new groups and files are left, and check it."""
    deadline = time.monotonic() + 5
    while len(left := leftovers(*folders) - before) > most and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(left) <= most, left


@pytest.mark.slow
def test_kill_at_any_moment_leaves_no_orphan_and_no_partial_record(tmp_path):
    chance, folders = random.Random(11), (groups_folder(), tmp_path)
    before = leftovers(*folders)
    for n in range(KILLS):
        kill_watcher(lambda _: time.sleep(chance.uniform(0.1, 0.6)), tmp_path, "--out", str(tmp_path / str(n)))
        assert not [*tmp_path.glob(f"{n}/[!.]*")]
    # In the milliseconds between making a folder and a group and starting the guard, no process would remove them.
    left_after(before, 2 * (KILLS // 8), *folders)


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False], ids=["with-out", "without-out"])
def test_killed_watcher_leaves_no_process_group_or_file(keeps, tmp_path):
    folders = groups_folder(), tmp_path
    before = leftovers(*folders)

    def wait(pipe):
        pids = []
        while len(pids) < 5:  # the command, two workers, a child of each
            pids += read_within(pipe, 20).split()
        assert leftovers(*folders) - before

    kill_watcher(wait, tmp_path, *(["--out", str(tmp_path / "out")] if keeps else []))
    left_after(before, 0, *folders)


# --- clocks


@pytest.mark.slow
def test_stepped_clock_changes_nothing(watched, tmp_path, monkeypatch):
    """At each call Python's wall clock goes back a day or forth two in the watcher's process. A test must not set the
    machine's clock."""
    steps = 0

    def stepped():
        nonlocal steps
        steps += 1
        return 1e9 + (-86_400 if steps % 2 else 172_800)

    monkeypatch.setattr(time, "time", stepped)
    monkeypatch.setattr(time, "time_ns", lambda: int(stepped() * 1e9))
    record = watched(SAY + "time.sleep(0.2); say('phase', phase='a'); time.sleep(0.2)")
    times = [event["t_s"] for event in events_in(tmp_path / "out")]
    assert times == sorted(times)
    assert 0.35 < record["duration_s"] < 5
    assert 0.15 < times[1] < record["duration_s"] == times[-1]
    assert record["missing"] == []


@pytest.mark.slow
def test_events_of_another_monotonic_clock_are_placed_when_read(watched, tmp_path, unshared):
    """In a time namespace a program's monotonic clock is days ahead: its events have the time of their reading."""
    ahead = unshared("--time", "--monotonic", "100000", "--fork")
    program = SAY + "time.sleep(0.3); say('phase', phase='a'); time.sleep(0.2); say('b')"
    record = watch([*ahead, *PYTHON, program], tmp_path)
    times = [event["t_s"] for event in events_in(tmp_path)]
    assert times == sorted(times)
    assert 0.3 < times[1] < times[2] <= record["duration_s"], "the event is 100,000 s later, or at the start"


@pytest.mark.slow
@needs_group
def test_group_that_becomes_unreadable_is_reported(watched, monkeypatch):
    made = groups.make
    made_groups = []

    def kept(limit_bytes=None):
        made_groups.append(made(limit_bytes))
        return made_groups[0]

    def lose(*_):
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), made_groups[0].meter._open["usage"] or -1)

    monkeypatch.setattr(groups, "make", kept)
    record = watched(SAY + "say('x'); time.sleep(0.3); sys.exit(5)", on_event=lose)
    assert record["exit_status"] == 5
    assert 0 < record["peak"]["cgroup_bytes"] < 100_000_000
    assert "cgroup: ValueError" in missing_notes(record)
    assert record["peak"]["rss_bytes"] > 0
