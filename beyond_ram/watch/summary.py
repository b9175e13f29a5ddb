"""The summary of a run for the terminal: ten lines."""

from collections.abc import Iterable, Mapping
from typing import cast

from .. import memory_request
from ..records.run_json import AttachedEntry, MarksEntry, PeakEntry, ProcessEntry, RunRecord
from . import ceilings, pressure, trend, why
from .missing import printable

_TERMS = {
    "shmem": "shared or in tmpfs", "kernel": "kernel", "unlisted": "kernel or unlisted", "swap": "swapped out",
    "locked_file": "locked file",
}  # fmt: skip
_WORTH_BYTES = 8_000_000
_PHASES = 8
# The shortest time that does not print as 0.0 s.
_SHOWN_S = 0.05


def megabytes(size_bytes: float | None) -> str:
    return "not sampled" if size_bytes is None else f"{size_bytes / 1e6:,.0f} MB"


def lines(record: RunRecord) -> Iterable[str]:
    """Ten lines, and one more for each warning. A record from elsewhere may have control characters."""
    return (printable(line, len(line)) for line in _lines(record))


def _lines(record: RunRecord) -> Iterable[str]:
    peak, sampler = record["peak"], record["sampler"]
    yield f"outcome     {_outcome(record)}"
    if not memory_request.has_readings(peak):
        yield "memory      not read"
        yield from lacking(record)
        yield from ceilings.lines(record)
        return
    marks, request = peak["hwm_bytes"], memory_request.request_of(record)
    if "attached" in record:
        yield from _attached(record["attached"])
    least = "at least " if peak.get("processes_unread") and peak["rss_bytes"] is not None else ""
    at_once = f" over the process tree ({peak['processes']} at once), as sampled"
    sampled = peak["rss_bytes"] is not None
    yield f"peak RSS    {least}{megabytes(peak['rss_bytes'])}{at_once if sampled else ''}"
    kinds = {
        "anon": ("anonymous", "heap and stacks: only the program can give them back"),
        "file": ("file     ", "mapped files: the kernel can take back what is on a disk and not locked"),
        "shmem": ("shared   ", "shared memory and tmpfs: kept like anonymous memory"),
    }
    for kind, (word, means) in kinds.items() if sampled else ():
        size = cast(Mapping[str, int | None], peak)[f"{kind}_bytes"]
        yield f"  {word} unknown here" if size is None else f"  {word} {megabytes(size)} {means}"
    if peak["pss_bytes"] is None:
        yield from ["PSS         not sampled"] if sampled else []
    elif memory_request.FAR * peak["pss_bytes"] >= request.kept_bytes:  # otherwise it was read before the peak
        pss, uss = megabytes(peak["pss_bytes"]), megabytes(peak["uss_bytes"])
        yield f"PSS         {pss}, each shared page counted once; USS {uss}; largest of a few readings, not a peak"
    yield f"high water  {_marked(marks)}"
    if peak["cgroup_bytes"] is not None:
        reclaimable = megabytes(max(0, peak["cgroup_bytes"] - request.kept_bytes))
        yield f"cgroup      {megabytes(peak['cgroup_bytes'])} with page cache; about {reclaimable} of it reclaimable"
    else:
        reclaimable = "" if peak["file_bytes"] is None else f"; {megabytes(peak['file_bytes'])} of the peak reclaimable"
        yield f"cgroup      none ({peak['cgroup']['reason']}){reclaimable}"
    if "container" in record.get("attached", {}).get("to", {}):
        yield from _of_container(record, request)
    yield from _waited(record)
    yield from _request(request, peak)
    yield from _for_speed(request)
    slowed = sampler["interval_used_ms"] > 1.5 * sampler["interval_ms"]
    pace = f"every {sampler['interval_ms']} ms" + (", slowed down" if slowed else "")
    yield f"sampler     {sampler['samples']:,} samples {pace}, {sampler['duty_cycle']:.2%} of one core"
    yield from _details(record)
    yield from _enforced(record, request)
    for sentence in peak["disagreements"]:
        yield f"note        {sentence}"
    if record["left_running"]:
        names = ", ".join(f"{entry['name']} ({entry['pid']})" for entry in record["left_running"][:5])
        yield f"note        still running, no longer measured: {names}; --follow goes on until all have ended"
    if record.get("page_cache", {}).get("warning"):
        yield f"note        {record['page_cache']['warning']}"
    yield from lacking(record)
    yield from ceilings.lines(record)


def _of_container(record: RunRecord, request: memory_request.MemoryRequest) -> Iterable[str]:
    """Working set (by which a kubelet evicts), usage (by which the kernel kills), and kept memory, one per line."""
    peak, around = record["peak"], record["peak"].get("around") or {}
    limit, kills = around.get("limit_bytes"), around.get("kills")
    working_set = (peak.get("kept") or {}).get("working_set_bytes")
    at = "without a limit" if limit is None else f"at a limit of {megabytes(limit)}"
    yield f"evicted by  {megabytes(working_set)} of working set: usage less inactive file, as the kubelet counts it"
    killed = "kills are not counted" if kills is None else f"{kills} killed"
    yield f"killed by   {megabytes(peak['cgroup_bytes'])} of usage {at}, page cache goes first; {killed}"
    yield f"kept        {megabytes(request.kept_bytes)}, which the kernel cannot take back"


_WAITED_BY = {
    pressure.OF_GROUP: "by its group's pressure",
    pressure.OF_AROUND: "by the pressure of the group around it, others in it included",
    pressure.OF_MACHINE: "by the machine's pressure, others included",
}


def _waited(record: RunRecord) -> Iterable[str]:
    """How long the command waited for memory; nothing if that rounds to 0 or is unknown."""
    stalls = record.get("pressure")
    if stalls and stalls["some_s"] >= _SHOWN_S:
        share = f"{stalls['some_s']:.1f} s of {record['duration_s']:.1f} s for memory"
        together = f"{stalls['full_s']:.1f} s of it in all processes at once"
        yield f"waited      {share}, {together}, {_WAITED_BY.get(stalls['of'], 'counted for others too')}"


def _marked(marks: MarksEntry) -> str:
    """The kernel's high-water marks."""
    if marks["concurrent_upper_bound_bytes"] is None:
        return "not known: spikes between two samples are missed"
    ends = (
        f"exact but for memory before an exec{' or a reset' if marks.get('set_back') else ''}"
        if not marks["lower_bounds"]
        else "exact up to the last sample of each process"
    )
    top = marks["processes"][0] if marks["processes"] else ProcessEntry(name="?")
    largest = f"{megabytes(top.get('hwm_bytes'))} in one process ({top['name']}), {ends}"
    several = len(marks["processes"]) > 1
    return largest + (f"; at most {megabytes(marks['concurrent_upper_bound_bytes'])} at once" if several else "")


def _details(record: RunRecord) -> Iterable[str]:
    """Phases, each process's share, shared memory, and causes, one per line."""
    peak, phases = record["peak"], why.by_phase(record)
    if set(phases) != {""}:
        for name, one in list(phases.items())[:_PHASES]:
            length, kinds = f"{one['duration_s']:.1f} s", f"{megabytes(one['anon_bytes'])} anonymous"
            named = name or "(outside)"
            yield f"phase       {named}, {length}: {kinds}, {megabytes(one['file_bytes'])} file at their highest"
        if len(phases) > _PHASES:
            yield f"phase       {len(phases) - _PHASES} more in run.json"
    if holders := why.shares(peak):
        names = ", ".join(f"{one['name']} ({one['pid']}) {megabytes(one['bytes'])}" for one in holders)
        shared = peak["shmem_bytes"] or 0
        beside = f"; {megabytes(shared)} shared belong to no process alone" if shared >= _WORTH_BYTES else ""
        yield f"held by     {names}, of {megabytes(peak['anon_bytes'])} anonymous at the peak{beside}"
    if copied := forks(peak):
        yield f"forks       {copied}"
    if growth := record.get("growth"):
        yield f"growth      {trend.sentence(growth, record['outcome'])}"
    for sentence in why.sentences(record):
        yield f"why         {sentence}"


def forks(peak: PeakEntry) -> str:
    """Memory that forked processes shared, and how much they copied; empty if little."""
    shared, copied = peak.get("shared_anon_bytes") or 0, peak.get("copied_on_write_bytes") or 0
    if shared < _WORTH_BYTES:
        return ""
    how_much = f"; at least {megabytes(copied)} copied on write" if copied >= _WORTH_BYTES else ""
    return f"at least {megabytes(shared)} shared (sums count it in every process){how_much}"


def _attached(attached: AttachedEntry) -> Iterable[str]:
    """The followed program, and the kernel's values from before the attach."""
    before, name = attached["before"], attached["name"]
    mark = before["hwm_bytes"]
    yield f"attached    to {name}, {attached['processes']} at once, {attached['running_s']:.1f} s after it began"
    high, group = "not known" if mark is None else megabytes(mark), before["cgroup_peak_bytes"]
    used = "" if before["cpu_s"] is None else f", {before['cpu_s']:.1f} s of CPU"
    in_group = f", {megabytes(group)} in its group with page cache" if group is not None else ""
    yield f"before      high water {high} in one process{in_group}{used}; nothing else is known about that time"


_COUNTED_BY = {
    memory_request.GROUP: "by its group, without page cache",
    memory_request.AROUND: "as sampled, of its job's group",
    memory_request.TREE: "as sampled, of its processes",
    memory_request.MARKS: "from the high-water marks of its processes, without kernel memory",
    memory_request.RSS: "all of RSS, because its kinds are unknown",
}


def _request(request: memory_request.MemoryRequest, peak: PeakEntry) -> Iterable[str]:
    """The request to paste, the check if it depends on the cluster, and the request if another run needs more."""
    ask = f"{request.bound}--mem={memory_request.mem(request.request_bytes)} (M is MiB)"
    if request.killed:
        limit = request.killed_at_bytes
        at = f" at the limit of {megabytes(limit)}" if limit else " for want of memory"
        yield f"ask for     {ask}: killed{at}; how much more it needs is unknown"
        return
    if memory_request.depends(request):
        check = "check: scontrol show config | grep TaskPlugin"
        polled = f"{request.polled_bound}--mem={memory_request.mem(max(request.polled_bytes, request.request_bytes))}"
        yield f"ask for     {ask} if your Slurm uses task/cgroup ({check}), else {polled}"
        yield f"  made of   {made_of(request)}"
    else:
        yield f"ask for     {ask}: {made_of(request)}"
    if lacks := without(request, peak):
        yield f"  without   {lacks}"
    if request.at_least:
        yield f"  because   {'; '.join(request.lower_bound)}"
    elif request.high_bytes > memory_request.FAR_REPEATS * request.request_bytes:
        yield f"  perhaps   {in_another_run(request)}"


def in_another_run(request: memory_request.MemoryRequest) -> str:
    """The request that another run may need, and why. More processes may overlap in it than in this one."""
    does = "copy shared memory" if request.high_bytes == request.polled_bytes else "peak"
    mem = memory_request.mem(request.high_bytes)
    return f"--mem={mem} or more: in another run its processes may {does} at the same time"


def without(request: memory_request.MemoryRequest, peak: PeakEntry) -> str:
    """What a request does not include; empty if that is less than its reserve."""
    if request.killed or request.refused_bytes:
        return ""
    if request.basis in (memory_request.TREE, memory_request.MARKS, memory_request.RSS):
        tmpfs = "freed or swapped" if request.basis == memory_request.TREE else "unmapped"
        return f"shorter spikes, memory of no process (kernel, ramfs, pipes, secret), large folios, {tmpfs} tmpfs"
    parts, cached = [], (peak["cgroup_bytes"] or 0) - request.kept_bytes
    if cached > memory_request.ROOM_BYTES:
        parts.append(
            f"up to {megabytes(cached)} of page cache, which memfds, pipes, sockets, AIO or locked pages may hold"
        )
    before = ((peak.get("around") or {}).get("held_before_bytes") or 0) if request.basis == memory_request.AROUND else 0
    if before > memory_request.ROOM_BYTES:
        parts.append(f"what took the place of {megabytes(before)} that its group held before")
    if uncharged := memory_request.uncharged_bytes(peak, request.kept_bytes):
        parts.append(
            f"up to {megabytes(uncharged)} that the kernel took for no group (sockets, drivers, or other programs)"
        )
    elif request.basis in (memory_request.GROUP, memory_request.AROUND) and peak.get("uncharged_bytes", 0) is None:
        parts.append("what the kernel took for no group, which cannot be read here")
    return "; ".join(parts)


def made_of(request: memory_request.MemoryRequest) -> str:
    """The terms of the request."""
    if request.killed:
        return "it was killed; how much more it needs is unknown"
    if request.refused_bytes:
        refused, kept = megabytes(request.refused_bytes), megabytes(request.kept_bytes)
        return f"an allocation of {refused} was refused; it kept {kept}"
    if request.enforced_by == memory_request.POLLING and request.request_bytes == request.polled_bytes:
        return "its scheduler adds up the RSS of processes; no memory group has a limit"
    reserve = f"{megabytes(request.mapped_bytes)} mapped + {megabytes(memory_request.ROOM_BYTES)} reserve"
    counted = _COUNTED_BY.get(request.basis, "counted in a way that this version does not know")
    if request.as_sampled and request.basis == memory_request.GROUP:
        counted = "by its group, no shorter spikes"
    kept = f"{megabytes(request.kept_bytes)} kept ({counted})"
    return f"{kept} + {memory_request.ROOM_SHARE:.0%} + {reserve}"


def _for_speed(request: memory_request.MemoryRequest) -> Iterable[str]:
    """The request that keeps the speed, if it is larger."""
    if not request.at_least and request.speed_bytes is not None and request.speed_bytes > request.request_bytes:
        most = "" if request.speed_is_measured else "at most "
        speed = f"{most}--mem={memory_request.mem(request.speed_bytes)}"
        yield f"  at speed  {speed}: with less it may wait for its files"


def _enforced(record: RunRecord, request: memory_request.MemoryRequest) -> Iterable[str]:
    """The kinds of kept memory, and the limit around the command."""
    terms = {name: request.terms.get(f"{name}_bytes", 0) for name in ("anon", "shmem", "kernel", "swap", "locked_file")}
    if request.basis != memory_request.TREE:  # there it is what the kernel lists nowhere else
        terms["unlisted"] = terms.pop("kernel")
    terms["swap"] = max(
        terms["swap"], request.terms.get("swapcached_bytes", 0)
    )  # v1 counts swapped-out memory only there
    beside = [
        f"{megabytes(size)} {_TERMS[name]}" for name, size in terms.items() if name != "anon" and size >= _WORTH_BYTES
    ]
    if terms.get("unlisted", 0) >= _WORTH_BYTES and (record["peak"].get("cgroup") or {}).get("version") == 1:
        beside[-1] += " (of it, buffers of written files can be given back)"
    if beside:
        yield f"note        kept: {megabytes(terms['anon'])} anonymous, {', '.join(beside)}"
    around = record["peak"].get("around") or {}
    if around.get("limit_bytes"):
        kills = f"{around['kills']} killed in it" if around["kills"] is not None else "its kills are unknown"
        yield f"note        the group around has a limit of {megabytes(around['limit_bytes'])}, {kills}"


def lacking(record: RunRecord) -> Iterable[str]:
    """A line for each thing that could not be recorded."""
    for note in record.get("missing", []):
        often = f", {note['times']} times, from {note['since_s']:.1f} s on" if note.get("times", 1) > 1 else ""
        yield f"missing     {note['what']}: {note['why']}{often}"


def _outcome(record: RunRecord) -> str:
    by = f" by {record['signal']}" if record["signal"] else ""
    if record["killed_for_memory"] and record["outcome"] == "failed":
        by += " for want of memory"
    limit = f" (limit {megabytes(record['memory_limit_bytes'])})" if record["memory_limit_bytes"] else ""
    time = f"{record['duration_s']:.1f} s, {record['cpu_s']:.1f} s of CPU"
    read, faults = record["storage"]["read_bytes"], record["faults"]["major"]
    known = [] if read is None else [f"{megabytes(read)} read from disk"]
    known += [] if faults is None else [f"{faults:,} major faults"]
    return " · ".join([f"{record['outcome']}{by}{limit}", time, *filter(None, [", ".join(known)])])
