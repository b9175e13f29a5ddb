"""Loading: the account of rows, rates, what is held, and what writing a format takes."""

from collections.abc import Mapping
from typing import Any

from .base import (
    CPU,
    EXACT,
    MARK,
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
    phase,
    share,
    tree,
)

ACCOUNT = ("rows_expected", "rows_delivered", "rows_twice", "rows_missing", "rows_wrong")
"""The account of rows. The last three are faults."""
AT_FAULT = "rows_at_fault"
MEMORIES = {
    "rss_bytes": "RSS",
    "anon_bytes": "anonymous memory",
    "file_bytes": "file memory",
    "shmem_bytes": "shared memory",
    "pss_bytes": "PSS",
    "uss_bytes": "USS",
    "pss_anon_bytes": "anonymous PSS",
    "pss_shmem_bytes": "PSS of shared memory",
}
RATE_CPU_S = 0.2
"""Epochs that took less CPU time together have no rate. The first batch of a loader without workers takes about 0.01 s,
which is then a twentieth of what is measured: too little to matter."""
WAYS = {
    "sequential": ("sequential", "memmap"),
    "rows": ("random", "memmap_random", "memmap_take"),
    "blocks": ("blocks", "memmap_blocks"),
}
"""The ways of reading without a loader that deliver rows in order, shuffled, and shuffled within blocks."""
CEILINGS = tuple(way for ways in WAYS.values() for way in ways)

# The second is that of runs kept from before.
_CEILING_EVENTS = ("read_ceiling", "limit")
_IN_PHASE = "read from outside within one interval, while nothing moves for 0.3 s"
_RATES = "geometric mean over repeats that finished, with Student's 95 % interval on the logarithms"
_LONG = f"; none where that is under {RATE_CPU_S} s, too short to be a rate"
_FIRST = "first epoch, cold where the page cache is, without the start of workers"
_WARM = "epochs after the first together, repeated until they took 1 CPU-second"
_PROGRAM_CLOCK = "monotonic clock of the program; a busy machine shows in it"
_ACCOUNTED = ("loaders", "ranks", "streaming", "copy_on_write")
_LAST, _WORST = "in the last epoch", "in the epoch with most of them"
_COUNTED_ROWS = "exact: by the number that each row carries; of repeats the worst"


def _delivered(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "delivered"), last(events, "work")).get(kind)


def _first_batch(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "after the first batch")).get(kind)


def _ceilings(events: Events) -> dict[str, float]:
    """The rates of reading without a loader, by way."""
    measured = {event["kind"]: event for event in events if event["event"] in _CEILING_EVENTS}
    rates = {kind: share(event.get("rows"), event.get("cpu_s")) for kind, event in measured.items()}
    return {kind: rate for kind, rate in rates.items() if rate is not None}


def _of_way(kind: str) -> Derive:
    return lambda _, events: _ceilings(events).get(kind)


def ceiling(record: Record, events: Events) -> tuple[str, float] | None:
    """The fastest way of reading without a loader that delivers rows in the order asked, and its rate.

    A way that was only tried, and was slower, cannot be it: of those that were measured longest the fastest.
    """
    order = "rows" if last(events, "work").get("shuffle", "rows") in ("rows", "none") else "blocks"
    ways = WAYS["sequential" if record["cell"]["order"] == "sequential" else order]
    measured = [event for event in events if event["event"] in _CEILING_EVENTS and event["kind"] in ways]
    longest = max((event["cpu_s"] for event in measured), default=0.0)
    rates = _ceilings([event for event in measured if event["cpu_s"] > longest / 2])
    return max(rates.items(), key=lambda found: found[1]) if rates else None


def _ceiling(record: Record, events: Events) -> float | None:
    found = ceiling(record, events)
    return found[1] if found else None


def _startup(record: Record, events: Events) -> float | None:
    """CPU seconds that the start of workers took; in runs kept from before it is not known."""
    started = first(events, "epoch")
    if not started:
        return None
    if "startup_cpu_s" in started:
        known: float | None = started["startup_cpu_s"]
        return known
    return None if record["cell"].get("workers") else 0.0


def _first_cpu(record: Record, events: Events) -> float | None:
    return difference(first(events, "epoch").get("cpu_s"), _startup(record, events))


def _warm(events: Events, key: str) -> float | None:
    """The sum of the epochs after the first."""
    later = [event.get(key) for event in events if event["event"] == "epoch" and event.get("epoch")]
    known = [value for value in later if value is not None]
    return sum(known) if known and len(known) == len(later) else None


def _rate(rows: float | None, seconds: float | None) -> float | None:
    return None if seconds is None or seconds < RATE_CPU_S else share(rows, seconds)


def _first_rate(record: Record, events: Events) -> float | None:
    return _rate(first(events, "epoch").get("rows_delivered"), _first_cpu(record, events))


def _warm_rate(_: Record, events: Events) -> float | None:
    return _rate(_warm(events, "rows_delivered"), _warm(events, "cpu_s"))


def _first_rate_by_clock(record: Record, events: Events) -> float | None:
    """With workers of the rows after the first batch: until it comes they are started."""
    began = first(events, "epoch")
    if not record["cell"].get("workers"):
        return _rate(began.get("rows_delivered"), began.get("duration_s"))
    rows = difference(began.get("rows_delivered"), began.get("first_batch_rows"))
    return _rate(rows, difference(began.get("duration_s"), began.get("first_batch_s")))


def _warm_rate_by_clock(_: Record, events: Events) -> float | None:
    return _rate(_warm(events, "rows_delivered"), _warm(events, "duration_s"))


def _share_of_ceiling(record: Record, events: Events) -> float | None:
    return share(_warm_rate(record, events), _ceiling(record, events))


def _kept(tree: Mapping[str, Any]) -> float | None:
    """What the kernel cannot take back. In runs kept from before shared memory counts once for each process."""
    anonymous, shared = tree.get("pss_anon_bytes"), tree.get("pss_shmem_bytes", tree.get("shmem_bytes"))
    return None if anonymous is None or shared is None else anonymous + shared


def _held(_: Record, events: Events) -> float | None:
    at_end = _kept(tree(phase(events, "delivered"), last(events, "work")))
    at_first = _kept(tree(phase(events, "after the first batch")))
    return max((size for size in (at_first, at_end) if size is not None), default=None)


def _copied(record: Record, events: Events) -> float | None:
    kind = "pss_anon_bytes"
    return difference(_delivered(kind)(record, events), _first_batch(kind)(record, events))


def _read(_: Record, events: Events) -> float | None:
    ends = (tree(first(events, name)).get("read_bytes") for name in ("epoch", "epoch_begins"))
    return difference(*ends)


def _of_work(key: str) -> Derive:
    return lambda _, events: last(events, "work").get(key)


def _disk_ratio(_: Record, events: Events) -> float | None:
    work = last(events, "work")
    return share(work.get("stored_bytes"), work.get("bytes_in"))


def _write_s(_: Record, events: Events) -> float | None:
    return difference(last(events, "work").get("t_s"), last(events, "imported").get("t_s"))


def _write_cpu_s(_: Record, events: Events) -> float | None:
    return difference(*(tree(last(events, mark)).get("cpu_s") for mark in ("work", "imported")))


def _at_fault(record: Record, events: Events) -> float | None:
    counts = [account(key, worst=True)(record, events) for key in ACCOUNT[2:]]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


COLUMNS: list[Column] = [
    Metric(
        key="rows_expected", label="Rows that must be delivered", unit="rows", tables=_ACCOUNTED,
        derivation=f"rows that are to come {_LAST}", trust=EXACT, derive=account("rows_expected"),
    ),
    Metric(
        key="rows_delivered", label="Rows delivered", unit="rows", tables=_ACCOUNTED,
        derivation=f"rows that came, as often as they came, {_LAST}", trust=EXACT, derive=account("rows_delivered"),
    ),
    Metric(
        key="rows_twice", label="Rows that came more than once", unit="rows", direction="lower", tables=_ACCOUNTED,
        derivation=f"rows that came whole more than once, each counted once however often it came, {_WORST}",
        trust=_COUNTED_ROWS, derive=account("rows_twice", worst=True),
    ),
    Metric(
        key="rows_missing", label="Rows that never came", unit="rows", direction="lower", tables=_ACCOUNTED,
        derivation=f"rows that did not come, or never whole, {_WORST}", trust=_COUNTED_ROWS,
        derive=account("rows_missing", worst=True),
    ),
    Metric(
        key="rows_wrong", label="Rows that came wrong", unit="rows", direction="lower", tables=_ACCOUNTED,
        derivation=f"rows delivered that are none of the data's, not whole, or with another's label, {_WORST}",
        trust="exact: by a sum of the row's bytes; of repeats the worst", derive=account("rows_wrong", worst=True),
    ),
    Metric(
        key=AT_FAULT, label="Rows that never came, came more than once or came wrong", unit="rows",
        direction="lower", tables=("runs",), derivation="rows_missing + rows_twice + rows_wrong", trust=EXACT,
        decided=("load", "stream"), derive=_at_fault,
    ),
    Metric(
        key="epoch", label="Number of the epoch", unit="epochs", tables=("copy_on_write",),
        derivation="of the epoch that the line is about, from 0", trust=EXACT,
        derive=lambda _, events: last(events, "epoch").get("epoch"),
    ),
    Metric(
        key="stored_bytes", label="Stored", unit="bytes", direction="lower", tables=("loaders", "writers"),
        derivation="files of the format", trust=SIZES, derive=_of_work("stored_bytes"),
    ),
    *(
        Metric(
            key=f"end_{kind}", label=f"{label[0].upper()}{label[1:]} at the end", unit="bytes",
            direction="neither" if kind == "file_bytes" else "lower", tables=("loaders", "ranks", "copy_on_write"),
            derivation="tree when the epoch of the line, or the last, is delivered, everything still held",
            trust=_IN_PHASE, derive=_delivered(kind),
        )
        for kind, label in MEMORIES.items()
    ),
    *(
        Metric(
            key=f"first_batch_{kind}", label=f"{label[0].upper()}{label[1:]} after the first batch", unit="bytes",
            direction="neither" if kind == "file_bytes" else "lower", tables=("loaders", "copy_on_write"),
            derivation="tree after the first batch, workers full and waiting", trust=_IN_PHASE,
            derive=_first_batch(kind),
        )
        for kind, label in MEMORIES.items()
    ),
    Metric(
        key="held_bytes", label="Memory that cannot be taken back", unit="bytes", direction="lower",
        tables=("runs", "loaders", "choices"), decided=("load",),
        derivation="anonymous PSS and PSS of shared memory, the larger of those after the first batch and at the end",
        trust=f"{_IN_PHASE}; what was more between is in peak_anon_bytes", derive=_held,
    ),
    *(
        Metric(
            key=f"limit_{kind}_rows_per_cpu_s", label=f"Read without a loader, {kind.replace('_', ' ')}", unit="1/s",
            tables=("loaders",), derivation="rows per CPU-second of reading the .npy files without a loader, with the "
            "same account, after the epochs of the same run",
            trust="over 0.2 CPU-seconds, the fastest over a CPU-second; the account is in it", derive=_of_way(kind),
        )
        for kind in CEILINGS
    ),
    Metric(
        key="ceiling_rows_per_cpu_s", label="Read ceiling", unit="1/s", tables=("loaders",),
        derivation="of the ways of reading without a loader that deliver in the same order the fastest, from the page "
        f"cache; {_RATES}", trust="over a CPU-second; the account is in it", derive=_ceiling,
    ),
    Metric(
        key="rows_per_cpu_s", label="Rows per CPU-second", unit="1/s", direction="higher",
        tables=("runs", "loaders", "choices"), decided=("load",),
        derivation=f"rows delivered / CPU-seconds, {_FIRST}{_LONG}; {_RATES}", trust=CPU, derive=_first_rate,
    ),
    Metric(
        key="rows_per_cpu_s_warm", label="Rows per CPU-second, warm", unit="1/s", direction="higher",
        tables=("runs", "loaders", "choices"), decided=("load",),
        derivation=f"rows delivered / CPU-seconds, {_WARM}{_LONG}; {_RATES}", trust=CPU, derive=_warm_rate,
    ),
    Metric(
        key="rows_per_s_first_epoch", label="Rows per second, first epoch", unit="1/s", direction="higher",
        tables=("loaders",),
        derivation=f"rows delivered / time, {_FIRST}: with workers, of the rows after the first batch{_LONG}; {_RATES}",
        trust=f"{_PROGRAM_CLOCK}; what workers read ahead while memory was read is not in the time",
        derive=_first_rate_by_clock,
    ),
    Metric(
        key="rows_per_s_warm", label="Rows per second, warm", unit="1/s", direction="higher", tables=("loaders",),
        derivation=f"rows delivered / time, {_WARM}{_LONG}; {_RATES}", trust=_PROGRAM_CLOCK,
        derive=_warm_rate_by_clock,
    ),
    Metric(
        key="first_epoch_cpu_s", label="CPU time of the first epoch", unit="s", direction="lower", tables=("loaders",),
        derivation="of all processes, without the start of workers", trust=CPU, derive=_first_cpu,
    ),
    Metric(
        key="warm_epochs_cpu_s", label="CPU time of the later epochs", unit="s", tables=("loaders",),
        derivation="of all processes, over the epochs after the first", trust=CPU,
        derive=lambda _, events: _warm(events, "cpu_s"),
    ),
    Metric(
        key="startup_cpu_s", label="CPU time to start workers", unit="s", direction="lower", tables=("loaders",),
        derivation="of each worker until it began to work, its imports included, and of the process that starts them "
        "until the first batch", trust=CPU, derive=_startup,
    ),
    Metric(
        key="share_of_limit", label="Share of the read ceiling", unit="share", direction="higher",
        tables=("loaders", "choices"),
        derivation=f"rows_per_cpu_s_warm / ceiling_rows_per_cpu_s of the same run; {_RATES}",
        trust="both are from the page cache, and have the account in them", derive=_share_of_ceiling,
    ),
    Metric(
        key="epoch_first_batch_s", label="Time from the begin of the epoch to its first batch", unit="s",
        direction="lower", tables=("loaders",), derivation="of the first epoch, the loader opened: the start of "
        "workers is in it",
        trust=_PROGRAM_CLOCK, derive=lambda _, events: first(events, "epoch").get("first_batch_s"),
    ),
    Metric(
        key="opened_s", label="Time to open the data", unit="s", direction="lower", tables=("loaders",),
        derivation="time in `make` of the loader", trust=_PROGRAM_CLOCK,
        derive=lambda _, events: last(events, "baseline").get("opened_s"),
    ),
    Metric(
        key="pickled_bytes", label="Sent to a worker", unit="bytes", direction="lower", tables=("loaders",),
        derivation="the dataset as it is pickled for a worker that is spawned", trust=EXACT,
        derive=lambda _, events: last(events, "baseline").get("pickled_bytes"),
    ),
    Metric(
        key="disk_ratio", label="Stored per payload", unit="ratio", direction="lower", tables=("loaders", "writers"),
        derivation="stored_bytes / bytes of the rows", trust=SIZES, derive=_disk_ratio,
    ),
    Metric(
        key="copied_bytes", label="Copied after the first batch", unit="bytes", direction="lower",
        tables=("loaders", "copy_on_write"),
        derivation="anonymous PSS at the end less that after the first batch: with forked workers, copies on write",
        trust=_IN_PHASE, derive=_copied,
    ),
    Metric(
        key="read_bytes", label="Read from storage, first epoch", unit="bytes", direction="lower",
        tables=("loaders",), derivation="`read_bytes` of all processes over the first epoch",
        trust="the kernel's; what the page cache answers is not in it", derive=_read,
    ),
    Metric(
        key="write_s", label="Time to write", unit="s", direction="lower", tables=("writers",),
        derivation="from the mark `imported` to the mark `work`", trust=_PROGRAM_CLOCK, derive=_write_s,
    ),
    Metric(
        key="write_cpu_s", label="CPU time to write", unit="s", direction="lower", tables=("writers",),
        derivation="CPU-seconds of the tree from the mark `imported` to the mark `work`", trust=CPU,
        derive=_write_cpu_s,
    ),
    Column(
        key="end_pss_bytes", label="PSS at the end", unit="bytes", direction="lower", tables=("choices",),
        derivation="that of table loaders", trust=MARK,
    ),
]  # fmt: skip
