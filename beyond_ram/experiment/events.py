"""The schema of events: their meaning, and their fields with units. Standard library only.

A program may emit other events. These are the events that the workloads emit and that tables use.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Types = tuple[type, ...]
_COUNT, _NUMBER, _TEXT, _FLAG, _MAP, _LIST = (int,), (int, float), (str,), (bool,), (dict,), (list,)
_MAYBE = (type(None),)


@dataclass(frozen=True)
class Field:
    """A field. Its name means the same in every event."""

    types: Types
    unit: str
    meaning: str


@dataclass(frozen=True)
class Event:
    """An event: its required fields, and those that only some workloads emit."""

    meaning: str
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


# Fields of `events.own_memory`; empty without /proc.
MEMORY = ("hwm_bytes", "rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes")
_ACCOUNT = ("rows_delivered", "rows_per_worker")
# Known if rows have numbers, or if the number of rows is known.
_CHECKED = ("rows_expected", "rows_twice", "rows_missing", "rows_wrong", "rows_identified_by", "labels_checked")

FIELDS: Mapping[str, Field] = {
    "t_s": Field(_NUMBER, "s", "since the start of the command"),
    "event": Field(_TEXT, "", "the name of the event"),
    "pid": Field(_COUNT, "", "process that emitted it"),
    "attached": Field(_FLAG, "", "whether it ran already"),
    "tree": Field(_MAP, "bytes, s", "the whole tree, read from outside right after the event"),
    "exit_status": Field((*_COUNT, *_MAYBE), "", "of the command"),
    "hwm_bytes": Field(_COUNT, "bytes", "high-water mark of the process"),
    "rss_bytes": Field(_COUNT, "bytes", "resident memory of the process"),
    "anon_bytes": Field(_COUNT, "bytes", "anonymous memory of the process"),
    "file_bytes": Field(_COUNT, "bytes", "file memory of the process"),
    "shmem_bytes": Field(_COUNT, "bytes", "shared memory of the process"),
    "phase": Field(_TEXT, "", "name of the phase that begins"),
    "versions": Field(_MAP, "", "versions of packages, by name"),
    "clock_s": Field(_NUMBER, "s", "monotonic clock, which ties the endpoint's log to the run's times"),
    "encoder": Field(_TEXT, "", "source of the ids: `transformers`, or a call of tokenizers"),
    "reason": Field(_TEXT, "", "why, in one line"),
    "rows": Field((*_COUNT, *_MAYBE), "rows", "rows of the event's subject"),
    "bytes_in": Field(_COUNT, "bytes", "input: text, or payload of rows"),
    "tokens": Field(_COUNT, "tokens", "tokens made"),
    "stored_bytes": Field(_COUNT, "bytes", "files of the format"),
    "words": Field(_COUNT, "", "words of the text, between white space"),
    "loader_kind": Field(_TEXT, "", "kind of the loader"),
    "shuffle": Field(_TEXT, "", "what the loader shuffles"),
    "shard": Field(_COUNT, "", "number of the shard, from 0"),
    "from_cache": Field(_FLAG, "", "whether the shard came from the cache"),
    "tokenizer_calls": Field(_COUNT, "calls", "calls of the tokenizer for the shard"),
    "cache_bytes_written": Field(_COUNT, "bytes", "growth of the cache"),
    "epoch": Field(_COUNT, "", "number of the epoch, from 0"),
    "duration_s": Field(_NUMBER, "s", "how long it took"),
    "cpu_s": Field(_NUMBER, "s", "CPU time of all processes"),
    "first_batch_s": Field((*_NUMBER, *_MAYBE), "s", "from the beginning of the epoch to its first batch"),
    "startup_cpu_s": Field(
        (*_NUMBER, *_MAYBE), "s", "CPU time to start workers, until each began to work; null if they do not report it"
    ),
    "lends": Field((*_FLAG, *_MAYBE), "", "whether later batches overwrote a kept first one; null if unknown"),
    "finished": Field(_FLAG, "", "whether the epoch came to its end"),
    "bytes": Field((*_COUNT, *_MAYBE), "bytes", "payload delivered; null if its size is unknown"),
    "worker_anon_bytes": Field(_MAP, "bytes", "largest anonymous memory of each worker"),
    "rows_expected": Field((*_COUNT, *_MAYBE), "rows", "rows that must be delivered"),
    "rows_delivered": Field(_COUNT, "rows", "rows delivered, repeated ones included"),
    "rows_twice": Field(_COUNT, "rows", "rows that came more than once"),
    "rows_missing": Field(_COUNT, "rows", "rows that never came"),
    "rows_identified_by": Field(_TEXT, "", "how delivered rows are identified: `ids`, `labels` or `contents`"),
    "labels_checked": Field(_FLAG, "", "whether every row came with its label"),
    "rows_wrong": Field(_COUNT, "rows", "delivered rows that are not in the data, or not whole"),
    "rows_per_worker": Field(_MAP, "rows", "rows delivered by each worker"),
    "opened_s": Field(_NUMBER, "s", "time to open the data"),
    "pickled_bytes": Field((*_COUNT, *_MAYBE), "bytes", "the dataset as it is sent to a worker"),
    "worker": Field(_COUNT, "", "number of the worker"),
    "label": Field(_TEXT, "", "name of the number"),
    "value": Field((*_NUMBER, *_MAYBE), "", "the number"),
    "unit": Field(_TEXT, "", "its unit"),
    "better": Field(_TEXT, "", "`lower`, `higher` or `neither`: a number with a better direction is compared"),
    "exact": Field(_FLAG, "", "whether it is a count, which repeats exactly"),
    "modules": Field(_LIST, "", "imported modules of the environment"),
    "modules_from_elsewhere": Field((dict,), "", "files of imported modules that are not of the environment"),
}

EVENTS: Mapping[str, Event] = {
    "start": Event("the command starts, or is attached to; from the watcher", (), ("attached",)),
    "end": Event("the command has ended; from the watcher", ("exit_status",)),
    "phase": Event("a phase begins, and the one before it ends", ("phase",)),
    "provenance": Event("versions of the packages that run", ("versions",), ("clock_s",)),
    "imported": Event("the imports are done", (), MEMORY),
    "baseline": Event("all is ready for the work", (), (*MEMORY, "opened_s", "pickled_bytes", "encoder")),
    "loaded": Event("tokenisation: the input is loaded", ("rows", "bytes_in"), MEMORY),
    "progress": Event("tokenisation: input done so far, before the next batch", ("bytes_in",), MEMORY),
    "shard": Event(
        "tokenisation: a shard is done",
        ("shard", "from_cache", "rows", "tokenizer_calls", "cache_bytes_written"),
        MEMORY,
    ),
    "sharded": Event("tokenisation: all shards are done", (), MEMORY),
    "resolved": Event("streaming: the data is opened", ("duration_s",), MEMORY),
    "worker": Event("streaming: a worker starts", ("worker",), MEMORY),
    "delivered": Event(
        "loading: rows delivered so far in an epoch, once a second", ("epoch", "rows_delivered"), ("bytes_in",)
    ),
    "epoch_begins": Event("loading: an epoch begins", ("epoch",)),
    "first_batch": Event(
        "the first batch, or sample, arrived: of the run (`duration_s`, from the call that opens the data) or, while "
        "loading, of the epoch",
        (),
        ("duration_s", "first_batch_s", *MEMORY),
    ),
    "epoch": Event(
        "an epoch is over",
        ("epoch",),
        (
            *("duration_s", "cpu_s", "first_batch_s", "finished", "bytes"),
            *("startup_cpu_s", "worker_anon_bytes", *_ACCOUNT, *_CHECKED, *MEMORY),
        ),
    ),
    "metric": Event("a script reports a number", ("label", "value", "unit"), ("better", "exact")),
    "work": Event(
        "the work is done, and its objects are still kept",
        ("rows",),
        (
            *("bytes_in", "tokens", "words", "stored_bytes", "loader_kind", "shuffle", "epoch", "duration_s", "cpu_s"),
            *("startup_cpu_s", "lends", "first_batch_s", *_ACCOUNT, *_CHECKED, *MEMORY),
        ),
    ),
    "imports": Event("what a script imported, after its work", ("modules", "modules_from_elsewhere")),
    "not_applicable": Event("the cell cannot run here", ("reason",)),
    "gave_up": Event("the program gave up", ("reason",)),
}
# Fields of every event: the watcher's time and reading, the program's clock.
_ALWAYS = ("t_s", "event", "pid", "tree", "monotonic_s")


def faults(event: Mapping[str, Any], *, strict: bool = True) -> Iterator[str]:
    """Faults of an event against the schema. An unknown event is only checked for types.

    A program of the user's may have fields of its own: a fault only if `strict`.
    """
    name = event["event"]
    described_event = EVENTS.get(name, Event(""))
    for field in described_event.fields:
        if field not in event:
            yield f"event {name!r}: {field!r} is missing"
    for field, value in event.items():
        if field in _ALWAYS:
            described = field in FIELDS
        else:
            described = field in (*described_event.fields, *described_event.optional)
            if strict and not described and name in EVENTS:
                yield f"event {name!r}: {field!r} is no field of it"
        if described and type(value) not in FIELDS[field].types:
            yield f"event {name!r}: {field!r} is {value!r}, not {' or '.join(t.__name__ for t in FIELDS[field].types)}"
