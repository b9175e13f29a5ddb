"""The type of a measured column, and readers of a run's marks, peaks, phases and counts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ..records.run_json import RunRecord

Record = RunRecord
Event = Mapping[str, Any]
Events = Sequence[Event]
Records = Iterable[tuple[Record, Events]]
Derive = Callable[[Record, Events], float | None]


@dataclass(frozen=True)
class Column:
    """A measured column of tables. `NAME_low` and `NAME_high` are the ends of its 95 % interval, `NAME_min` and
    `NAME_max` its smallest and largest repeat. Declared as a row, in this order."""

    key: str
    """Its name. A name with capitals stands for all of `names`."""
    label: str
    unit: str
    tables: tuple[str, ...]
    """The tables that have it. If a name has another meaning in another table, that table has its own entry."""
    derivation: str
    trust: str
    _: KW_ONLY
    direction: Literal["lower", "higher", "neither"] = "neither"
    """Which way is better."""
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with this meaning."""
        return self.names or (self.key,)


@dataclass(frozen=True)
class Metric(Column):
    """A column derived from the record and events of one run. Tables of cells combine the repeats."""

    derive: Derive
    _: KW_ONLY
    decided: tuple[str, ...] = ()
    """Workloads whose report compares it, or ANY. Each further comparison makes all others harder to confirm."""
    required: bool = False
    """Every run that finished its work has it. Where it is missing, it was not seen, and may be anything."""
    beside: str = ""
    """The metric that a finding gives first if both are confirmed: the first epoch before the later ones."""

    def decided_in(self, workload: str) -> bool:
        return workload in self.decided or ANY in self.decided


ANY = "any"
"""Every workload."""
EXACT = "exact"
SAMPLED = "sampled from outside every interval_ms; misses spikes between two samples"
MARK = "read from outside right after the mark, while the program waits for the reading"
UPPER_BOUND = "misses no spike; several processes may not have peaked together"
COUNTED = (
    "counted by an endpoint of the run alone; requests of several processes or threads race, so repeats may differ"
)
LOGGED_TIMES = "from the endpoint's log; a request lasts from its arrival to the end of its answer"
CLOCK = "monotonic clock of the program; includes the start of workers; a busy machine makes it longer"
WATCHED_CLOCK = "monotonic clock of the watcher; includes the marks; a busy machine makes it longer"
CPU = "CPU clocks of all processes of the run; excludes kernel threads"
SIZES = "file sizes of the file system"


def readings(events: Events, name: str) -> list[Event]:
    """The events of a name that include a reading of the process tree."""
    return [event for event in events if event["event"] == name and "anon_bytes" in event.get("tree", {})]


def last(events: Events, name: str) -> Event:
    """Return the last event of a name; empty if there is none."""
    return next((event for event in reversed(events) if event["event"] == name), {})


def first(events: Events, name: str) -> Event:
    """Return the first event of a name; empty if there is none."""
    return next((event for event in events if event["event"] == name), {})


def phase(events: Events, name: str) -> Event:
    """Return the event that starts a phase; empty if there is none."""
    return next((event for event in events if event["event"] == "phase" and event["phase"] == name), {})


def tree(*candidates: Event) -> Mapping[str, Any]:
    """Return the tree's first reading with PSS among some events, else the first reading."""
    trees = [event["tree"] for event in candidates if "tree" in event]
    return next((tree for tree in trees if "pss_bytes" in tree), trees[0] if trees else {})


def difference(end: float | None, begin: float | None) -> float | None:
    return None if end is None or begin is None else end - begin


def share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def at(event_name: str, kind: str) -> Derive:
    """Read the tree right after the last event of a name."""

    def reading(_: Record, events: Events) -> float | None:
        readings = [event["tree"] for event in events if event["event"] == event_name and "tree" in event]
        return readings[-1].get(kind) if readings else None

    return reading


def of_first(event_name: str, key: str) -> Derive:
    """Read a field of the first event of a name."""
    return lambda _, events: first(events, event_name).get(key)


def of_last(event_name: str, key: str) -> Derive:
    """Read a field of the last event of a name."""
    return lambda _, events: last(events, event_name).get(key)


def recorded(*keys: str) -> Derive:
    """Read a field of the record, below these keys; None if one of them is missing."""

    def read(record: Record, _: Events) -> float | None:
        value: Any = record
        for key in keys:
            value = (value or {}).get(key)
        size: float | None = value
        return size

    return read


def account(key: str, *, worst: bool = False) -> Derive:
    """Read the account of rows of the last or the worst epoch, or of the mark `work`."""

    def rows(record: Record, events: Events) -> float | None:
        epochs = [event for event in events if event["event"] == "epoch" and key in event]
        if not epochs:
            return recorded("work", key)(record, events)
        counts: list[float | None] = [event[key] for event in epochs]
        return max((rows for rows in counts if rows is not None), default=None) if worst else counts[-1]

    return rows
