"""Columns of every workload: memory at marks and peaks, time, and the share of the input in the page cache."""

from collections.abc import Callable

from ..memory_request import AROUND, GROUP, request_of
from ..records.run_json import KeptEntry, PeakEntry
from .base import (
    ANY,
    CPU,
    EXACT,
    MARK,
    SAMPLED,
    UPPER_BOUND,
    WATCHED_CLOCK,
    Column,
    Derive,
    Events,
    Metric,
    Record,
    at,
    difference,
    last,
    phase,
    recorded,
    share,
)

FAILED = "run_failed"
"""Runs that did not finish have only this metric."""
_AT_WORK = "tree at the mark `work`"
_GROWN = (
    "mark `work` minus mark `imported`; `baseline` if that is missing; each page once: of several processes, their PSS"
)
_LARGEST = "largest sum over the tree"
_KEPT_WITNESS = "exact by the memory group; without one from PSS and page faults, unknown if no sample saw 2 % of it"
_UNSEEN_SHARE = 0.02
"""The share of a peak that no sample may have missed; below what a comparison can matter for."""
_IN_EACH = f"{SAMPLED}; shared pages count in each process"
_PRESSURE = "the kernel's memory.pressure: of the run's group (cgroup v2), else of the machine with all its processes"
_MINCORE = "mincore over the input files"


def _heap(event_name: str) -> Derive:
    """Anonymous memory of the tree right after an event, each page once: of several processes, their PSS."""

    def reading(record: Record, events: Events) -> float | None:
        alone = at(event_name, "processes")(record, events) == 1
        return at(event_name, "anon_bytes" if alone else "pss_anon_bytes")(record, events)

    return reading


def _difference(read: Callable[[str], Derive]) -> Derive:
    end, starts = read("work"), (read("imported"), read("baseline"))

    def grown(record: Record, events: Events) -> float | None:
        first = next((size for start in starts if (size := start(record, events)) is not None), None)
        return difference(end(record, events), first)

    return grown


def anon_once(record: Record) -> float | None:
    """Return the highest anonymous memory of a run in bytes, each page counted once; None if unknown.

    A memory group counts each page once and misses no spike. Without one, it is the largest sample of one process, and
    of several what the watcher counted from PSS and page faults; unknown if much was not in any sample.
    """
    peak = record["peak"]
    kept = peak.get("kept") or {}
    at = kept.get("at_kept") or {}
    sampled = peak.get("anon_bytes") if peak.get("processes") == 1 else at.get("anon_bytes")
    if _of_group(kept) and at:
        by_group = kept["kept_bytes"] - sum(at.get(name, 0) for name in ("shmem_bytes", "kernel_bytes"))
        return float(max(by_group, sampled or 0))
    return _unless_unseen(peak, sampled)


def peak_kept(record: Record) -> float | None:
    """Return the highest kept memory of a run in bytes, each page counted once; None if unknown."""
    kept = record["peak"].get("kept") or {}
    if not kept.get("whole", True):
        return None
    if _of_group(kept):
        return float(kept["kept_bytes"])
    return _unless_unseen(record["peak"], kept.get("kept_bytes"))


def _of_group(kept: KeptEntry) -> bool:
    return kept.get("basis") in (GROUP, AROUND) and bool(kept.get("whole", True))


def _unless_unseen(peak: PeakEntry, size_bytes: float | None) -> float | None:
    """A size, unless no sample saw a part that changes it. The part may be anonymous, or mapped files."""
    highest, sampled = peak.get("anon_upper_bound_bytes"), peak.get("anon_bytes")
    unseen = peak.get("unseen_bytes") or 0
    if highest is not None and sampled is not None:
        unseen = min(unseen, max(0, highest - sampled))
    return None if size_bytes is None or unseen > _UNSEEN_SHARE * size_bytes else float(size_bytes)


def _between_marks(_: Record, events: Events) -> float | None:
    """From the first phase that a program reports to the last."""
    trees = [event["tree"] for event in events if event["event"] == "phase" and event.get("tree")]
    sizes = [tree.get("kept_bytes") for tree in trees]
    return difference(sizes[-1], sizes[0]) if len(sizes) > 1 else None


def request_bytes(record: Record) -> int | None:
    """Return the memory to request after a run; None if it was not read, or is only a lower bound."""
    try:
        request = request_of(record)
    except KeyError:
        return None
    return None if request.at_least else request.request_bytes


def _per_cpu_s(record: Record, events: Events) -> float | None:
    """Of new text alone: from the first `map` or epoch, else from `baseline`, to the end of the work or of the first
    epoch. None if shards came from a cache."""
    if any(event.get("from_cache") for event in events if event["event"] == "shard"):
        return None
    begin = phase(events, "map 0") or phase(events, "epoch 0") or last(events, "baseline")
    epochs = [event for event in events if event["event"] == "epoch"]
    end = epochs[0] if epochs else last(events, "work")
    spent = difference(*((mark.get("tree") or {}).get("cpu_s") for mark in (end, begin)))
    tokens = record["work"].get("tokens")
    return share(tokens / max(len(epochs), 1) if tokens else None, spent)


def _peak_growth(record: Record, events: Events) -> float | None:
    """Peak above the memory after the imports, which differs between libraries."""
    return difference(anon_once(record), _heap("imported")(record, events))


def _failed(record: Record, _: Events) -> float | None:
    if record.get("outcome") in (None, "not_applicable", "interrupted_on_purpose"):
        return None
    return float(not (record["completed_work"] and record["outcome"] == "completed"))


COLUMNS: list[Column] = [
    Metric("duration_s", "Time of the whole run", "s", ("runs", "loaders"), "from the start of the command to its end",
        WATCHED_CLOCK, recorded("duration_s"), direction="lower", decided=("script",)),
    Metric("cpu_s", "CPU time of the whole run", "s", ("runs",), "rusage of the whole tree", CPU, recorded("cpu_s"),
        direction="lower", decided=("script",)),
    Metric("written_bytes", "Written to storage", "bytes", ("runs",), "of the whole tree", "as the kernel counts it",
        recorded("storage", "written_bytes"), direction="lower", decided=("script",)),
    Metric("pressure_some_s", "Time waiting for memory", "s", ("runs",),
        "time in which at least one process waited for memory", _PRESSURE,
        recorded("pressure", "some_s"), direction="lower"),
    Metric(FAILED, "Failed runs", "runs", ("runs",),
        "1 if an applicable run did not finish its work, else 0", EXACT, _failed, direction="lower",
        decided=(ANY,)),
    Metric("rows", "Rows", "rows", ("runs",), "from the mark `work`", EXACT, recorded("work", "rows")),
    Metric("bytes_in", "Input", "bytes", ("runs", "limits"),
        "from the mark `work`: bytes of text or of rows; for loaders of one epoch, else of all",
        EXACT, recorded("work", "bytes_in")),
    Metric("token_count", "Tokens", "tokens", ("runs",),
        "`tokens` of the mark `work` or of the check after it", EXACT, recorded("work", "tokens"),
        decided=("tokenize", "soak")),
    Metric("end_anon_bytes", "Anonymous memory at end of work", "bytes", ("runs",), _AT_WORK, MARK,
        at("work", "anon_bytes"), direction="lower"),
    Metric("end_kept_bytes", "Kept memory at end of work", "bytes", ("runs",), _AT_WORK, MARK,
        at("work", "kept_bytes"), direction="lower", decided=("script",), required=True),
    Metric("grown_between_marks_bytes", "Growth of kept memory between marks", "bytes", ("runs",),
        "last phase that a script begins minus the first", MARK, _between_marks, direction="lower",
        decided=("script",)),
    Metric("grown_anon_bytes", "Heap growth", "bytes", ("runs",), _GROWN, MARK,
        _difference(_heap), direction="lower", decided=("tokenize", "soak"), required=True),
    Metric("peak_rss_bytes", "Peak RSS, summed over processes", "bytes", ("runs", "streaming", "limits"), _LARGEST,
        _IN_EACH, recorded("peak", "rss_bytes"), direction="lower"),
    Metric("peak_kept_bytes", "Peak of kept memory", "bytes", ("runs",),
        "what the kernel cannot take back, each page once, as `beyond-ram watch` prints it", _KEPT_WITNESS,
        lambda record, _: peak_kept(record), direction="lower", decided=("script",), required=True),
    Metric("peak_anon_once_bytes", "Peak anonymous memory, each page once", "bytes", ("runs", "streaming"),
        "from the memory group; without one, of one process its largest sample, of several from PSS and page faults",
        _KEPT_WITNESS,
        lambda record, _: anon_once(record), direction="lower", required=True),
    Metric("peak_anon_bytes", "Peak anonymous memory, summed over processes", "bytes",
        ("runs", "loaders", "streaming", "limits"), _LARGEST, _IN_EACH,
        recorded("peak", "anon_bytes"), direction="lower"),
    Metric("peak_pss_bytes", "Largest reading of PSS", "bytes", ("runs", "streaming"), _LARGEST,
        "a lower bound of the peak: read at marks and sparsely between them", recorded("peak", "pss_bytes"),
        direction="lower"),
    Metric("peak_anon_upper_bound_bytes", "Peak anonymous memory (upper bound)", "bytes", ("runs", "limits"),
        "high-water marks minus the mapped files around them", UPPER_BOUND, recorded("peak", "anon_upper_bound_bytes"),
        direction="lower"),
    Metric("peak_grown_anon_bytes", "Peak heap growth", "bytes",
        ("runs",), "peak_anon_once_bytes minus heap at the mark `imported`", _KEPT_WITNESS, _peak_growth,
        direction="lower", decided=("tokenize", "soak"), required=True),
    Metric("peak_cgroup_bytes", "Peak of the memory group", "bytes", ("runs", "loaders", "limits"),
        "the kernel's peak, if a cgroup could be made",
        "exact, each page once; includes page cache and kernel memory", recorded("peak", "cgroup_bytes"),
        direction="lower"),
    Metric("request_bytes", "Memory to request", "bytes", ("runs", "limits"),
        "kept memory plus 10 %, mapped files up to 40 MiB, and 4 MiB; see watch.md",
        "the rule of `beyond-ram watch` and of the workflow's own requests; none where it is only a lower bound; "
        "error_ask has its error", lambda record, _: request_bytes(record), direction="lower"),
    Metric("hwm_sum_bytes", "High-water marks, summed (upper bound)", "bytes", ("runs",),
        "VmHWM of each process, summed", "exact for one process; an upper bound for several",
        recorded("peak", "hwm_bytes", "sum_upper_bound_bytes"), direction="lower"),
    Metric("tokens_per_cpu_s", "Tokens per CPU-second", "tokens/CPU-s", ("runs",),
        "tokens / CPU-seconds of all processes from the phase `map 0` or `epoch 0`, else the mark `baseline`, to the "
        "mark `work` or the end of the first epoch; none if shards came from a cache", CPU, _per_cpu_s,
        direction="higher", decided=("tokenize", "soak")),
    Metric("input_resident_before", "Input in page cache before", "share", ("runs", "loaders"), _MINCORE,
        "exact when read", recorded("page_cache", "input_resident_before")),
    Metric("input_resident_after", "Input in page cache after", "share", ("runs", "loaders"), _MINCORE,
        "exact when read", recorded("page_cache", "input_resident_after")),
]  # fmt: skip
