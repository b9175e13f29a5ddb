"""What a person reads at the end of a run: ten lines."""

import math
from collections.abc import Iterable
from typing import Any

# A working set of program code and mapped data that a command wants to keep, and room for what was not seen.
_MAPPED_BYTES, _ROOM_BYTES, _ROOM_SHARE, _STEP_BYTES = 128 << 20, 32 << 20, 0.10, 64 << 20


def megabytes(size_bytes: float | None) -> str:
    return "not sampled" if size_bytes is None else f"{size_bytes / 1e6:,.0f} MB"


def request_bytes(record: dict[str, Any]) -> tuple[int, str]:
    """How much memory to ask a scheduler for, in bytes, and why.

    A scheduler kills for what the kernel cannot take back: anonymous and shared memory. Their peak is taken at its
    upper bound, but not above the group's own peak, which holds everything.
    """
    peak = record["peak"]
    sampled = {kind: peak[kind] or 0 for kind in ("anon_bytes", "file_bytes", "shmem_bytes", "hugetlb_bytes")}
    needed = max(peak["anon_upper_bound_bytes"], sampled["anon_bytes"])
    needed += sampled["shmem_bytes"] + sampled["hugetlb_bytes"]
    if peak["cgroup_bytes"] is not None:
        needed = min(needed, max(peak["cgroup_bytes"], peak["pss_bytes"] or 0))
    mapped = min(sampled["file_bytes"], _MAPPED_BYTES)
    asked = needed * (1 + _ROOM_SHARE) + mapped + _ROOM_BYTES
    asked_bytes = math.ceil(asked / _STEP_BYTES) * _STEP_BYTES
    why = f"{megabytes(needed)} that cannot be reclaimed + {_ROOM_SHARE:.0%}, {megabytes(mapped)} mapped, 34 MB of room"
    return asked_bytes, why


def lines(record: dict[str, Any]) -> Iterable[str]:
    """Ten lines, and one more for each warning."""
    peak, sampler = record["peak"], record["sampler"]
    marks, asked = peak["hwm_bytes"], request_bytes(record)
    yield f"outcome     {_outcome(record)}"
    yield f"peak RSS    {megabytes(peak['rss_bytes'])} over the process tree ({peak['processes']} at once), as sampled"
    yield f"  anonymous {megabytes(peak['anon_bytes'])} heap and stacks: only the program can give them back"
    yield f"  file      {megabytes(peak['file_bytes'])} mapped files: the kernel can take them back"
    yield f"  shared    {megabytes(peak['shmem_bytes'])} shared memory and tmpfs: kept like anonymous memory"
    pss, uss = megabytes(peak["pss_bytes"]), megabytes(peak["uss_bytes"])
    yield f"PSS         {pss}, each shared page once; USS {uss}; the largest of few readings, no peak"
    ends = "exact" if not marks["lower_bounds"] else "exact up to the last sample of each process"
    top: dict[str, Any] = marks["processes"][0] if marks["processes"] else {"hwm_bytes": None, "name": "?"}
    largest = f"{megabytes(top['hwm_bytes'])} in one process ({top['name']}), {ends}"
    yield f"high water  {largest}; at most {megabytes(marks['concurrent_upper_bound_bytes'])} at once"
    if peak["cgroup_bytes"] is not None:
        reclaimable = megabytes(max(0, peak["cgroup_bytes"] - (peak["anon_bytes"] or 0) - (peak["shmem_bytes"] or 0)))
        yield f"cgroup      {megabytes(peak['cgroup_bytes'])} with page cache; about {reclaimable} of it reclaimable"
    else:
        yield f"cgroup      none ({peak['cgroup']['reason']}); {megabytes(peak['file_bytes'])} of the peak reclaimable"
    yield f"ask for     {asked[0] >> 20:,} MiB: {asked[1]}"
    slowed = sampler["interval_used_ms"] > 1.5 * sampler["interval_ms"]
    pace = f"every {sampler['interval_ms']} ms" + (", slowed down" if slowed else "")
    yield f"sampler     {sampler['samples']:,} samples {pace}, {sampler['duty_cycle']:.2%} of one core"
    for sentence in peak["disagreements"]:
        yield f"note        {sentence}"
    if record["left_running"]:
        names = ", ".join(f"{entry['name']} ({entry['pid']})" for entry in record["left_running"][:5])
        yield f"note        still running, not weighed any more: {names}; --follow goes on until all have ended"
    if record.get("page_cache", {}).get("warning"):
        yield f"note        {record['page_cache']['warning']}"
    yield from lacking(record)


def lacking(record: dict[str, Any]) -> Iterable[str]:
    """A line for each thing that could not be recorded."""
    for note in record.get("missing", []):
        often = f", {note['times']} times, from {note['since_s']:.1f} s on" if note.get("times", 1) > 1 else ""
        yield f"missing     {note['what']}: {note['why']}{often}"


def _outcome(record: dict[str, Any]) -> str:
    by = f" by {record['signal']}" if record["signal"] else ""
    if record["killed_for_memory"] and record["outcome"] == "failed":
        by += " for want of memory"
    limit = f" (limit {megabytes(record['memory_limit_bytes'])})" if record["memory_limit_bytes"] else ""
    time = f"{record['duration_s']:.1f} s, {record['cpu_s']:.1f} s of CPU"
    read = f"{megabytes(record['storage']['read_bytes'])} read from disk, {record['faults']['major']:,} major faults"
    return f"{record['outcome']}{by}{limit} · {time} · {read}"
