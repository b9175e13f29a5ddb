"""The memory request: its basis, a request after a kill, and programs that run again under their request.

Programs and situations are in requested.py; REQUESTS=all runs all of them.
"""

import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.memory_request import MIB, depends, request_of
from beyond_ram.records.run_folder import RunFolder
from beyond_ram.run_page import page, side_by_side
from beyond_ram.watch import ceilings, jobs, summary
from beyond_ram.watch.pagecache import evict, residency

from . import requested
from .conftest import LOCKS, needs_group

GIB = 1 << 30


def record(*, kept=None, around=None, **of):
    """Return a record with the readings that matter. Sizes are 0 by default."""
    kinds = ("rss", "anon", "file", "shmem", "swap", "anon_upper_bound")
    peak = {f"{kind}_bytes": of.pop(kind, 0) for kind in kinds}
    peak |= {
        "unseen_bytes": of.pop("unseen", 0),
        "processes_unread": of.pop("processes_unread", 0),
        "cgroup_bytes": of.pop("cgroup", None),
        "kept": kept,
        "around": around,
    }
    return {"outcome": "completed", "killed_for_memory": False, "memory_limit_bytes": None, "peak": peak, **of}


def counted(basis, size, *, most=None, sampled=None):
    sizes = {"kept_bytes": size, "kept_sampled_bytes": sampled or size, "kept_upper_bound_bytes": most}
    return {"basis": basis, "at_kept": {"anon_bytes": size}, **sizes}


def test_request_is_what_the_group_keeps_without_page_cache():
    advice = request_of(
        record(anon=2 * GIB, rss=23 * GIB, file=20 * GIB, cgroup=22 * GIB, kept=counted("group", 3 * GIB))
    )
    assert 3 * GIB * 1.1 < advice.request_bytes < 3 * GIB * 1.1 + 64 * MIB
    assert (advice.at_least, advice.basis) == (False, "group")


def test_what_the_request_does_not_count_is_named():
    with_more, without = (
        record(kept=counted("around", 20_000_000), cgroup=20_000_000, around={"held_before_bytes": size})
        for size in (138_000_000, 0)
    )
    assert request_of(with_more).request_bytes == request_of(without).request_bytes
    assert "138 MB" in summary.without(request_of(with_more), with_more["peak"])
    assert summary.without(request_of(without), without["peak"]) == ""
    by_marks = record()
    assert request_of(by_marks).basis == "marks"
    assert "memory of no process" in summary.without(request_of(by_marks), by_marks["peak"])


def test_shared_pages_are_requested_once():
    for basis in ("group", "around", "tree"):
        advice = request_of(record(anon=8 * GIB, rss=8 * GIB, anon_upper_bound=8 * GIB, kept=counted(basis, GIB)))
        assert advice.request_bytes < 1.2 * GIB
        assert advice.polled_bytes > 8 * GIB, "a scheduler that adds up RSS needs eight times as much"


def test_unsampled_memory_counts_up_to_the_groups_bound():
    spike = {"rss": GIB, "anon": GIB, "anon_upper_bound": 2 * GIB, "unseen": GIB}
    assert request_of(record(kept=counted("tree", GIB), **spike)).kept_bytes == 2 * GIB
    assert request_of(record(kept=counted("group", GIB), **spike)).kept_bytes == 2 * GIB
    assert request_of(record(kept=counted("group", GIB, most=GIB + MIB), **spike)).kept_bytes == GIB + MIB
    # The kernel's peak of the group shows a spike that no process's mark does.
    assert request_of(record(kept=counted("group", 2 * GIB, sampled=GIB, most=2 * GIB))).kept_bytes == 2 * GIB


@pytest.mark.parametrize("limit", [500_000_000, 500 * MIB, 2 * MIB, 7 * GIB + 1])
def test_request_after_a_kill_is_a_lower_bound_above_the_limit(limit):
    here = record(outcome="killed_at_limit", memory_limit_bytes=limit, kept=counted("group", limit - 4096))
    around = {"limit_bytes": limit, "kills": 1, "alone": True}
    job = record(outcome="failed", killed_for_memory=True, around=around, kept=counted("around", limit - 4096))
    for advice in (request_of(here), request_of(job)):
        assert advice.at_least
        assert advice.killed_at_bytes == limit
        assert limit < advice.request_bytes <= limit + 4 * MIB, "the request is far above the only known bound"


def test_lower_one_of_two_limits_has_killed():
    around = {"limit_bytes": GIB, "kills": 1, "alone": False}
    advice = request_of(record(killed_for_memory=True, memory_limit_bytes=2 * GIB, around=around))
    assert advice.killed_at_bytes == GIB


def test_kill_without_a_limit_gives_a_lower_bound():
    advice = request_of(record(outcome="failed", killed_for_memory=True, kept=counted("group", GIB)))
    assert (advice.at_least, advice.killed_at_bytes) == (True, None)
    assert advice.request_bytes >= GIB


@pytest.mark.parametrize("outcome", ["timed_out", "interrupted_on_purpose"])
def test_request_of_an_interrupted_run_is_a_lower_bound(outcome):
    assert request_of(record(outcome=outcome, kept=counted("group", GIB))).at_least


FAILS = {
    "status": "raise SystemExit(1)",
    "memory": "raise MemoryError",
    "signal": "import ctypes; ctypes.string_at(0)",
    "bus": "import mmap, tempfile; file = tempfile.TemporaryFile(); file.truncate(9); memory = mmap.mmap("
    "file.fileno(), 9); file.truncate(0); memory[0]",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "slow": "import time; time.sleep(60)",
    "stopped": "pass",
    "ceiling": "pass",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", FAILS)
def test_run_without_success_has_no_request_but_a_lower_bound(way, watched, tmp_path):
    how = {"timeout_s": 0.3} if way == "slow" else {}
    record = watched(f"held = bytearray(30_000_000)\n{FAILS[way]}", **how)
    record["peak"] |= {"rss_bytes": 400 << 20, "around": None}  # there is a second request, for polling schedulers
    record["peak"] |= {"processes": 2, "anon_upper_bound_bytes": 300 << 20}  # and one for other runs
    if way == "stopped":
        record["signals"] = ["SIGTERM"]
    if way == "ceiling":
        record["ceilings"] = ceilings.judge(record, [ceilings.Ceiling("anon", 1 << 20, "1M")])
    assert len(request_of(record).lower_bound) == 1
    run = RunFolder(tmp_path, record, {"t_s": []}, [])
    texts = {
        "summary": "\n".join(summary.lines(record)),
        "page": re.sub("<.*?>", "", page.html({"run": run}, None)),
        "beside": "\n".join(side_by_side.lines({"a": run, "b": run})),
        "job": jobs.of_record(record),
    }
    requests = {
        name: re.findall(r"(at least )?(?:#SBATCH |resources: {limits: {|\d[\d,]* MB \()?(?:--mem=\d|memory: \d)", text)
        for name, text in texts.items()
    }
    requests["beside"] = re.findall(r"(at least )?[\d,]+ MB", re.search("(?m)^ask for.*$", texts["beside"])[0])
    for name, bounds in requests.items():
        assert bounds and all(bounds), f"{name}: {texts[name]}"


def test_request_without_some_processes_is_a_lower_bound():
    tree = record(rss=GIB, kept=counted("tree", GIB) | {"whole": False}, processes_unread=1)
    by_group = record(rss=GIB, kept=counted("group", GIB) | {"whole": True}, processes_unread=1)
    outside = record(rss=GIB, kept=counted("group", GIB) | {"whole": False}, processes_unread=0)
    all_read = record(rss=GIB, kept=counted("tree", GIB) | {"whole": True}, processes_unread=0)
    assert [request_of(one).at_least for one in (tree, by_group, outside, all_read)] == [True, False, True, False]
    # A scheduler that adds up the RSS of processes counts those too.
    assert [request_of(one).polled_at_least for one in (by_group, all_read)] == [True, False]
    assert depends(request_of(by_group)) and not depends(request_of(all_read))
    polled = request_of(by_group | {"provenance": {"scheduler": "slurm"}})
    assert polled.enforced_by == "polling" and polled.at_least
    assert request_of(by_group).mapped_bytes > request_of(all_read).mapped_bytes


@pytest.mark.parametrize(("group", "marks", "bound"), [(0, 1, False), (1, 0, True), (None, 1, True), (None, 0, False)])
def test_request_after_an_attach_is_a_lower_bound_if_memory_may_have_been_higher(group, marks, bound):
    before = {"cgroup_above_bytes": group, "hwm_above_bytes": marks}
    attached = record(rss=GIB, kept=counted("tree", GIB), attached={"before": before})
    assert request_of(attached).at_least is bound
    before["hwm_above_bytes"] = None
    assert request_of(attached).at_least is (bound if group is not None else True)


def test_lower_bound_of_a_sum_that_may_count_pages_twice_is_no_lower_bound():
    summed = record(rss=GIB, kept=counted("tree", GIB)) | {"outcome": "detached"}
    peaks = [summed["peak"] | {"processes": 3, "pss_bytes": pss_bytes} for pss_bytes in (None, GIB)]
    assert [request_of(summed | {"peak": peak}).bound for peak in peaks] == ["about ", "at least "]


def test_request_depends_on_who_enforces_it():
    sizes = {"rss": 8 * GIB, "anon": 8 * GIB, "kept": counted("tree", GIB)}
    assert request_of(record(**sizes)).enforced_by == "unknown"
    limited = {"limit_bytes": 4 * GIB, "kills": 0, "alone": True}
    job = request_of(record(around=limited, provenance={"scheduler": "slurm"}, **sizes))
    assert (job.enforced_by, job.request_bytes < 1.2 * GIB) == ("kernel", True)
    polled = request_of(record(around=limited | {"limit_bytes": None}, provenance={"scheduler": "slurm"}, **sizes))
    assert (polled.enforced_by, polled.request_bytes > 8 * GIB) == ("polling", True)


@pytest.mark.parametrize(("pressure", "known"), [(None, False), ({"some_s": 0.0}, True), ({"some_s": 1.0}, False)])
def test_speed_is_known_under_a_limit_only_where_nothing_waited(pressure, known):
    limited = record(cgroup=GIB, kept=counted("group", GIB), memory_limit_bytes=2 * GIB, pressure=pressure)
    assert (request_of(limited).speed_bytes is not None) is known


def test_older_record_is_judged_by_its_processes():
    old = record(anon=GIB, shmem=GIB, rss=3 * GIB, file=GIB, anon_upper_bound=GIB, cgroup=2 * GIB)
    del old["peak"]["kept"], old["peak"]["around"]
    advice = request_of(old)
    assert (advice.basis, advice.kept_bytes) == ("marks", 2 * GIB)


def no_situations():
    """Return the reason why other situations cannot be made here, or None."""
    if os.getuid():
        return "becomes another user and makes groups, which needs root"
    return None if os.access(requested.MEMORY / "cgroup.procs", os.W_OK) else "needs a v1 memory controller"


@pytest.fixture(scope="module")
def smallest():
    """Collect the smallest limits of programs, which are the same in every situation."""
    return {}


@pytest.mark.slow
@pytest.mark.skipif(no_situations() is not None, reason=str(no_situations()))
@pytest.mark.parametrize(
    "situation",
    [pytest.param(one, marks=[pytest.mark.end_to_end] * (one in ("user", "job-root"))) for one in requested.SITUATIONS],
)
def test_request_is_enough_and_not_much_more(situation, smallest):
    names = [] if "REQUESTS" in os.environ else requested.SUBSET[situation]
    environment = os.environ | ({"TOLERANCE": "1.25"} if names else {})  # right below the kept memory it is killed
    environment |= {"SMALLEST": json.dumps(smallest)}
    folder = Path("/var/tmp")  # for files on disk, that any user may enter
    command = [sys.executable, str(Path(requested.__file__)), situation, str(folder), *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=requested.ROOT, env=environment)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    smallest.update({result["name"]: result["smallest_bytes"] for result in results})
    for result in results:
        sizes = f"asked {result['request_bytes'] / 1e6:,.0f} MB, smallest {result['smallest_bytes'] / 1e6:,.0f}"
        print(f"{situation}: {result['name']}: {sizes}, {result['ratio']:.2f}", file=sys.stderr)
    assert len(results) == (len(names) or len(requested.programs()) - (situation == "user"))
    assert not [result for result in results if result["at_least"] or not result["completes"]]
    like = [result for result in results if result["wish"] is None]
    above = [result["request_bytes"] - result["smallest_bytes"] for result in like]
    assert not [result for result, over in zip(like, above, strict=True) if result["ratio"] >= 2 and over >= 64e6]
    assert names or statistics.median(result["ratio"] for result in like) < 1.3


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize("cached", [True, False])
def test_locked_files_are_requested_wherever_their_pages_are_charged(watched, tmp_path, cached):
    data = tmp_path / "data"
    data.write_bytes(bytes(24 * MIB))
    subprocess.run(["sync", data], check=True)
    if os.geteuid():
        pytest.skip("locking so much needs root")
    evict([data])
    if cached:
        data.read_bytes()
    elif residency([data]).resident_bytes:
        pytest.skip("this file system lives in the page cache: nothing can be evicted")
    advised_of = request_of(watched(LOCKS, str(data)))
    assert not advised_of.at_least
    assert 24 * MIB < advised_of.kept_bytes < 40 * MIB
