"""What to ask for: from whom it is taken, what it is after a kill, and programs that run again under what was asked.

The programs and the situations are in advised.py; ADVICE=all takes all of them.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.advice import MIB, advise
from beyond_ram.watch import LimitError, watch

from . import advised
from .conftest import PYTHON, needs_group

GIB = 1 << 30


def record(*, kept: dict[str, Any] | None = None, around: dict[str, Any] | None = None, **of: Any) -> dict[str, Any]:
    """A record with the readings that matter; sizes that are not given are 0."""
    kinds = ("rss", "anon", "file", "shmem", "swap", "hugetlb", "anon_upper_bound")
    peak: dict[str, Any] = {f"{kind}_bytes": of.pop(kind, 0) for kind in kinds}
    peak |= {
        "unseen_bytes": of.pop("unseen", 0),
        "cgroup_bytes": of.pop("cgroup", None),
        "kept": kept,
        "around": around,
    }
    return {"outcome": "completed", "killed_for_memory": False, "memory_limit_bytes": None, "peak": peak, **of}


def counted(basis: str, size: int, *, most: int | None = None, sampled: int | None = None) -> dict[str, Any]:
    sizes = {"kept_bytes": size, "kept_sampled_bytes": sampled or size, "kept_upper_bound_bytes": most}
    return {"basis": basis, "at_kept": {"anon_bytes": size}, **sizes}


def test_what_the_group_keeps_is_asked_for_and_no_page_cache() -> None:
    advice = advise(record(anon=2 * GIB, rss=23 * GIB, file=20 * GIB, cgroup=22 * GIB, kept=counted("group", 3 * GIB)))
    assert 3 * GIB * 1.1 < advice.ask_bytes < 3 * GIB * 1.1 + 64 * MIB
    assert (advice.at_least, advice.basis) == (False, "group")


def test_pages_that_eight_processes_share_are_asked_for_once() -> None:
    for basis in ("group", "around", "tree"):
        advice = advise(record(anon=8 * GIB, rss=8 * GIB, anon_upper_bound=8 * GIB, kept=counted(basis, GIB)))
        assert advice.ask_bytes < 1.2 * GIB
        assert advice.polled_bytes > 8 * GIB, "and eight times where RSS is added up"


def test_what_was_seen_by_the_marks_alone_counts_up_to_what_the_group_can_have_held() -> None:
    spike = {"rss": GIB, "anon": GIB, "anon_upper_bound": 2 * GIB, "unseen": GIB}
    assert advise(record(kept=counted("tree", GIB), **spike)).kept_bytes == 2 * GIB
    assert advise(record(kept=counted("group", GIB), **spike)).kept_bytes == 2 * GIB
    assert advise(record(kept=counted("group", GIB, most=GIB + MIB), **spike)).kept_bytes == GIB + MIB
    # The kernel's peak of the usage tells of a spike that no process's mark does.
    assert advise(record(kept=counted("group", 2 * GIB, sampled=GIB, most=2 * GIB))).kept_bytes == 2 * GIB


@pytest.mark.parametrize("limit", [500_000_000, 500 * MIB, 2 * MIB, 7 * GIB + 1])
def test_after_a_kill_it_is_a_lower_bound_above_the_limit(limit: int) -> None:
    here = record(outcome="killed_at_limit", memory_limit_bytes=limit, kept=counted("group", limit - 4096))
    around = {"limit_bytes": limit, "kills": 1, "alone": True}
    job = record(outcome="failed", killed_for_memory=True, around=around, kept=counted("around", limit - 4096))
    for advice in (advise(here), advise(job)):
        assert advice.at_least
        assert advice.killed_at_bytes == limit
        assert limit < advice.ask_bytes <= limit + 4 * MIB, "more than that nobody has seen"


def test_of_two_limits_the_lower_one_has_killed() -> None:
    around = {"limit_bytes": GIB, "kills": 1, "alone": False}
    advice = advise(record(killed_for_memory=True, memory_limit_bytes=2 * GIB, around=around))
    assert advice.killed_at_bytes == GIB


def test_a_machine_without_memory_left_is_no_limit() -> None:
    advice = advise(record(outcome="failed", killed_for_memory=True, kept=counted("group", GIB)))
    assert (advice.at_least, advice.killed_at_bytes) == (True, None)
    assert advice.ask_bytes >= GIB


@pytest.mark.parametrize("outcome", ["timed_out", "interrupted_on_purpose"])
def test_what_was_ended_early_has_not_shown_its_peak(outcome: str) -> None:
    assert advise(record(outcome=outcome, kept=counted("group", GIB))).at_least


def test_who_ends_it() -> None:
    sizes = {"rss": 8 * GIB, "anon": 8 * GIB, "kept": counted("tree", GIB)}
    assert advise(record(**sizes)).enforced_by == "unknown"
    limited = {"limit_bytes": 4 * GIB, "kills": 0, "alone": True}
    job = advise(record(around=limited, provenance={"scheduler": "slurm"}, **sizes))
    assert (job.enforced_by, job.ask_bytes < 1.2 * GIB) == ("kernel", True)
    polled = advise(record(around=limited | {"limit_bytes": None}, provenance={"scheduler": "slurm"}, **sizes))
    assert (polled.enforced_by, polled.ask_bytes > 8 * GIB) == ("polling", True)


def test_a_record_from_before_is_judged_by_its_processes() -> None:
    old = record(anon=GIB, shmem=GIB, rss=3 * GIB, file=GIB, anon_upper_bound=GIB, cgroup=2 * GIB)
    del old["peak"]["kept"], old["peak"]["around"]
    advice = advise(old)
    assert (advice.basis, advice.kept_bytes) == ("marks", 2 * GIB)


@pytest.mark.slow
@pytest.mark.cgroup
@needs_group
def test_killed_at_its_limit(tmp_path: Path) -> None:
    """What was said before, 768 MiB after a kill at 500 MB, was too little for the same program."""
    program = [*PYTHON, "held = bytearray(900_000_000)"]
    try:
        killed_record = watch(program, tmp_path, memory_limit_bytes=500_000_000)
    except LimitError as reason:
        pytest.skip(str(reason))
    asked = advise(killed_record)
    assert (killed_record["outcome"], asked.at_least) == ("killed_at_limit", True)
    assert 500_000_000 < asked.ask_bytes < 510_000_000


def no_situations() -> str | None:
    """Why other situations cannot be made here; None where they can."""
    if os.getuid():
        return "becomes another user and makes groups, which needs root"
    return None if os.access(advised.MEMORY / "cgroup.procs", os.W_OK) else "needs a v1 memory controller"


@pytest.fixture(scope="module")
def smallest() -> dict[str, int]:
    """The smallest limits of programs, which are the same in every situation: what is known from one before."""
    return {}


@pytest.mark.slow
@pytest.mark.cgroup
@pytest.mark.skipif(no_situations() is not None, reason=str(no_situations()))
@pytest.mark.parametrize("situation", advised.SITUATIONS)
def test_what_was_asked_is_enough_and_not_much_more(situation: str, smallest: dict[str, int]) -> None:
    names = [] if "ADVICE" in os.environ else advised.SUBSET[situation]
    environment = os.environ | ({"TOLERANCE": "1.25"} if names else {})  # right below what was kept it is killed
    environment |= {"SMALLEST": json.dumps(smallest)}
    folder = Path("/var/tmp")  # for files on disk, that any user may enter
    command = [sys.executable, str(Path(advised.__file__)), situation, str(folder), *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=advised.ROOT, env=environment)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    smallest.update({one["name"]: one["smallest_bytes"] for one in results})
    for one in results:
        sizes = f"asked {one['ask_bytes'] / 1e6:,.0f} MB, smallest {one['smallest_bytes'] / 1e6:,.0f}"
        print(f"{situation}: {one['name']}: {sizes}, {one['ratio']:.2f}", file=sys.stderr)
    assert len(results) == (len(names) or len(advised.programs()) - (situation == "user"))
    assert not [one for one in results if one["at_least"] or not one["completes"]]
    like = [one for one in results if one["wish"] is None]
    above = [one["ask_bytes"] - one["smallest_bytes"] for one in like]
    assert not [one for one, over in zip(like, above, strict=True) if one["ratio"] >= 2 and over >= 64e6]
    assert names or statistics.median(one["ratio"] for one in like) < 1.3
