"""Streaming: what a client asked of the endpoint, what came, and what it took."""

from collections.abc import Callable, Mapping

from .base import (
    CLOCK,
    COUNTED,
    CPU,
    EXACT,
    LOGGED_TIMES,
    Column,
    Derive,
    Event,
    Events,
    Metric,
    Record,
    difference,
    event_field,
    first,
    last,
    share,
    work,
)

ROLES = ("main", "worker", "other", "unknown")
KINDS = ("info", "tree", "paths-info", "commits", "head", "small-file", "redirect", "data", "unknown")
_LISTING = ("info", "tree", "paths-info", "commits")
_SERVED = ("runs", "streaming", "hub_files")
_STREAMED = ("runs", "streaming")
# The same in every workload that delivers rows.
_DELIVERED = ("runs", "streaming", "loaders")
_OVER_REPEATS = "table streaming: median over repeats; table loaders: geometric mean with its 95 % interval"
_OWN_WORK = "of the endpoint's own meter; waits that are injected are not in it"
_BOUND = (
    "a client can have waited for the endpoint's own work that long at most, so what is left is a bound; older runs "
)
_BOUND += "have none"


def requests_column(kind: str, role: str) -> str:
    """The column that counts the requests of one kind by processes of one role."""
    return f"requests_{kind.replace('-', '_')}_{role}"


def _requested(wanted: Callable[[str, str], bool]) -> Derive:
    """Requests of those kinds and roles; None where nobody counted."""

    def counted(record: Record, _: Events) -> float | None:
        requests: Mapping[str, Mapping[str, int]] | None = record["work"].get("requests")
        if requests is None:
            return None
        return sum(n for kind, roles in requests.items() for role, n in roles.items() if wanted(kind, role))

    return counted


def _is_data(kind: str) -> bool:
    return kind in ("data", "redirect")


def _epochs(events: Events) -> list[Event]:
    return [event for event in events if event["event"] == "epoch" and event.get("finished")]


def _last_epoch(events: Events) -> Event:
    """The last finished epoch: as the mark `work` sums it up, or the event of its end."""
    work = last(events, "work")
    return work if "duration_s" in work else next(iter(_epochs(events)[::-1]), {})


def _rate(key: str) -> Derive:
    """So many per second of the last finished epoch."""
    return lambda _, events: share(_last_epoch(events).get(key), _last_epoch(events).get("duration_s"))


def _first_batch(_: Record, events: Events) -> float | None:
    """Of runs that load tokens: opening the data, and from the begin of the first epoch on; a mark lies between."""
    if last(events, "resumed"):  # what was killed had the first batch
        return None
    opened, waited = last(events, "baseline").get("opened_s"), first(events, "epoch").get("first_batch_s")
    loaded = None if opened is None or waited is None else float(opened + waited)
    streamed: float | None = first(events, "first_batch").get("duration_s")
    return loaded if streamed is None else streamed


def _endpoint(phase: str, key: str) -> Derive:
    """What the endpoint took in a phase; of epochs in the last one. None where it had no meter."""

    def taken(record: Record, _: Events) -> float | None:
        found = record["work"].get("endpoint", {}).get(phase)
        found = found[-1] if isinstance(found, list) else found
        return found.get(key) if found else None

    return taken


def _endpoint_share(record: Record, events: Events) -> float | None:
    return share(*(_endpoint("run", key)(record, events) for key in ("cpu_s", "duration_s")))


def _without_endpoint(time: Derive, phase: str) -> Derive:
    return lambda record, events: difference(time(record, events), _endpoint(phase, "busy_s")(record, events))


def _rate_without_endpoint(record: Record, events: Events) -> float | None:
    epoch = _last_epoch(events)
    left = difference(epoch.get("duration_s"), _endpoint("epochs", "busy_s")(record, events))
    return share(epoch.get("rows_delivered"), left)


def _over_fetched(record: Record, _: Events) -> float | None:
    received, needed = record["work"].get("data_bytes_received"), record["work"].get("bytes_in")
    return received / needed if received and needed else None


def _worker_anon(_: Record, events: Events) -> float | None:
    """The largest process that reads: a worker, or the main process where there is none."""
    sizes = [size for event in events for size in (event.get("worker_anon_bytes") or {}).values()]
    return float(max(sizes)) if sizes else None


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


def _per_sample(of: Derive) -> Derive:
    return lambda record, events: share(of(record, events), event_field("samples", "samples")(record, events))


_REQUESTS = _requested(lambda kind, role: True)

COLUMNS: list[Column] = [
    Metric(
        key="requests", label="Requests", unit="requests", direction="lower", tables=_SERVED,
        derivation="the endpoint's log of the run", trust=COUNTED, decided=("hub-files",), derive=_REQUESTS,
    ),
    Metric(
        key="requests_metadata", label="Requests that are no reads of data", unit="requests", direction="lower",
        tables=_STREAMED, derivation="the endpoint's log: repository, listings, paths, HEADs, small files",
        trust=COUNTED, decided=("stream",), derive=_requested(lambda kind, role: not _is_data(kind)),
    ),
    Metric(
        key="requests_data", label="Reads of data", unit="requests", direction="lower", tables=_SERVED,
        derivation="the endpoint's log: GETs of data files, their redirects included",
        trust=COUNTED, decided=("stream",), derive=_requested(lambda kind, role: _is_data(kind)),
    ),
    Metric(
        key="requests_listing_of_workers", label="Requests of workers for the list of files", unit="requests",
        direction="lower", tables=_STREAMED,
        derivation="the endpoint's log: repository, listings, paths; joined with the process tree by the port of a "
        "connection",
        trust=COUNTED, derive=_requested(lambda kind, role: role == "worker" and kind in _LISTING),
    ),
    Metric(
        key="requests_failed", label="Requests that failed", unit="requests", direction="lower", tables=_STREAMED,
        derivation="the endpoint's log: injected faults, errors, connections broken off",
        trust=COUNTED, derive=work("requests_failed"),
    ),
    Metric(
        key="bytes_received", label="Bytes received", unit="bytes", direction="lower", tables=_SERVED,
        derivation="bodies that the endpoint sent", trust=COUNTED, decided=("hub-files",),
        derive=work("bytes_received"),
    ),
    Metric(
        key="over_fetched", label="Data received per payload", unit="ratio", direction="lower", tables=_STREAMED,
        derivation="bytes of data files sent / bytes of the payloads that were delivered",
        trust="exact; the files' own overhead is in it", derive=_over_fetched,
    ),
    Metric(
        key="in_flight_max", label="Requests in flight", unit="requests", tables=_SERVED,
        derivation="the most requests that the endpoint was answering at one time",
        trust=LOGGED_TIMES, derive=work("in_flight_max"),
    ),
    Metric(
        key="data_in_flight_max", label="Reads of data in flight", unit="requests", tables=_STREAMED,
        derivation="the most reads of data that the endpoint was answering at one time",
        trust=LOGGED_TIMES, derive=work("data_in_flight_max"),
    ),
    Metric(
        key="resolution_s", label="Resolution time", unit="s", direction="lower", tables=_STREAMED,
        derivation="time in load_dataset, imports not included", trust=CLOCK,
        decided=("stream",), derive=event_field("resolved", "duration_s"),
    ),
    Metric(
        key="time_to_first_batch_s", label="Time to the first batch", unit="s", direction="lower", tables=_DELIVERED,
        derivation="from the call that opens the data to the first batch, imports of the main process not included; "
        f"{_OVER_REPEATS.partition(';')[0]}",
        trust=CLOCK, decided=("stream",), derive=_first_batch,
    ),
    Metric(
        key="rows_per_s", label="Rows per second", unit="1/s", direction="higher", tables=_DELIVERED,
        derivation=f"rows delivered / time, last finished epoch; {_OVER_REPEATS}", trust=CLOCK,
        decided=("stream",), derive=_rate("rows_delivered"),
    ),
    Metric(
        key="payload_bytes_per_s", label="Payload per second", unit="bytes/s", direction="higher", tables=_STREAMED,
        derivation="bytes of payload delivered / time, last finished epoch", trust=CLOCK, derive=_rate("bytes"),
    ),
    Metric(
        key="endpoint_cpu_s", label="CPU time of the endpoint", unit="s", tables=_SERVED,
        derivation="from the first request to the end of the last answer, user and system, of the endpoint's process",
        trust=CPU, derive=_endpoint("run", "cpu_s"),
    ),
    Metric(
        key="endpoint_cpu_share", label="Processors that the endpoint took", unit="share", tables=_SERVED,
        derivation="endpoint_cpu_s / time from the first request to the end of the last answer",
        trust=CPU, derive=_endpoint_share,
    ),
    Metric(
        key="endpoint_busy_s", label="Time in which the endpoint worked on an answer", unit="s", tables=_SERVED,
        derivation="while any answer was under way that was not held back on purpose",
        trust=f"{_OWN_WORK}; what the client takes to receive a body is", derive=_endpoint("run", "busy_s"),
    ),
    Metric(
        key="endpoint_injected_s", label="Time in which all answers were held back", unit="s", tables=_SERVED,
        derivation="latency, bandwidth and slow bodies that were asked for, while nothing else was answered",
        trust="of the endpoint's own meter", derive=_endpoint("run", "injected_s"),
    ),
    Metric(
        key="resolution_endpoint_cpu_s", label="CPU time of the endpoint during the resolution", unit="s",
        tables=_STREAMED, derivation="between the begin and the end of the resolution", trust=CPU,
        derive=_endpoint("resolution", "cpu_s"),
    ),
    Metric(
        key="first_batch_endpoint_cpu_s", label="CPU time of the endpoint until the first batch", unit="s",
        tables=_STREAMED, derivation="from the begin of the resolution to the first batch", trust=CPU,
        derive=_endpoint("first_batch", "cpu_s"),
    ),
    Metric(
        key="epoch_endpoint_cpu_s", label="CPU time of the endpoint during the last epoch", unit="s",
        tables=_STREAMED, derivation="between the begin and the end of the last finished epoch", trust=CPU,
        derive=_endpoint("epochs", "cpu_s"),
    ),
    Metric(
        key="resolution_s_without_endpoint", label="Resolution time without the endpoint's work, at least", unit="s",
        direction="lower", tables=_STREAMED,
        derivation="resolution_s less the time in it in which the endpoint was busy",
        trust=_BOUND, derive=_without_endpoint(event_field("resolved", "duration_s"), "resolution"),
    ),
    Metric(
        key="time_to_first_batch_s_without_endpoint",
        label="Time to the first batch without the endpoint's work, at least", unit="s", direction="lower",
        tables=_STREAMED, derivation="time_to_first_batch_s less the time in it in which the endpoint was busy",
        trust=_BOUND, derive=_without_endpoint(_first_batch, "first_batch"),
    ),
    Metric(
        key="rows_per_s_without_endpoint", label="Rows per second without the endpoint's work, at most", unit="1/s",
        direction="higher", tables=_STREAMED,
        derivation="rows delivered / (time less that in which the endpoint was busy), last finished epoch",
        trust=_BOUND, derive=_rate_without_endpoint,
    ),
    Metric(
        key="worker_anon_bytes", label="Anonymous memory of the largest worker", unit="bytes", direction="lower",
        tables=_STREAMED,
        derivation="read by each worker with every batch; the main process where there is no worker",
        trust="pages shared with the parent after a fork are in it; spikes within a batch are not",
        derive=_worker_anon,
    ),
    Metric(
        key="worker_grown_anon_bytes", label="Growth of anonymous memory of a worker", unit="bytes",
        direction="lower", tables=_STREAMED, derivation="worker_anon_bytes less what the worker had when it began",
        trust="free of what a fork shares; spikes within a batch are not in it", decided=("stream",),
        derive=_worker_grown,
    ),
    Column(
        key="requests_KIND_ROLE", label="Requests by kind and role", unit="requests", direction="lower",
        tables=("streaming",), names=tuple(requests_column(kind, role) for kind in KINDS for role in ROLES),
        derivation=f"the endpoint's log. KIND: {', '.join(KINDS)}; ROLE of the process: {', '.join(ROLES)}",
        trust=COUNTED,
    ),
    Column(
        key="first_epoch_s", label="Time of the first epoch", unit="s", direction="lower", tables=("streaming",),
        derivation="from its begin to its end; median of the repeats that completed", trust=CLOCK,
    ),
    Column(
        key="later_epoch_s", label="Time of a later epoch", unit="s", direction="lower", tables=("streaming",),
        derivation="from its begin to its end; median of all later epochs of the repeats that completed", trust=CLOCK,
    ),
    Column(
        key="rows_per_worker_min", label="Rows of the worker that had least", unit="rows", tables=("streaming",),
        derivation="the least over workers and repeats", trust=EXACT,
    ),
    Column(
        key="workers_idle", label="Workers without a row", unit="workers", direction="lower", tables=("streaming",),
        derivation="workers less those that delivered a row", trust=EXACT,
    ),
    Metric(
        key="samples_twice", label="Samples that came more than once", unit="samples", direction="lower",
        tables=("hub_files",), derivation="samples that came less different ones", trust=EXACT,
        derive=event_field("samples", "samples_twice"),
    ),
    Metric(
        key="samples_wrong", label="Samples that came wrong", unit="samples", direction="lower",
        tables=("hub_files",), derivation="checked by a sum, or by the number drawn into a frame", trust=EXACT,
        derive=event_field("samples", "samples_wrong"),
    ),
    Metric(
        key="data_bytes_received", label="Bytes of data received", unit="bytes", direction="lower",
        tables=("hub_files",), derivation="bodies of data files that the endpoint sent", trust=COUNTED,
        derive=work("data_bytes_received"),
    ),
    Metric(
        key="requests_per_sample", label="Requests per sample", unit="requests", direction="lower",
        tables=("hub_files",), derivation="requests / samples, listing the repository included", trust=COUNTED,
        derive=_per_sample(_REQUESTS),
    ),
    Metric(
        key="bytes_per_sample", label="Bytes received per sample", unit="bytes", direction="lower",
        tables=("hub_files",), derivation="bytes_received / samples", trust=COUNTED,
        derive=_per_sample(work("bytes_received")),
    ),
    Metric(
        key="s_per_sample", label="Time per sample", unit="s", direction="lower", tables=("hub_files",),
        derivation="read_s / samples", trust=CLOCK, derive=_per_sample(event_field("samples", "duration_s")),
    ),
    Metric(
        key="payload_bytes", label="Payload", unit="bytes", tables=("hub_files",),
        derivation="bytes of all samples", trust=EXACT, derive=event_field("samples", "payload_bytes"),
    ),
    Metric(
        key="read_s", label="Time to read the samples", unit="s", direction="lower", tables=("hub_files",),
        derivation="from the first call of the file system to the last sample", trust=CLOCK,
        derive=event_field("samples", "duration_s"),
    ),
    Metric(
        key="read_s_without_endpoint", label="Time to read the samples without the endpoint's work, at least", unit="s",
        direction="lower", tables=("hub_files",),
        derivation="read_s less the time in it in which the endpoint was busy",
        trust=_BOUND, derive=_without_endpoint(event_field("samples", "duration_s"), "read"),
    ),
    Metric(
        key="median_sample_s", label="Time to a sample, median", unit="s", direction="lower", tables=("hub_files",),
        derivation="between one sample and the next; the median of the run", trust=CLOCK,
        derive=event_field("samples", "median_sample_s"),
    ),
]  # fmt: skip
