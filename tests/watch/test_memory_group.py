"""Memory that a group is charged with: texts of real groups of both versions, and a real group."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from beyond_ram.memory_request import AROUND, GROUP, TREE, UNSEEN, request_of
from beyond_ram.watch import ceilings, groups, memory_group
from beyond_ram.watch.memory_group import GroupMeter, limit_bytes, own_group, parse
from beyond_ram.watch.sampler import Counting, Sampler
from beyond_ram.watch.tree import Tree

from .conftest import CLI, PYTHON, needs_group, only_child, record_in

MB = 1_000_000
# From a group on Linux 6.18 with 300 MB written to /dev/shm and 50 MB of a file on disk, shortened.
V1 = b"""cache 1
rss 2
total_cache 350003200
total_rss 5722112
total_shmem 300003328
total_swap 40960
total_swapcached 4096
total_inactive_file 49999872
total_active_file 0
"""
# From a systemd scope on Linux 6.8.
V2 = b"""anon 104857600
file 62914560
kernel 9437184
shmem 20971520
swapcached 1048576
inactive_file 31457280
active_file 6291456
slab_reclaimable 3145728
slab 5242880
"""


def test_charges_of_cgroup_v1_are_parsed():
    group_charges = parse(1, V1, 357_000_000)
    assert (group_charges.anon_bytes, group_charges.shmem_bytes) == (5722112, 300003328)
    assert group_charges.swap_bytes == 40960
    assert group_charges.kernel_bytes == 357_000_000 - 5722112 - 350003200 - 4096
    # Shared memory stays even if it is not mapped; the file on disk does not.
    assert group_charges.kept_bytes == 357_000_000 - 49999872 + 36864


def test_charges_of_cgroup_v2_are_parsed():
    usage = 104857600 + 62914560 + 9437184
    group_charges = parse(2, V2, usage, 5242880)
    assert (group_charges.anon_bytes, group_charges.shmem_bytes) == (104857600, 20971520)
    assert group_charges.kernel_bytes == 9437184 - 3145728
    assert group_charges.away_bytes == 5242880 - 1048576
    # Locked file pages are on no list of reclaimable pages: they stay.
    locked = 62914560 - 20971520 - 31457280 - 6291456
    kinds = [getattr(group_charges, f"{name}_bytes") for name in ("anon", "shmem", "kernel", "away")]
    assert group_charges.kept_bytes == sum(kinds) + locked


class Folder:
    """The files of a group, as plain files."""

    def __init__(self, path):
        self.path = path
        (path / "memory.events").write_text("low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n")
        self.set(0, 0, 0)

    def set(self, kept, cached, peak, swap=0):
        stat = f"anon {kept}\nfile {cached}\nshmem 0\ninactive_file {cached}\nactive_file 0\n"
        (self.path / "memory.stat").write_text(stat)
        (self.path / "memory.current").write_text(f"{kept + cached}\n")
        (self.path / "memory.peak").write_text(f"{peak:020d}\n")
        (self.path / "memory.swap.current").write_text(f"{swap}\n")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_anonymous_memory_after_a_peak_of_shared_memory_counts(folder):
    meter = GroupMeter(folder.path, 2, ours=True)
    folder.set(10 * MB, 230 * MB, 240 * MB)
    stat = folder.path / "memory.stat"
    stat.write_text(stat.read_text().replace("shmem 0", f"shmem {230 * MB}").replace("inactive_file 2", "_ 2"))
    meter.look()
    folder.set(199 * MB, 0, 240 * MB)
    meter.look()
    meter.close()
    record = meter.record()
    assert (record["kept_sampled_bytes"], record["at_kept"]["anon_bytes"]) == (240 * MB, 10 * MB)
    assert record["sampled_anon_bytes"] == 199 * MB


def test_spike_between_two_samples_is_the_peak_less_page_cache(folder):
    meter = GroupMeter(folder.path, 2, ours=True)
    folder.set(10 * MB, 100 * MB, 110 * MB)
    assert meter.look()
    folder.set(10 * MB, 100 * MB, 150 * MB)  # 40 MB came and went
    meter.look()
    assert meter.kept_bytes == 50 * MB
    assert meter.sampled_bytes == 10 * MB
    folder.set(10 * MB, 400 * MB, 410 * MB)  # only the page cache has grown
    meter.look()
    record = meter.record()
    assert record["kept_bytes"] == 50 * MB
    assert record["kept_upper_bound_bytes"] == 310 * MB, "the bound is not the peak less the smallest page cache"
    meter.close()


def test_peak_that_cannot_be_reset_counts_when_it_rises(folder, monkeypatch):
    def refused(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "pwrite", refused)
    meter = GroupMeter(folder.path, 2, ours=True)
    folder.set(10 * MB, 100 * MB, 300 * MB)
    meter.look()
    assert not meter.can_reset
    assert meter.kept_bytes == 200 * MB
    folder.set(10 * MB, 20 * MB, 300 * MB)  # an old peak says nothing about the present cache
    meter.look()
    assert meter.kept_bytes == 200 * MB
    folder.set(20 * MB, 20 * MB, 320 * MB)
    meter.look()
    assert meter.kept_bytes == 300 * MB
    meter.close()


@pytest.mark.parametrize(
    ("ours", "before", "steps", "kept", "bound"),
    [
        (True, (0, 0, 0), [(100, 0, 100, 50)], 150, None),  # swapped memory is kept
        (False, (30, 70, 500), [(80, 200, 500)], 50, 470),  # what was there before is subtracted
        (False, (125, 0, 125), [(10, 0, 125), (120, 0, 125)], 110, None),  # what others free hides nothing new
    ],
)
def test_kept_memory_is_that_of_the_command(folder, ours, before, steps, kept, bound):
    """Sizes in MB: kept, page cache, the kernel's peak, swap."""
    folder.set(*(size * MB for size in before))
    meter = GroupMeter(folder.path, 2, ours=ours)
    for sizes in steps:
        folder.set(*(size * MB for size in sizes))
        meter.look()
    meter.close()
    record = meter.record()
    assert record["kept_bytes"] == record["at_kept"]["anon_bytes"] + record["at_kept"]["swap_bytes"] == kept * MB
    assert bound is None or record["kept_upper_bound_bytes"] == bound * MB


def test_only_kills_since_the_start_count(folder):
    (folder.path / "memory.max").write_text("524288000\n")
    (folder.path / "cgroup.procs").write_text(f"{os.getpid()}\n{os.getppid()}\n")
    (folder.path / "memory.events").write_text("oom 1\noom_kill 2\n")
    around = memory_group.Around(folder.path, 2)
    assert around.alone
    wanted = {"version": 2, "limit_bytes": 524288000, "kills": 0, "alone": True, "events": {"oom": 0, "oom_kill": 0}}
    assert {name: around.record()[name] for name in wanted} == wanted
    (folder.path / "memory.events").write_text("oom 2\noom_kill 3\n")
    assert around.kills() == 1
    (folder.path / "cgroup.procs").write_text(f"{os.getpid()}\n1\n999999999\n")
    assert not memory_group.Around(folder.path, 2).alone, "another process is in the group"
    (folder.path / "cgroup.procs").write_text(f"{os.getpid()}\n0\n")
    assert not memory_group.Around(folder.path, 2).alone, "a process outside of our PID namespace is in the group"


@pytest.mark.parametrize("whole", [None, True])
def test_usage_with_page_cache_is_that_of_a_group_of_the_tree_alone(whole, folder, tmp_path):
    """Not of the group that the tree shares with the watcher."""
    folder.set(50 * MB, 20 * MB, 70 * MB)
    (folder.path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    with only_child("") as parent:
        counting = Counting(around=memory_group.Around(folder.path, 2, whole=whole))
        sampler = Sampler(tmp_path / "s.csv", 0, Tree(parent), counting=counting)
        row = sampler.sample()
        sampler.close()
    assert row and row["cgroup_bytes"] == (70 * MB if whole else "")


# The groups are read-only inside, so that the watcher makes none.
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
CONTAINER = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", READ_ONLY]
HOLDS = "import time; held = bytearray(30_000_000); time.sleep(0.2)"


def _no_container():
    """Why no process can be put into a v1 group and a PID namespace, as in a container; None if it can."""
    own = own_group()
    if own is None or own[1] != 1 or not os.access(own[0] / "cgroup.procs", os.W_OK) or not shutil.which("unshare"):
        return "needs root, unshare and a v1 memory group"
    tried = subprocess.run([*CONTAINER, str(own[0]), "true"], capture_output=True)
    return None if tried.returncode == 0 else "no namespaces can be made here"


@pytest.mark.skipif(_no_container() is not None, reason=str(_no_container()))
@pytest.mark.parametrize(("others", "basis"), [(0, AROUND), (1, TREE)])
def test_process_outside_of_our_pid_namespace_is_not_overlooked(others, basis, tmp_path):
    """v1 does not list it: the memory that it frees would hide what the command takes."""
    above, _ = own_group() or (Path(), 1)
    group = above / f"test-of-namespaces-{os.getpid()}"
    group.mkdir()
    enter = f"open({str(group / 'cgroup.procs')!r}, 'w').write('0')\n"
    holds = enter + "import time; held = bytearray(60_000_000); print(flush=True); time.sleep(1000)"
    outside = [subprocess.Popen([*PYTHON, holds], stdout=subprocess.PIPE) for _ in range(others)]
    try:
        for process in outside:
            assert process.stdout and process.stdout.readline()
        command = [*CONTAINER, str(group), *CLI, "--out", str(tmp_path / "out")]
        begin = enter + "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"
        subprocess.run([*PYTHON, begin, *command, "--", *PYTHON, HOLDS], check=True)
    finally:
        for process in outside:
            with process:
                process.kill()
        groups.group.remove(group, above)
    peak = record_in(tmp_path / "out")["peak"]
    assert (peak["kept"]["basis"], peak["around"]["alone"]) == (basis, not others)
    assert peak["kept"]["kept_bytes"] > 30 * MB  # of a tree, others may add shared memory


def test_lowest_limit_of_all_groups_around_holds(tmp_path):
    inner = tmp_path / "job" / "step"
    inner.mkdir(parents=True)
    (tmp_path / "job" / "memory.max").write_text("1073741824\n")
    (inner / "memory.max").write_text("max\n")
    assert limit_bytes(inner, 2) == 1 << 30
    (inner / "memory.max").write_text("536870912\n")
    assert limit_bytes(inner, 2) == 1 << 29
    (inner / "memory.stat").write_text("cache 0\nhierarchical_memory_limit 268435456\n")
    assert limit_bytes(inner, 1) == 1 << 28
    (inner / "memory.stat").write_text("cache 0\nhierarchical_memory_limit 9223372036854771712\n")
    assert limit_bytes(inner, 1) is None


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("place", ["below", "own namespace", "bound", "root"])
def test_own_group_is_found(tmp_path, version, place):
    """/proc shows it below the root of all groups, as the root of a namespace, or bound into a container."""
    proc, mount = tmp_path / "proc", tmp_path / "mount"
    proc.mkdir()
    group = mount / "slurm" / "job_1" if place == "below" else mount
    group.mkdir(parents=True)
    places = {"below": ("/", "/slurm/job_1"), "bound": ("/docker/1", "/docker/1")}
    root, path = places.get(place, ("/", "/"))
    kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,memory"
    other = "31 24 0:27 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu"
    (proc / "mountinfo").write_text(f"{other}\n35 24 0:30 {root} {mount} rw,nosuid shared:9 - {kind}\n")
    (proc / "cgroup").write_text(f"3:cpu:/\n{'0:' if version == 2 else '4:memory'}:{path}\n")
    (group / "memory.stat").write_text("")
    if version == 1:
        (group / "memory.usage_in_bytes").write_text("0")
        if place == "root":
            (group / "release_agent").write_text("")
    elif place != "root":
        (group / "memory.current").write_text("0")
    assert own_group(proc) == (None if place == "root" else (group, version))


@pytest.mark.slow
@needs_group
def test_unmapped_shared_memory_is_kept(watched):
    program = """
import os, tempfile, time
with tempfile.TemporaryFile(dir='/dev/shm') as file:
    os.write(file.fileno(), bytes(50_000_000))
    time.sleep(0.2)
"""
    peak = watched(program)["peak"]
    assert peak["kept"]["basis"] == "group"
    assert 50 * MB < peak["kept"]["kept_bytes"] < 80 * MB
    assert peak["kept"]["at_kept"]["shmem_bytes"] == pytest.approx(50 * MB, rel=0.01)
    assert peak["shmem_bytes"] < 1 * MB


@pytest.mark.slow
@needs_group
def test_page_cache_is_not_kept(watched, tmp_path):
    program = "import sys, time; open(sys.argv[1], 'wb').write(bytes(60_000_000)); time.sleep(0.2)"
    peak = watched(program, str(tmp_path / "file"))["peak"]
    assert peak["cgroup_bytes"] > 60 * MB, "the written file is not in the page cache"
    assert peak["kept"]["kept_bytes"] < 30 * MB


@needs_group
def test_memory_that_was_given_back_and_written_again_is_kept(watched):
    program = """
import mmap, time
size, block = 64 << 20, bytes([1]) * (1 << 20)
heap = mmap.mmap(-1, size, mmap.MAP_PRIVATE)
for at in range(0, size, len(block)):
    heap[at:at + len(block)] = block
    heap.madvise(mmap.MADV_FREE, at, len(block))
    heap[at:at + len(block)] = block
time.sleep(0.2)
"""
    kept = watched(program)["peak"]["kept"]
    assert kept["basis"] == "group"
    assert 64 << 20 <= kept["kept_bytes"] < 100 << 20


MOVES = """
import os, sys, time
if os.fork() == 0:
    with open(sys.argv[1] + '/cgroup.procs', 'w') as file: file.write(str(os.getpid()))
    held = bytearray(60_000_000)
    time.sleep(0.1)
    os._exit(0)
print(os.wait()[0], flush=True)
"""


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize("limit_bytes", [None, 40 * MB])
def test_memory_charged_to_another_group_is_counted_from_the_processes(watched, limit_bytes, other_group):
    record = watched(MOVES, str(other_group.path), memory_limit_bytes=limit_bytes)
    kept = record["peak"]["kept"]
    assert record["outcome"] == "completed"
    assert (kept["basis"], kept["whole"]) == (TREE, True)
    assert 60 * MB < kept["kept_bytes"] < 100 * MB
    (note,) = record["missing"]
    assert note["what"] == UNSEEN and other_group.path.name in note["why"], "that group may have memory of no process"
    assert ("limit" in note["why"]) is (limit_bytes is not None)
    assert request_of(record).at_least
    (judged,) = ceilings.judge(record, [ceilings.Ceiling("anon", 500 * MB, "500MB")])
    assert judged["result"] == ceilings.UNKNOWN
    assert request_of(record).speed_bytes is None, "the group's page cache bounds nothing"


@pytest.mark.slow
@needs_group
def test_groups_below_the_commands_own_belong_to_it(watched):
    program = MOVES.replace(
        "if os.fork",
        f"""
sys.path.insert(0, {str(Path(memory_group.__file__).parents[2])!r})
from beyond_ram.watch import memory_group
own = memory_group.own_folder().folder / 'below'
own.mkdir()
sys.argv.append(str(own))
if os.fork""",
    )
    record = watched(program + "own.rmdir()")
    assert record["exit_status"] == 0
    assert record["missing"] == []
    peak = record["peak"]
    assert (peak["kept"]["basis"], peak["kept"]["whole"]) == (GROUP, True)
    assert peak["kept"]["at_kept"] == {}, "the kernel adds these up late"
    assert (peak["shared_anon_bytes"] or 0) < 10 * MB, "the processes share nothing"


@pytest.mark.slow
@needs_group
def test_memory_freed_between_two_readings_is_not_shared(watched):
    program = "import subprocess, sys\n"
    program += "for _ in range(12): subprocess.run([sys.executable, '-c', 'bytearray(40_000_000)'])"
    assert (watched(program)["peak"]["shared_anon_bytes"] or 0) < 10 * MB


def missing_of(record):
    """What a run lacks, but for PSS, for which a short run on a busy machine has no time."""
    return {note["what"] for note in record["missing"]} - {"PSS and USS"}


@pytest.mark.slow
@needs_group
def test_group_whose_processes_cannot_be_listed_gives_a_lower_bound(watched, monkeypatch):
    monkeypatch.setattr(memory_group.Elsewhere, "look", lambda *_: 1 // 0)
    record = watched("held = bytearray(60_000_000); import time; time.sleep(0.2)")
    assert missing_of(record) == {"the memory group"}
    assert not record["peak"]["kept"]["whole"] and request_of(record).at_least


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_memory_that_could_not_be_read_gives_a_lower_bound(watched, monkeypatch):
    def look(sharing):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("beyond_ram.watch.sharing.Sharing.look", look)
    record = watched("held = bytearray(60_000_000); import time; time.sleep(0.2)")
    assert missing_of(record) == {"shared pages", UNSEEN}
    assert request_of(record).at_least


@pytest.mark.slow
@needs_group
def test_group_is_read_where_its_processes_cannot_be(watched, monkeypatch):
    monkeypatch.setattr("beyond_ram.watch.tree.Tree.memory", lambda tree: 1 // 0)
    record = watched("held = bytearray(60_000_000); import time; time.sleep(0.2)")
    assert 60 * MB < record["peak"]["kept"]["kept_bytes"] < 100 * MB
    assert {note["what"] for note in record["missing"]} >= {"samples"}
