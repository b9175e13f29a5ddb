"""What a person reads at the end of a run: ten lines."""

from collections.abc import Iterable
from typing import Any

from .. import advice
from . import ceilings

_TERMS = {"shmem": "shared or in tmpfs", "kernel": "kernel", "swap": "swapped out", "locked_file": "locked file"}
_WORTH_BYTES, _FAR = 8_000_000, 1.25


def megabytes(size_bytes: float | None) -> str:
    return "not sampled" if size_bytes is None else f"{size_bytes / 1e6:,.0f} MB"


def mebibytes(size_bytes: int) -> str:
    """As limits and requests are given; rounded up."""
    return f"{-(-size_bytes // advice.MIB):,} MiB"


def lines(record: dict[str, Any]) -> Iterable[str]:
    """Ten lines, and one more for each warning."""
    peak, sampler = record["peak"], record["sampler"]
    marks, asked = peak["hwm_bytes"], advice.advise(record)
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
        reclaimable = megabytes(max(0, peak["cgroup_bytes"] - asked.kept_bytes))
        yield f"cgroup      {megabytes(peak['cgroup_bytes'])} with page cache; about {reclaimable} of it reclaimable"
    else:
        yield f"cgroup      none ({peak['cgroup']['reason']}); {megabytes(peak['file_bytes'])} of the peak reclaimable"
    yield f"ask for     {_asked(asked)}"
    slowed = sampler["interval_used_ms"] > 1.5 * sampler["interval_ms"]
    pace = f"every {sampler['interval_ms']} ms" + (", slowed down" if slowed else "")
    yield f"sampler     {sampler['samples']:,} samples {pace}, {sampler['duty_cycle']:.2%} of one core"
    yield from _enforced(record, asked)
    for sentence in peak["disagreements"]:
        yield f"note        {sentence}"
    if record["left_running"]:
        names = ", ".join(f"{entry['name']} ({entry['pid']})" for entry in record["left_running"][:5])
        yield f"note        still running, not weighed any more: {names}; --follow goes on until all have ended"
    if record.get("page_cache", {}).get("warning"):
        yield f"note        {record['page_cache']['warning']}"
    yield from lacking(record)
    yield from ceilings.lines(record)


_COUNTED_BY = {
    advice.GROUP: "by its group",
    advice.AROUND: "by the job's group",
    advice.TREE: "by PSS and the machine's shared memory",
    advice.MARKS: "by the marks of its processes",
}


def _asked(asked: advice.Advice) -> str:
    if asked.killed:
        at = f" at the limit of {mebibytes(asked.killed_at_bytes)}" if asked.killed_at_bytes else " for want of memory"
        return f"at least {mebibytes(asked.ask_bytes)}: killed{at}, and how much more it needs was not seen"
    room = f"+ {advice.ROOM_SHARE:.0%}, {mebibytes(asked.mapped_bytes)} mapped, {mebibytes(advice.ROOM_BYTES)} of room"
    least = "at least " if asked.at_least else ""
    return f"{least}{mebibytes(asked.ask_bytes)}: {mebibytes(asked.kept_bytes)} kept, {_COUNTED_BY[asked.basis]} {room}"


def _enforced(record: dict[str, Any], asked: advice.Advice) -> Iterable[str]:
    """What it is made of, and who ends it: a line each where there is something to say."""
    terms = {name: asked.terms.get(f"{name}_bytes", 0) for name in ("anon", "shmem", "kernel", "swap", "locked_file")}
    terms["swap"] = max(terms["swap"], asked.terms.get("swapcached_bytes", 0))  # v1 counts these there alone
    beside = [
        f"{megabytes(size)} {_TERMS[name]}" for name, size in terms.items() if name != "anon" and size >= _WORTH_BYTES
    ]
    if beside:
        yield f"note        kept: {megabytes(terms['anon'])} anonymous, {', '.join(beside)}"
    around = record["peak"].get("around") or {}
    if around.get("limit_bytes"):
        kills = f"{around['kills']} killed by it" if around["kills"] is not None else "its kills are not told"
        yield f"note        the group around has a limit of {mebibytes(around['limit_bytes'])}, {kills}"
    if asked.enforced_by == advice.POLLING or asked.polled_bytes > _FAR * asked.ask_bytes:
        yield f"note        {mebibytes(asked.polled_bytes)} where a scheduler adds up RSS, and no group decides"


def lacking(record: dict[str, Any]) -> Iterable[str]:
    """A line for each thing that could not be recorded."""
    for note in record.get("missing", []):
        often = f", {note['times']} times, from {note['since_s']:.1f} s on" if note.get("times", 1) > 1 else ""
        yield f"missing     {note['what']}: {note['why']}{often}"


def _outcome(record: dict[str, Any]) -> str:
    by = f" by {record['signal']}" if record["signal"] else ""
    if record["killed_for_memory"] and record["outcome"] == "failed":
        by += " for want of memory"
    limit = f" (limit {mebibytes(record['memory_limit_bytes'])})" if record["memory_limit_bytes"] else ""
    time = f"{record['duration_s']:.1f} s, {record['cpu_s']:.1f} s of CPU"
    read = f"{megabytes(record['storage']['read_bytes'])} read from disk, {record['faults']['major']:,} major faults"
    return f"{record['outcome']}{by}{limit} · {time} · {read}"
