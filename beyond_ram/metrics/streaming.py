"""Streaming: the requests of a client, the data it received, and its time and memory."""

from collections.abc import Callable, Mapping

from .base import (
    CLOCK,
    COUNTED,
    LOGGED_TIMES,
    Column,
    Derive,
    Event,
    Events,
    Metric,
    Record,
    first,
    last,
    of_first,
    recorded,
    share,
)

ROLES = ("main", "worker", "other", "unknown")
KINDS = (  # noqa: SIM905
    "info tree paths-info commits head small-file redirect data unknown xet-read-token reconstruction xorb"
).split()
_LISTING = ("info", "tree", "paths-info", "commits")
_STREAMED = ("runs", "streaming")
# The same in every workload that delivers rows.
_DELIVERED = ("runs", "streaming", "loaders")
_OVER_REPEATS = "table streaming: median over repeats; table loaders: geometric mean with its 95 % interval"
_OWN_WORK = "measured by the endpoint itself; excludes injected waits"


def requests_column(kind: str, role: str) -> str:
    """The column that counts the requests of one kind by processes of one role."""
    return f"requests_{kind.replace('-', '_')}_{role}"


def _requested(wanted: Callable[[str, str], bool]) -> Derive:
    """Requests of some kinds and roles; None if they were not counted."""

    def counted(record: Record, _: Events) -> float | None:
        requests: Mapping[str, Mapping[str, int]] | None = record["work"].get("requests")
        if requests is None:
            return None
        return sum(n for kind, roles in requests.items() for role, n in roles.items() if wanted(kind, role))

    return counted


def _is_data(kind: str) -> bool:
    return kind in ("data", "redirect", "xorb")


def _last_epoch(events: Events) -> Event:
    """The last finished epoch: the totals of the mark `work`, or the event of its end."""
    work = last(events, "work")
    epochs = [event for event in events if event["event"] == "epoch" and event.get("finished")]
    return work if "duration_s" in work else next(iter(epochs[::-1]), {})


def _rate(_: Record, events: Events) -> float | None:
    """Rows per second of the last finished epoch."""
    return share(_last_epoch(events).get("rows_delivered"), _last_epoch(events).get("duration_s"))


def _first_batch(_: Record, events: Events) -> float | None:
    """For loaders, the time to open the data plus the time to the first batch: a mark is between them."""
    opened, waited = last(events, "baseline").get("opened_s"), first(events, "epoch").get("first_batch_s")
    loaded = None if opened is None or waited is None else float(opened + waited)
    streamed: float | None = first(events, "first_batch").get("duration_s")
    return loaded if streamed is None else streamed


def _worker_anon(_: Record, events: Events) -> float | None:
    """The largest reading process: a worker, or the main process without workers."""
    sizes = [size for event in events for size in (event.get("worker_anon_bytes") or {}).values()]
    return float(max(sizes)) if sizes else None


def _worker_grown(_: Record, events: Events) -> float | None:
    """The largest growth since a worker's start; for the main process, since its imports."""
    before = {str(e["worker"]): e["anon_bytes"] for e in events if e["event"] == "worker" and "anon_bytes" in e}
    before["-1"] = next((e.get("anon_bytes") for e in events if e["event"] == "imported"), None)
    grown = [
        size - before[worker]
        for event in events
        for worker, size in (event.get("worker_anon_bytes") or {}).items()
        if before.get(worker) is not None
    ]
    return float(max(grown)) if grown else None


COLUMNS: list[Column] = [
    Metric("requests", "Requests", "requests", _STREAMED, "the endpoint's log of the run", COUNTED,
        _requested(lambda kind, role: True), direction="lower", decided=("script",)),
    Metric("requests_metadata", "Requests other than data reads", "requests", _STREAMED,
        "the endpoint's log: repository, listings, paths, HEADs, small files", COUNTED,
        _requested(lambda kind, role: not _is_data(kind)), direction="lower", decided=("stream",)),
    Metric("requests_data", "Data reads", "requests", _STREAMED,
        "the endpoint's log: GETs of data files and of xorbs, redirects included", COUNTED,
        _requested(lambda kind, role: _is_data(kind)), direction="lower", decided=("stream",)),
    Metric("requests_listing_of_workers", "File-list requests by workers", "requests", _STREAMED,
        "the endpoint's log: repository, listings, paths; joined with the process tree by the connection's port",
        COUNTED, _requested(lambda kind, role: role == "worker" and kind in _LISTING), direction="lower"),
    Metric("requests_failed", "Failed requests", "requests", _STREAMED,
        "the endpoint's log: injected faults, errors, broken connections", COUNTED, recorded("work", "requests_failed"),
        direction="lower"),
    Metric("bytes_received", "Bytes received", "bytes", _STREAMED, "bodies that the endpoint sent", COUNTED,
        recorded("work", "bytes_received"), direction="lower", decided=("script",)),
    Metric("in_flight_max", "Requests in flight", "requests", _STREAMED,
        "largest number of requests answered at the same time", LOGGED_TIMES, recorded("work", "in_flight_max")),
    Metric("resolution_s", "Resolution time", "s", _STREAMED, "time in load_dataset, without imports", CLOCK,
        of_first("resolved", "duration_s"), direction="lower", decided=("stream",)),
    Metric("time_to_first_batch_s", "Time to the first batch", "s", _DELIVERED,
        "from the call that opens the data to the first batch, without imports of the main process; "
        f"{_OVER_REPEATS.partition(';')[0]}", CLOCK, _first_batch, direction="lower", decided=("stream",)),
    Metric("rows_per_s", "Rows per second", "rows/s", _DELIVERED,
        f"rows delivered / time, last finished epoch; {_OVER_REPEATS}", CLOCK, _rate,
        direction="higher", decided=("stream",)),
    Metric("endpoint_busy_s", "Time the endpoint was busy", "s", _STREAMED,
        "while it worked on any answer that was not delayed on purpose",
        f"{_OWN_WORK}; includes the time the client takes to receive a body",
        recorded("work", "endpoint", "busy_s")),
    Metric("worker_anon_bytes", "Anonymous memory of the largest worker", "bytes", _STREAMED,
        "read by each worker with every batch; by the main process without workers",
        "includes pages shared with the parent after a fork; misses spikes within a batch", _worker_anon,
        direction="lower"),
    Metric("worker_grown_anon_bytes", "Heap growth of a reading process", "bytes", _STREAMED,
        "worker_anon_bytes minus the worker's memory at its start",
        "excludes pages shared by the fork; misses spikes within a batch", _worker_grown, direction="lower",
        decided=("stream",), required=True),
    Column("requests_KIND_ROLE", "Requests by kind and role", "requests", ("streaming",),
        f"the endpoint's log. KIND: {', '.join(KINDS)}; ROLE of the process: {', '.join(ROLES)}", COUNTED,
        direction="lower", names=tuple(requests_column(kind, role) for kind in KINDS for role in ROLES)),
]  # fmt: skip
