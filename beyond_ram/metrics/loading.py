"""Loading: the account of rows, rates, kept memory, and the cost of writing a format."""

from collections.abc import Mapping
from typing import Any

from .base import (
    CPU,
    EXACT,
    SIZES,
    Column,
    Derive,
    Events,
    Metric,
    Record,
    account,
    difference,
    first,
    last,
    of_first,
    of_last,
    phase,
    recorded,
    share,
    tree,
)

ACCOUNT = ("rows_expected", "rows_delivered", "rows_twice", "rows_missing", "rows_wrong")
"""The account of rows. The last three are faults."""
AT_FAULT = "rows_at_fault"
RATE_CPU_S = 0.2
"""Epochs with less CPU time have no rate. The first batch of a loader without workers takes about 0.01 s, a twentieth
of this: too little to matter."""
_IN_PHASE = "read from outside 0.3 s later, when nothing moves, while the program waits for the reading"
_RATES = "geometric mean over repeats that finished, with Student's 95 % interval on the logarithms"
_LONG = f"; none below {RATE_CPU_S} s, which is too short for a rate"
_FIRST = "first epoch, from a cold page cache if `page_cache` is cold, without the start of workers"
_WARM = "epochs after the first together, repeated until they took 1 CPU-second"
_PROGRAM_CLOCK = "monotonic clock of the program; a busy machine makes it longer"
_ACCOUNTED = ("loaders", "streaming")
_LAST, _WORST = "in the last epoch", "in the epoch with most of them"
_COUNTED_ROWS = "exact: by the number in each row; the worst repeat"


def _delivered(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "delivered"), last(events, "work")).get(kind)


def _first_batch(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "after the first batch")).get(kind)


_startup = of_first("epoch", "startup_cpu_s")
"""CPU seconds of starting the workers; None if they do not report it."""


def _first_cpu(record: Record, events: Events) -> float | None:
    return difference(first(events, "epoch").get("cpu_s"), _startup(record, events))


def _warm(events: Events, key: str) -> float | None:
    """Sum over the epochs after the first."""
    readings = [event.get(key) for event in events if event["event"] == "epoch" and event.get("epoch")]
    values = [value for value in readings if value is not None]
    return sum(values) if values and len(values) == len(readings) else None


def _rate(rows: float | None, seconds: float | None) -> float | None:
    return None if seconds is None or seconds < RATE_CPU_S else share(rows, seconds)


def _first_rate(record: Record, events: Events) -> float | None:
    return _rate(first(events, "epoch").get("rows_delivered"), _first_cpu(record, events))


def _warm_rate(_: Record, events: Events) -> float | None:
    return _rate(_warm(events, "rows_delivered"), _warm(events, "cpu_s"))


def _reached_rate(_: Record, events: Events) -> float | None:
    """Of the first epoch, or of its part until the run was stopped."""
    if done := first(events, "epoch"):
        return share(done.get("rows_delivered"), done.get("duration_s"))
    began, reached = first(events, "epoch_begins"), last(events, "delivered")
    return share(reached.get("rows_delivered"), difference(reached.get("t_s"), began.get("t_s")))


def _read_per_byte(record: Record, events: Events) -> float | None:
    """Over the whole run: what is read before the first batch counts too."""
    epochs = [event for event in events if event["event"] == "epoch"]
    rows = sum(event.get("rows_delivered") or 0 for event in epochs)
    done = share(last(events, "work").get("bytes_in"), last(events, "work").get("rows"))
    delivered = rows * done if done is not None else last(events, "delivered").get("bytes_in")
    return share((record.get("storage") or {}).get("read_bytes"), delivered)


def _kept(tree: Mapping[str, Any]) -> float | None:
    """Memory that the kernel cannot reclaim, each page once."""
    anonymous, shared = tree.get("pss_anon_bytes"), tree.get("pss_shmem_bytes")
    return None if anonymous is None or shared is None else anonymous + shared


def _held(_: Record, events: Events) -> float | None:
    """Unknown if one of the readings is: it may be the larger one."""
    at_first = phase(events, "after the first batch")
    sizes = [_kept(tree(phase(events, "delivered"), last(events, "work")))] + [_kept(tree(at_first))] * bool(at_first)
    known = [size for size in sizes if size is not None]
    return max(known) if len(known) == len(sizes) else None


def _copied(record: Record, events: Events) -> float | None:
    kind = "pss_anon_bytes"
    return difference(_delivered(kind)(record, events), _first_batch(kind)(record, events))


def _disk_ratio(_: Record, events: Events) -> float | None:
    work = last(events, "work")
    return share(work.get("stored_bytes"), work.get("bytes_in"))


def _at_fault(record: Record, events: Events) -> float | None:
    counts = [account(key, worst=True)(record, events) for key in ACCOUNT[2:]]
    faults = [count for count in counts if count is not None]
    return sum(faults) if faults else None


COLUMNS: list[Column] = [
    Metric("rows_expected", "Rows expected", "rows", _ACCOUNTED, f"rows expected {_LAST}", EXACT,
        account("rows_expected")),
    Metric("rows_delivered", "Rows delivered", "rows", _ACCOUNTED, f"rows delivered {_LAST}, including repeated ones",
        EXACT, account("rows_delivered")),
    Metric("rows_twice", "Repeated rows", "rows", _ACCOUNTED,
        f"rows delivered complete more than once, each counted once, {_WORST}", _COUNTED_ROWS,
        account("rows_twice", worst=True), direction="lower"),
    Metric("rows_missing", "Missing rows", "rows", _ACCOUNTED,
        f"rows never delivered complete, {_WORST}", _COUNTED_ROWS, account("rows_missing", worst=True),
        direction="lower"),
    Metric("rows_wrong", "Wrong rows", "rows", _ACCOUNTED,
        f"delivered rows that are not in the data, are incomplete, or have another row's label, {_WORST}",
        "exact: by a sum of the row's bytes; the worst repeat", account("rows_wrong", worst=True),
        direction="lower"),
    Metric(AT_FAULT, "Missing, repeated or wrong rows", "rows", ("runs",),
        "rows_missing + rows_twice + rows_wrong", EXACT, _at_fault, direction="lower", decided=("load", "stream")),
    Metric("stored_bytes", "Stored", "bytes", ("loaders",), "total size of the format's files", SIZES,
        of_last("work", "stored_bytes"), direction="lower"),
    Metric("end_pss_bytes", "PSS at the end", "bytes", ("loaders",),
        "tree after the last epoch, before anything is released", _IN_PHASE, _delivered("pss_bytes"),
        direction="lower"),
    Metric("held_bytes", "Kept memory", "bytes", ("runs", "loaders"),
        "anonymous PSS and PSS of shared memory: the larger of after the first batch and at the end",
        f"{_IN_PHASE}; peak_anon_bytes has what was higher in between", _held, direction="lower", decided=("load",),
        required=True),
    Metric("rows_per_cpu_s", "Rows per CPU-second", "rows/CPU-s", ("runs", "loaders"),
        f"rows delivered / CPU-seconds, {_FIRST}{_LONG}; {_RATES}", CPU, _first_rate, direction="higher",
        decided=("load",)),
    Metric("rows_per_cpu_s_warm", "Rows per CPU-second of later epochs", "rows/CPU-s", ("runs", "loaders"),
        f"rows delivered / CPU-seconds, {_WARM}{_LONG}; {_RATES}", CPU, _warm_rate, direction="higher",
        decided=("load",), beside="rows_per_cpu_s"),
    Metric("rows_per_s_reached", "Rows per second, as far as it came", "rows/s", ("loaders",),
        "rows delivered / time of the first epoch, or until the run was stopped, killed or failed; geometric mean over "
        "all repeats", _PROGRAM_CLOCK, _reached_rate, direction="higher"),
    Metric("read_per_byte", "Read from storage per byte delivered", "ratio", ("loaders",),
        "bytes read by the whole run / bytes of the rows delivered in all epochs; median over all repeats",
        "the kernel's count, with its read-ahead, without reads from the page cache", _read_per_byte,
        direction="lower"),
    Metric("read_ahead_bytes", "Read-ahead of the device", "bytes", ("loaders",),
        "read_ahead_kb of the device that holds the data", "as the kernel reports it",
        recorded("page_cache", "read_ahead_bytes")),
    Metric("startup_cpu_s", "CPU time to start workers", "s", ("loaders",),
        "CPU time of each worker until its work starts, imports included, and of the main process "
        "until the first batch", CPU, _startup, direction="lower"),
    Metric("opened_s", "Time to open the data", "s", ("loaders",), "time in the loader's `make`", _PROGRAM_CLOCK,
        of_last("baseline", "opened_s"), direction="lower"),
    Metric("pickled_bytes", "Sent to a worker", "bytes", ("loaders",),
        "size of the dataset, pickled for a spawned worker", EXACT,
        of_last("baseline", "pickled_bytes"), direction="lower"),
    Metric("disk_ratio", "Stored per payload", "ratio", ("loaders",), "stored_bytes / bytes of the rows",
        SIZES, _disk_ratio, direction="lower"),
    Metric("copied_bytes", "Copied after the first batch", "bytes", ("loaders",),
        "anonymous PSS at the end minus that after the first batch: with forked workers, copies on write", _IN_PHASE,
        _copied, direction="lower"),
]  # fmt: skip
