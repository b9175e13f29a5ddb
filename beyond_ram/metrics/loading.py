"""Loading: the account of rows, rates, what is held, and what writing a format takes."""

from .base import (
    CPU,
    EXACT,
    MARK,
    SIZES,
    Column,
    Derive,
    Event,
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
MEMORIES = {
    "rss_bytes": "RSS",
    "anon_bytes": "anonymous memory",
    "file_bytes": "file memory",
    "shmem_bytes": "shared memory",
    "pss_bytes": "PSS",
    "uss_bytes": "USS",
    "pss_anon_bytes": "anonymous PSS",
}
CEILING_OF = {"sequential": "sequential", "shuffled": "random"}
"""The read ceiling that each order is compared with: what reading costs without a loader."""
CEILINGS = ("sequential", "random", "memcpy", "memmap", "memmap_random")

# The second is that of runs kept from before.
_CEILING_EVENTS = ("read_ceiling", "limit")
_IN_PHASE = "read from outside within one interval, while nothing moves for 0.3 s"
_RATES = "geometric mean over repeats, with Student's 95 % interval on the logarithms"
_PROGRAM_CLOCK = "monotonic clock of the program; a busy machine shows in it"
_ACCOUNTED = ("loaders", "ranks", "streaming", "copy_on_write")
_LAST, _WORST = "in the last epoch", "in the epoch with most of them"
_COUNTED_ROWS = "exact: by the number that each row carries; of repeats the worst"


def _delivered(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "delivered"), last(events, "work")).get(kind)


def _first_batch(kind: str) -> Derive:
    return lambda _, events: tree(phase(events, "after the first batch")).get(kind)


def _ceiling(kind: str) -> Derive:
    def rate(_: Record, events: Events) -> float | None:
        measured = next((e for e in reversed(events) if e["event"] in _CEILING_EVENTS and e["kind"] == kind), {})
        return share(measured.get("rows"), measured.get("cpu_s"))

    return rate


def _rate(epoch: Event, per: str) -> float | None:
    return share(epoch.get("rows_delivered"), epoch.get(per))


def _share_of_ceiling(record: Record, events: Events) -> float | None:
    ceiling = _ceiling(CEILING_OF[record["cell"]["order"]])(record, events)
    return share(_rate(last(events, "work"), "cpu_s"), ceiling)


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
        key="rows_at_fault", label="Rows that never came, came more than once or came wrong", unit="rows",
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
    *(
        Metric(
            key=f"limit_{kind}_rows_per_cpu_s", label=f"Read ceiling, {kind.replace('_', ' ')}", unit="1/s",
            tables=("loaders",), derivation="rows per CPU-second of reading the .npy files without a loader, with the "
            "same account, after the epochs of the same run",
            trust="passes for 0.1 s of CPU, the first not counted; the account is in it", derive=_ceiling(kind),
        )
        for kind in CEILINGS
    ),
    Metric(
        key="rows_per_cpu_s", label="Rows per CPU-second", unit="1/s", direction="higher",
        tables=("runs", "loaders", "choices"), decided=("load",),
        derivation=f"rows delivered / CPU-seconds, last epoch; {_RATES}", trust=CPU,
        derive=lambda _, events: _rate(last(events, "work"), "cpu_s"),
    ),
    Metric(
        key="rows_per_cpu_s_first_epoch", label="Rows per CPU-second, first epoch", unit="1/s", direction="higher",
        tables=("loaders",), derivation="rows delivered / CPU-seconds of the first epoch", trust=CPU,
        derive=lambda _, events: _rate(first(events, "epoch"), "cpu_s"),
    ),
    Metric(
        key="rows_per_s_first_epoch", label="Rows per second, first epoch", unit="1/s", direction="higher",
        tables=("loaders",), derivation="rows delivered / time of the first epoch", trust=_PROGRAM_CLOCK,
        derive=lambda _, events: _rate(first(events, "epoch"), "duration_s"),
    ),
    Metric(
        key="share_of_limit", label="Share of the read ceiling", unit="share", direction="higher",
        tables=("loaders", "choices"),
        derivation=f"rows_per_cpu_s / the read ceiling of its order (sequential, or random) in the same run; {_RATES}",
        trust="both sides have the account in them", derive=_share_of_ceiling,
    ),
    Metric(
        key="epoch_first_batch_s", label="Time from the begin of the epoch to its first batch", unit="s",
        direction="lower", tables=("loaders",), derivation="of the first epoch, the loader opened",
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
