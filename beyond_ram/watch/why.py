"""Why a command needed its memory: sentences, each with its own condition on the readings.

Readings from outside cannot show which objects keep the memory inside a process; `beyond-ram why` can, by releasing
them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .. import memory_request
from ..records.run_json import RunRecord
from . import trend
from .timeline import COPYING, PARTS

# Shorter runs have no course.
_SAMPLES, _LONG_S = 50, 1.0
# Below this share of the peak and these bytes, nothing is reported.
_WORTH_SHARE, _WORTH_BYTES = 0.10, 8_000_000
_MOST = 0.5
# Tenths this close to each other, or to the peak, are level.
_LEVEL = 0.03
_SHORT_TENTHS, _SHORT = 2, 0.8
# The other tenths of a short peak are at most so far from the usual to the peak; those of a straight rise are half-way.
_BESIDE = 1 / 3
_ALIKE = 0.10


def sentences(record: RunRecord) -> Iterable[str]:
    """The causes, most important first; none if the readings show none."""
    peak = record["peak"]
    if not peak["rss_bytes"] or peak["rss_bytes"] < _WORTH_BYTES or peak.get("processes_unread"):
        return
    yield from _files(peak)
    yield from _copied(peak)
    yield from _course(record)
    yield from _processes(peak)


def _worth(size: float | None, of: float) -> bool:
    return size is not None and size >= _WORTH_BYTES and size >= _WORTH_SHARE * of


def _files(peak: Mapping[str, Any]) -> Iterable[str]:
    highest = max(peak.get("course") or [peak], key=lambda part: part["rss_bytes"])
    if highest["file_bytes"] is None:
        return
    kept = peak.get("kept") or {}
    locked = kept.get("locked_file_bytes", kept.get("at_kept", {}).get("locked_file_bytes", 0))
    size = highest["file_bytes"] - locked
    share = size / max(highest["rss_bytes"], 1)
    if share > _MOST and _worth(size, peak["rss_bytes"]):
        what = "it grows with the data that is read, and the kernel reclaims what is on a disk"
        yield f"{share:.0%} of RSS was mapped files: {what}"


def _copied(peak: Mapping[str, Any]) -> Iterable[str]:
    copied = peak.get("copied_on_write_bytes")
    if copied is not None and _worth(copied, peak["anon_bytes"]):
        yield f"at least {_mb(copied)} were copied on write: forked processes wrote to shared pages"


def has_course(record: RunRecord) -> bool:
    """Whether there are enough readings of all memory, each page counted once, to say how it went. On a busy machine
    there may be tenths of the time without a sample."""
    enough = record["sampler"]["samples"] >= _SAMPLES and (record["duration_s"] or 0.0) >= _LONG_S
    kept = (record["peak"].get("kept") or {}).get("kept_bytes", 0)
    course = _counted_once(record["peak"])[1]
    return enough and not memory_request.uncharged_bytes(record["peak"], kept) and len(course) >= PARTS


def _course(record: RunRecord) -> Iterable[str]:
    what, sizes = _counted_once(record["peak"])
    if not has_course(record) or max(sizes) < _WORTH_BYTES:
        return
    most, basis = max(sizes), (record["peak"].get("kept") or {}).get("basis")
    of, it = (" of its processes", "they") if basis == memory_request.TREE else ("", "it")
    if grown := _grown(sizes, _perhaps_given_back(record["peak"])):
        yield f"{what}{of} rose throughout, by {_mb(grown)} after its first tenth: longer runs may need more"
    usual, third = sorted(sizes)[len(sizes) // 2], sorted(sizes)[-_SHORT_TENTHS - 1]
    is_short = sum(size > _SHORT * most for size in sizes) <= _SHORT_TENTHS
    if is_short and third - usual <= _BESIDE * (most - usual) and not (grown and sizes[-1] == most):
        at = record["peak"]["course"][sizes.index(most)]["t_s"]
        yield f"the peak{of} was short, near {at:.1f} s; half of the time {it} needed at most {_mb(usual)}"
    elif min(sizes[1:]) >= (1 - _LEVEL) * most and not grown and not record.get("growth"):
        # Of each tenth of the time; the first is the start.
        course = f"peaks of {what}{of} stayed within {_mb(max(sizes[1:]) - min(sizes[1:]))}"
        yield f"{course}; {trend.unseen(most, record['duration_s'] or 0.0)}"


def _grown(sizes: Sequence[int], given_back: int) -> int:
    """By how much memory rose throughout, after the first tenth and less what may be given back; 0 if it did not."""
    least = (given_back + _LEVEL * max(sizes)) / PARTS
    rises = [after - before > least for before, after in pairwise(sizes)]
    grown = sizes[-1] - sizes[0] - given_back
    throughout = sum(rises) >= len(rises) - 1 and sizes[-1] == max(sizes)
    return grown if throughout and _worth(grown, sizes[-1]) else 0


def _perhaps_given_back(peak: Mapping[str, Any]) -> int:
    """Memory of the kernel in a charge of v1, which does not say what the kernel can give back, such as the buffers of
    cached pages of written files: 26 MB a GB on ext4."""
    group = peak.get("cgroup") or {}
    return int(group.get("version") == 1 and (peak.get("kept") or {}).get("at_kept", {}).get("kernel_bytes", 0))


def _counted_once(peak: Mapping[str, Any]) -> tuple[str, list[int]]:
    """The highest memory of each tenth of the time in which no page counts twice, with its name; empty if unknown."""
    course = peak.get("course") or []
    # A sum over processes counts shared pages in each.
    alone = peak["processes"] == 1
    for name, kind, known in (("kept memory", "kept_bytes", True), ("anonymous memory", "anon_bytes", alone)):
        sizes = [part.get(kind) for part in course]
        if known and None not in sizes:
            return name, sizes
    return "", []


def _processes(peak: Mapping[str, Any]) -> Iterable[str]:
    holders, count = peak.get("held_by", {}).get("anon_bytes") or [], peak["processes"]
    if count < 3 or len(holders) < 2:
        return
    sizes, shared, copied = [one["bytes"] for one in holders], *(peak.get(name) for name in COPYING[:2])
    # Fewer processes do not need less shared memory: what they share must be known, and from near the peak.
    if shared is None or copied is None or peak.get(COPYING[2], 0) < (1 - _ALIKE) * peak["anon_bytes"]:
        return
    shared, most = shared - copied, _MOST * peak["anon_bytes"]
    if sizes[-1] >= (1 - _ALIKE) * sizes[0] and sum(sizes) >= most and peak["anon_bytes"] - shared >= most:
        yield f"several processes kept about {_mb(sizes[-1])} each: fewer need less, unless they divide the same data"


def by_phase(record: RunRecord) -> dict[str, dict[str, Any]]:
    """The peaks of each phase by name, over all times that it was entered; bytes and seconds."""
    peaks: dict[str, dict[str, Any]] = {}
    for span in record["phases"]:
        length = max(0.0, (span["end_s"] or span["start_s"]) - span["start_s"])
        one = peaks.setdefault(span["phase"], {"anon_bytes": 0, "file_bytes": 0, "shmem_bytes": 0, "duration_s": 0.0})
        one["duration_s"] += length
        for kind in ("anon_bytes", "file_bytes", "shmem_bytes"):
            one[kind] = None if one[kind] is None or span[kind] is None else max(one[kind], span[kind])
    return peaks


def shares(peak: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The processes with most anonymous memory at the peak, largest first; empty with a single process."""
    holders: Sequence[Mapping[str, Any]] = peak.get("held_by", {}).get("anon_bytes") or []
    return holders if len(holders) > 1 else []


def _mb(size_bytes: float | None) -> str:
    return f"{(size_bytes or 0) / 1e6:,.0f} MB"
