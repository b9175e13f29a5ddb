"""What a measured column is, and what columns are read off: marks, peaks, phases and the counts of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

Record = Mapping[str, Any]
Event = Mapping[str, Any]
Events = Sequence[Event]
Records = Iterable[tuple[Record, Events]]
Derive = Callable[[Record, Events], float | None]


@dataclass(frozen=True)
class Column:
    """A measured column of tables. `NAME_low` and `NAME_high` are the ends of its 95 % interval, `NAME_min` and
    `NAME_max` the smallest and the largest of its repeats. Declared as a row, in this order."""

    key: str
    """Its name; with parts in capitals it stands for all of `names`."""
    label: str
    unit: str
    tables: tuple[str, ...]
    """The tables that have it. A name may mean another thing in another table, and has another entry then."""
    derivation: str
    trust: str
    _: KW_ONLY
    direction: Literal["lower", "higher", "neither"] = "neither"
    """Which way is better."""
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that columns of this meaning have."""
        return self.names or (self.key,)


@dataclass(frozen=True)
class Metric(Column):
    """A column that is read off one run: its record and its events. Tables of cells put the repeats together."""

    derive: Derive
    _: KW_ONLY
    decided: tuple[str, ...] = ()
    """The workloads in which a report decides it, or ANY. Few: each comparison more makes all others harder to show."""
    beside: str = ""
    """The metric that a finding tells first, where both are shown: the first epoch before those from the page cache."""

    def decided_in(self, workload: str) -> bool:
        return workload in self.decided or ANY in self.decided


ANY = "any"
"""In place of a workload: every one."""
EXACT = "exact"
SAMPLED = "sampled from outside every interval_ms; a spike between two samples is missed: see hwm_gap"
MARK = "read from outside within one interval of the mark, held for 0.05 s and 0.05 s per GB of the program"
UPPER_BOUND = "no spike is missed; over several processes they need not have peaked together"
COUNTED = "exact: the endpoint is alone with the run"
LOGGED_TIMES = "times of the endpoint's log; a request counts from its arrival to the end of its answer"
CLOCK = "monotonic clock of the program; the start of workers is in it, and a busy machine shows in it"
CPU = "CPU clocks of all processes of the run; the CPU of kernel threads is not in it"
SIZES = "sizes of files as the file system gives them"


def last(events: Events, name: str) -> Event:
    """The last event of a name; empty where there is none."""
    return next((event for event in reversed(events) if event["event"] == name), {})


def first(events: Events, name: str) -> Event:
    """The first event of a name; empty where there is none."""
    return next((event for event in events if event["event"] == name), {})


def phase(events: Events, name: str) -> Event:
    """The event that begins a phase; empty where there is none."""
    return next((event for event in events if event["event"] == "phase" and event["phase"] == name), {})


def tree(*candidates: Event) -> Mapping[str, Any]:
    """The reading of the tree at the first of some events that has one with PSS, or at all."""
    trees = [event["tree"] for event in candidates if "tree" in event]
    return next((tree for tree in trees if "pss_bytes" in tree), trees[0] if trees else {})


def difference(end: float | None, begin: float | None) -> float | None:
    return None if end is None or begin is None else end - begin


def share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def at(event_name: str, kind: str) -> Derive:
    """The tree's reading right after the last event of a name."""

    def reading(_: Record, events: Events) -> float | None:
        readings = [event["tree"] for event in events if event["event"] == event_name and "tree" in event]
        return readings[-1].get(kind) if readings else None

    return reading


def event_field(event_name: str, key: str) -> Derive:
    """A field of the first event of a name."""
    return lambda _, events: first(events, event_name).get(key)


def peak(kind: str) -> Derive:
    return lambda record, _: record["peak"].get(kind)  # runs kept from before may lack it


def work(key: str) -> Derive:
    return lambda record, _: record["work"].get(key)


def account(key: str, *, worst: bool = False) -> Derive:
    """The account of rows: of the last epoch or the one with most; of several processes, what the mark `work` says."""

    def rows(record: Record, events: Events) -> float | None:
        epochs = [event for event in events if event["event"] == "epoch" and key in event]
        if not epochs or len({event.get("pid") for event in epochs}) > 1:
            return work(key)(record, events)
        found: list[float | None] = [event[key] for event in epochs]
        return max((rows for rows in found if rows is not None), default=None) if worst else found[-1]

    return rows
