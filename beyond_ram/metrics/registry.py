"""Metrics: key, label, unit, direction, derivation, trust, and the function that derives one from a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Record = Mapping[str, Any]
Events = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Metric:
    """A quantity of one run."""

    key: str
    label: str
    unit: str
    direction: Literal["lower", "higher", "neither"]
    derivation: str
    trust: str
    derive: Callable[[Record, Events], float | None]


def _at(event_name: str, kind: str) -> Callable[[Record, Events], float | None]:
    """The tree's reading right after the last event of a name."""

    def reading(_: Record, events: Events) -> float | None:
        readings = [event["tree"] for event in events if event["event"] == event_name and "tree" in event]
        return readings[-1].get(kind) if readings else None

    return reading


def _difference(kind: str) -> Callable[[Record, Events], float | None]:
    end, starts = _at("work", kind), (_at("baseline", kind), _at("imported", kind))

    def grown(record: Record, events: Events) -> float | None:
        last = end(record, events)
        first = next((size for start in starts if (size := start(record, events)) is not None), None)
        return None if last is None or first is None else last - first

    return grown


def _peak(kind: str) -> Callable[[Record, Events], float | None]:
    return lambda record, _: record["peak"].get(kind)  # runs kept from before may lack it


def _hwm(record: Record, _: Events) -> float | None:
    return float(record["peak"]["hwm_bytes"]["sum_upper_bound_bytes"])


def _hwm_gap(record: Record, events: Events) -> float | None:
    """Only for one process: over several, their high-water marks need not fall together."""
    processes = record["peak"]["hwm_bytes"]["processes"]
    if len(processes) != 1 or not processes[0]["hwm_bytes"]:
        return None
    return float(record["peak"]["rss_bytes"] / processes[0]["hwm_bytes"] - 1)


def _per_cpu_s(record: Record, events: Events) -> float | None:
    tokens, cpu_s = record["work"].get("tokens"), _at("work", "cpu_s")(record, events)
    return tokens / cpu_s if tokens and cpu_s else None


def _peak_growth(record: Record, events: Events) -> float | None:
    """Above the memory after the imports, which differs between libraries."""
    peak, before = record["peak"].get("anon_upper_bound_bytes"), _at("imported", "anon_bytes")(record, events)
    return None if peak is None or before is None else peak - before


def _cache_written(_: Record, events: Events) -> float | None:
    written = [event["cache_bytes_written"] for event in events if event["event"] == "shard"]
    return float(sum(written)) if written else None


def _page_cache(key: str) -> Callable[[Record, Events], float | None]:
    return lambda record, _: record.get("page_cache", {}).get(key)


def _work(key: str) -> Callable[[Record, Events], float | None]:
    return lambda record, _: record["work"].get(key)


def _asked(wanted: Callable[[str, str], bool]) -> Callable[[Record, Events], float | None]:
    """Requests of those kinds and roles; None where nobody counted."""

    def counted(record: Record, _: Events) -> float | None:
        asked = record["work"].get("requests")
        if asked is None:
            return None
        return float(sum(n for kind, roles in asked.items() for role, n in roles.items() if wanted(kind, role)))

    return counted


_LISTING = ("info", "tree", "paths-info", "commits")


def _is_data(kind: str) -> bool:
    return kind in ("data", "redirect")


def _seconds(event_name: str) -> Callable[[Record, Events], float | None]:
    """What the first event of a name says that it took."""
    return lambda _, events: next((event.get("seconds") for event in events if event["event"] == event_name), None)


def _epochs(events: Events) -> list[Mapping[str, Any]]:
    return [event for event in events if event["event"] == "epoch" and event.get("finished")]


def _rate(key: str) -> Callable[[Record, Events], float | None]:
    """So many per second, over the whole time of all finished epochs."""

    def per_s(_: Record, events: Events) -> float | None:
        found = _epochs(events)
        took, values = sum(epoch["seconds"] for epoch in found), [epoch[key] for epoch in found]
        return None if not took or None in values else sum(values) / took

    return per_s


def _over_fetched(record: Record, _: Events) -> float | None:
    received, needed = record["work"].get("data_bytes_received"), record["work"].get("bytes_in")
    return received / needed if received and needed else None


def _worker_anon(_: Record, events: Events) -> float | None:
    """The largest process that reads: a worker, or the main process where there is none."""
    said = [size for event in events for size in (event.get("worker_anon_bytes") or {}).values()]
    return float(max(said)) if said else None


def _worker_grown(_: Record, events: Events) -> float | None:
    """Above what each worker had when it began; the main process above its imports."""
    before = {str(e["worker"]): e["anon_bytes"] for e in events if e["event"] == "worker" and "anon_bytes" in e}
    before["-1"] = next((e.get("anon_bytes") for e in events if e["event"] == "imported"), None)
    grown = [
        size - before[worker]
        for event in events
        for worker, size in (event.get("worker_anon_bytes") or {}).items()
        if before.get(worker) is not None
    ]
    return float(max(grown)) if grown else None


_SAMPLED = "sampled from outside every interval_ms; a spike between two samples is missed: see hwm_gap"
_MARK = "read from outside within one interval of the mark, which the workload holds for 0.1 s"
_COUNTED = "exact: the endpoint is alone with the run"
_LOGGED_TIMES = "times of the endpoint's log; a request counts from its arrival to the end of its answer"
_CLOCK = "monotonic clock of the program; the start of workers is in it, and a busy machine shows in it"

METRICS = {
    metric.key: metric
    for metric in (
        Metric(
            "end_rss_bytes",
            "RSS at end of work",
            "bytes",
            "lower",
            "tree at the mark `work`",
            _MARK,
            _at("work", "rss_bytes"),
        ),
        Metric(
            "end_anon_bytes",
            "Anonymous memory at end of work",
            "bytes",
            "lower",
            "tree at the mark `work`",
            _MARK,
            _at("work", "anon_bytes"),
        ),
        Metric(
            "end_file_bytes",
            "File memory at end of work",
            "bytes",
            "neither",
            "tree at the mark `work`",
            _MARK,
            _at("work", "file_bytes"),
        ),
        Metric(
            "end_pss_bytes",
            "PSS at end of work",
            "bytes",
            "lower",
            "tree at the mark `work`",
            _MARK,
            _at("work", "pss_bytes"),
        ),
        Metric(
            "baseline_anon_bytes",
            "Anonymous memory after imports",
            "bytes",
            "lower",
            "tree at the mark `baseline`",
            _MARK,
            _at("baseline", "anon_bytes"),
        ),
        Metric(
            "grown_anon_bytes",
            "Growth of anonymous memory",
            "bytes",
            "lower",
            "mark `work` less mark `baseline`, or `imported` where there is no baseline",
            _MARK,
            _difference("anon_bytes"),
        ),
        Metric(
            "grown_file_bytes",
            "Growth of file memory",
            "bytes",
            "neither",
            "mark `work` less mark `baseline`, or `imported` where there is no baseline",
            _MARK,
            _difference("file_bytes"),
        ),
        Metric(
            "peak_rss_bytes", "Peak RSS", "bytes", "lower", "largest sum over the tree", _SAMPLED, _peak("rss_bytes")
        ),
        Metric(
            "peak_anon_bytes",
            "Peak anonymous memory",
            "bytes",
            "lower",
            "largest sum over the tree",
            _SAMPLED,
            _peak("anon_bytes"),
        ),
        Metric(
            "peak_file_bytes",
            "Peak file memory",
            "bytes",
            "neither",
            "largest sum over the tree",
            _SAMPLED,
            _peak("file_bytes"),
        ),
        Metric(
            "peak_pss_bytes",
            "Peak PSS",
            "bytes",
            "lower",
            "largest sum over the tree",
            "read at marks and sparsely between them",
            _peak("pss_bytes"),
        ),
        Metric(
            "peak_anon_upper_bound_bytes",
            "Peak anonymous memory (upper bound)",
            "bytes",
            "lower",
            "high-water marks less what was mapped around them",
            "no spike is missed; over several processes they need not have peaked together",
            _peak("anon_upper_bound_bytes"),
        ),
        Metric(
            "peak_grown_anon_bytes",
            "Peak of anonymous memory above the imports",
            "bytes",
            "lower",
            "peak_anon_upper_bound_bytes less the mark `imported`",
            "no spike is missed; over several processes they need not have peaked together",
            _peak_growth,
        ),
        Metric(
            "cache_written_bytes",
            "Written into map's cache",
            "bytes",
            "lower",
            "sizes of the files below the cache, before and after each shard",
            "exact",
            _cache_written,
        ),
        Metric(
            "peak_cgroup_bytes",
            "Peak of the memory group",
            "bytes",
            "lower",
            "the kernel's own peak, where a group could be made",
            "exact, each page once; page cache and kernel memory count",
            _peak("cgroup_bytes"),
        ),
        Metric(
            "hwm_sum_bytes",
            "High-water marks, summed (upper bound)",
            "bytes",
            "lower",
            "VmHWM of each process, summed",
            "exact for one process; an upper bound for several",
            _hwm,
        ),
        Metric(
            "hwm_gap",
            "Sampled peak against high-water mark",
            "share",
            "neither",
            "peak RSS / VmHWM - 1, one process only",
            "two independent readings of the kernel's",
            _hwm_gap,
        ),
        Metric(
            "tokens_per_cpu_s",
            "Tokens per CPU-second",
            "1/s",
            "higher",
            "tokens / CPU-seconds of all processes at the mark `work`",
            "rusage of the whole tree",
            _per_cpu_s,
        ),
        Metric(
            "input_resident_before",
            "Input in page cache before",
            "share",
            "neither",
            "mincore over the input files",
            "exact when read",
            _page_cache("input_resident_before"),
        ),
        Metric(
            "input_resident_after",
            "Input in page cache after",
            "share",
            "neither",
            "mincore over the input files",
            "exact when read",
            _page_cache("input_resident_after"),
        ),
        Metric(
            "requests",
            "Requests",
            "requests",
            "lower",
            "the endpoint's log of the run",
            _COUNTED,
            _asked(lambda kind, role: True),
        ),
        Metric(
            "requests_metadata",
            "Requests that are no reads of data",
            "requests",
            "lower",
            "the endpoint's log: repository, listings, paths, HEADs, small files",
            _COUNTED,
            _asked(lambda kind, role: not _is_data(kind)),
        ),
        Metric(
            "requests_data",
            "Reads of data",
            "requests",
            "lower",
            "the endpoint's log: GETs of data files, their redirects included",
            _COUNTED,
            _asked(lambda kind, role: _is_data(kind)),
        ),
        Metric(
            "requests_listing_of_workers",
            "Requests of workers for the list of files",
            "requests",
            "lower",
            "the endpoint's log: repository, listings, paths; joined with the process tree by the port of a connection",
            _COUNTED,
            _asked(lambda kind, role: role == "worker" and kind in _LISTING),
        ),
        Metric(
            "requests_failed",
            "Requests that failed",
            "requests",
            "lower",
            "the endpoint's log: injected faults, errors, connections broken off",
            _COUNTED,
            _work("requests_failed"),
        ),
        Metric(
            "bytes_received",
            "Bytes received",
            "bytes",
            "lower",
            "bodies that the endpoint sent",
            _COUNTED,
            _work("bytes_received"),
        ),
        Metric(
            "over_fetched",
            "Data received per payload",
            "ratio",
            "lower",
            "bytes of data files sent / bytes of the payloads that were delivered",
            "exact; the files' own overhead is in it",
            _over_fetched,
        ),
        Metric(
            "in_flight_max",
            "Requests in flight",
            "requests",
            "neither",
            "the most requests that the endpoint was answering at one time",
            _LOGGED_TIMES,
            _work("in_flight_max"),
        ),
        Metric(
            "data_in_flight_max",
            "Reads of data in flight",
            "requests",
            "neither",
            "the most reads of data that the endpoint was answering at one time",
            _LOGGED_TIMES,
            _work("data_in_flight_max"),
        ),
        Metric(
            "resolution_s",
            "Resolution time",
            "s",
            "lower",
            "time in load_dataset, imports not included",
            _CLOCK,
            _seconds("resolved"),
        ),
        Metric(
            "time_to_first_batch_s",
            "Time to the first batch",
            "s",
            "lower",
            "from the call of load_dataset to the first batch, imports of the main process not included",
            _CLOCK,
            _seconds("first_batch"),
        ),
        Metric(
            "rows_per_s",
            "Rows per second",
            "1/s",
            "higher",
            "rows delivered / time, over all finished epochs",
            _CLOCK,
            _rate("rows_delivered"),
        ),
        Metric(
            "payload_bytes_per_s",
            "Payload per second",
            "bytes/s",
            "higher",
            "bytes of payload delivered / time, over all finished epochs",
            _CLOCK,
            _rate("bytes"),
        ),
        Metric(
            "worker_anon_bytes",
            "Anonymous memory of the largest worker",
            "bytes",
            "lower",
            "read by each worker with every batch; the main process where there is no worker",
            "pages shared with the parent after a fork are in it; spikes within a batch are not",
            _worker_anon,
        ),
        Metric(
            "worker_grown_anon_bytes",
            "Growth of anonymous memory of a worker",
            "bytes",
            "lower",
            "worker_anon_bytes less what the worker had when it began",
            "free of what a fork shares; spikes within a batch are not in it",
            _worker_grown,
        ),
    )
}


def derive(record: Record, events: Events) -> dict[str, float | None]:
    """Every metric of one run, by key; None where the run does not have it."""
    if not record["peak"]:
        return dict.fromkeys(METRICS)
    return {key: metric.derive(record, events) for key, metric in METRICS.items()}
