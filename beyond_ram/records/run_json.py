"""The types of run.json. A record that is read is checked by them, and docs/results.md lists them.

Standard library only. In `RunRecord` and `ProvenanceEntry` a key without `NotRequired` is in every record; the others
are empty of a cell that could not run. null stands for what could not be read.
"""

import functools
import sys
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict


class ProcessEntry(TypedDict, total=False):
    """A process."""

    pid: int
    name: str
    bytes: int
    """What it had of the memory that a list is about."""
    rss_bytes: int
    hwm_bytes: int
    """The kernel's mark: its highest RSS."""
    final: bool
    """Whether the mark is from the kernel's record of its exit, and so exact."""


class MarksEntry(TypedDict, total=False):
    """Marks of processes."""

    processes: list[ProcessEntry]
    """Those with the highest marks."""
    sum_upper_bound_bytes: int | None
    """All of them added."""
    concurrent_upper_bound_bytes: int | None
    """Those of processes that lived at the same time, added."""
    reaped_bytes: int
    """The largest RSS of one process that was waited for."""
    exits_by_kernel: bool
    """Whether the kernel told of each exit."""
    exits_lost: bool
    """Whether it told of some too late."""
    processes_seen: int
    never_sampled: int
    """Processes that no sample has seen."""
    lower_bounds: int
    """Processes whose mark after the last sample is unknown."""
    set_back: bool | None
    """Whether another process set a mark back."""


class KeptEntry(TypedDict, total=False):
    """Memory that the kernel cannot reclaim."""

    basis: str
    """Who counted it: `group`, `around` or `tree`."""
    kept_bytes: int
    """Its peak."""
    kept_sampled_bytes: int
    """Its highest sample."""
    kept_upper_bound_bytes: int | None
    """What it was at most."""
    at_kept: dict[str, int]
    """Kinds of memory at the highest sample; empty for a group with groups inside."""
    kept_possible_bytes: int
    """With what ended unseen between two samples."""
    working_set_bytes: int | None
    sampled_anon_bytes: int
    locked_file_bytes: int
    readings: int
    """Readings of PSS."""
    whole: bool
    """Whether it counts all processes."""


class AroundEntry(TypedDict, total=False):
    """The group around the watcher: of a job, a container, a session."""

    version: int
    path: str
    alone: bool | None
    """Whether nobody else is in it."""
    limit_bytes: int | None
    kills: int | None
    """Kills for memory in it during the run."""
    peak_bytes: int | None
    held_before_bytes: int | None
    """What it held before the command started."""
    charges: dict[str, int | None]
    """What it is charged for at the end."""
    events: dict[str, int]
    """Of `memory.events`, during the run (v2)."""
    swap_limit_bytes: int | None


class PeakEntry(TypedDict, total=False):
    """Peaks of the process tree."""

    rss_bytes: int | None
    """The highest sample of the sum."""
    anon_bytes: int | None
    file_bytes: int | None
    shmem_bytes: int | None
    swap_bytes: int | None
    pss_bytes: int | None
    """The largest of few readings."""
    uss_bytes: int | None
    anon_upper_bound_bytes: int | None
    unseen_bytes: int | None
    """By how much marks exceed the samples of their processes."""
    hwm_bytes: MarksEntry
    processes: int
    """The most at once."""
    processes_unread: int | None
    """Processes that lived and could not be read."""
    shared_anon_bytes: int | None
    """Anonymous memory that several processes share."""
    copied_on_write_bytes: int | None
    """How much of it was copied, at least."""
    shared_read_at_bytes: int | None
    course: list[dict[str, float | None]]
    """The highest samples of each tenth of the time."""
    held_by: dict[str, list[ProcessEntry]]
    """By kind: the processes with most of it at its peak."""
    cgroup_bytes: int | None
    """The peak of the command's group, with page cache."""
    cgroup: dict[str, int | bool | str | None]
    """`version`, `mechanism` and `resets` of that group, or the `reason` why there is none."""
    uncharged_bytes: int | None
    """What the kernel took beyond the charge of the group."""
    kept: KeptEntry | None
    around: AroundEntry | None
    disagreements: list[str]
    """Sources that differ by more than 1 MB and 0.5 %."""


class PhaseEntry(TypedDict, total=False):
    """A phase that the program named, with its peaks."""

    phase: str
    start_s: float
    end_s: float | None
    rss_bytes: int | None
    anon_bytes: int | None
    file_bytes: int | None
    shmem_bytes: int | None
    swap_bytes: int | None
    pss_bytes: int | None
    uss_bytes: int | None
    hwm_bytes: int | None
    hwm_exact: bool
    concurrent_upper_bound_bytes: int | None
    anon_upper_bound_bytes: int | None
    cgroup_bytes: int | None
    reset_lag_s: float | None
    """Between its event and the reset of the marks."""


class SamplerEntry(TypedDict, total=False):
    """How the run was sampled."""

    reader: str | None
    unknown: list[str]
    """What the reader cannot know."""
    interval_ms: float
    """What was asked for."""
    interval_used_ms: float
    samples: int
    lines: int
    """Lines of samples.csv."""
    samples_per_line: int
    duty_cycle: float | None
    """The share of a processor that it took."""
    budget: float
    """The share that it may take."""


class ProvenanceEntry(TypedDict):
    """What ran where."""

    versions: dict[str, str]
    """Read in the interpreter that ran."""
    allocator_settings: dict[str, str]
    thread_settings: dict[str, str]
    kernel: NotRequired[str]
    architecture: NotRequired[str]
    libc: NotRequired[str]
    cgroup_version: NotRequired[int | None]
    transparent_hugepage: NotRequired[str | None]
    scheduler: NotRequired[str | None]
    machine_memory_bytes: NotRequired[int | None]
    cpu_count: NotRequired[int | None]
    commit: NotRequired[str | None]
    """Of this project."""
    lock_sha256: NotRequired[str]
    code_sha256: NotRequired[str]
    """Of code, lock and job."""
    imported_sha256: NotRequired[dict[str, str]]
    """Files that a script imported from elsewhere than its environment; `changed` for one that changed meanwhile."""
    events_sha256: NotRequired[str]
    """Of events.jsonl, in the workflow."""
    moved: NotRequired[str]
    """Packages that moved with the version of a ladder."""
    randomised: NotRequired[dict[str, Any]]


class GrowthEntry(TypedDict, total=False):
    """Growth of kept memory at the end."""

    bytes_per_s: float
    over_s: float
    now_bytes: float
    ceiling: str | None
    """The lowest limit that it can reach."""
    ceiling_bytes: int | None
    reaches_in_s: float | None


class CeilingEntry(TypedDict, total=False):
    """A ceiling and its result."""

    kind: str
    option: str
    max_bytes: int
    peak_bytes: int | None
    at_most_bytes: int | None
    """What the peak may have been."""
    result: str
    """`above`, `within` or `unknown`."""
    why: str | None
    held_by: list[ProcessEntry]


class NoteEntry(TypedDict, total=False):
    """What could not be recorded."""

    what: str
    why: str
    since_s: float
    until_s: float
    times: int


class StorageEntry(TypedDict, total=False):
    """What was read and written."""

    read_bytes: int | None
    written_bytes: int | None
    returned_bytes: int | None
    """What read calls returned, from the page cache, pipes and sockets too."""


class PageCacheEntry(TypedDict, total=False):
    """The page cache of the inputs."""

    input_bytes: int | None
    input_resident_before: float | None
    input_resident_after: float | None
    read_ahead_bytes: int | None
    warning: str | None


class PressureEntry(TypedDict, total=False):
    """Waiting for memory."""

    of: str
    """Whose: of the command's `group`, of the group `around` it, or of the `machine`."""
    some_s: float
    full_s: float


class FaultsEntry(TypedDict, total=False):
    """Page faults."""

    minor: int | None
    major: int | None


class BeforeEntry(TypedDict, total=False):
    """What the kernel knew from before the attach."""

    cpu_s: float | None
    hwm_bytes: int | None
    hwm_pid: int | None
    hwm_sum_upper_bound_bytes: int | None
    hwm_above_bytes: int | None
    cgroup_peak_bytes: int | None
    cgroup_above_bytes: int | None


class AttachedEntry(TypedDict, total=False):
    """The running program that was followed."""

    to: dict[str, Any]
    name: str
    processes: int
    running_s: float
    marks_reset: bool
    before: BeforeEntry


class WorkEntry(TypedDict, total=False):
    """What the program did."""

    rows: float | None
    bytes_in: float
    tokens: float | None
    rows_per_worker: dict[str, float]
    rows_expected: float | None
    rows_delivered: float
    rows_twice: float
    rows_missing: float
    rows_wrong: float
    ids_sha256: str
    answer_sha256: str
    """Of what a script printed and wrote."""
    printed_bytes: int
    files_written: int
    files_bytes: int
    requests: dict[str, dict[str, int]]
    """By kind, then by process: `main` or `worker`."""
    requests_failed: int
    bytes_received: int
    in_flight_max: int
    endpoint: dict[str, float]
    """What the local server did itself."""


class MemoryEntry(TypedDict, total=False):
    """Memory of the process tree at a time."""

    t_s: float
    rss_bytes: float
    anon_bytes: float
    kept_bytes: float
    from_cache: bool
    """Whether a shard came from the cache."""


class AttemptEntry(TypedDict, total=False):
    """A start under a limit."""

    outcome: str
    duration_s: float | None
    peak_bytes: int | None
    shards: list[MemoryEntry]
    """After each of them."""
    course: list[MemoryEntry]


class ProbeEntry(TypedDict, total=False):
    """A run of a search for a limit."""

    limit_bytes: float | None
    outcome: str
    reason: str
    completed_work: bool
    duration_s: float
    work_s: float
    """Until its work was done."""
    waited_s: float | None
    """For memory."""
    major_faults: float
    read_bytes: float | None
    cgroup_bytes: float | None
    from_cache_bytes: float | None


class LimitEntry(TypedDict, total=False):
    """The search for the smallest limit."""

    not_run: str
    tolerance: float
    probes: list[ProbeEntry]
    killed_at_bytes: int | None
    """The largest limit that did not suffice, by how the run ended."""
    failed_at_bytes: int | None
    timed_out_at_bytes: int | None
    completed_at_bytes: int | None
    completed_runs: int
    request_bytes: int | None
    """What the run without a limit would have requested."""
    from_cache_bytes: int | None
    out_of_budget: bool
    speed_share: float
    speed_kept_at_bytes: int | None
    slowed_at_bytes: int | None
    speed_probes: list[dict[str, Any]]
    speed_not_run: str


class StepEntry(TypedDict, total=False):
    """A holder, and what was given back when it was released."""

    holder: str
    kind: str
    type: str
    released_bytes: int
    objects_bytes: int
    also_held_by: list[str]
    released_before: dict[str, int]
    """Owners of pages in which its objects lay too."""
    fragments: bool


class WhyEntry(TypedDict, total=False):
    """What held its memory at its end."""

    not_run: str
    start_bytes: int
    end_bytes: int
    peak_bytes: int
    stayed_bytes: int
    imports_bytes: int
    floor_bytes: float
    """Smaller holders are not named."""
    steps: list[StepEntry]
    malloc_bytes_more: int
    python_bytes_more: int
    arrow_bytes_more: int
    processes: list[dict[str, Any]]
    threads: int
    sites: dict[str, list[dict[str, Any]]]
    status: int
    error: str | None
    ended_early: str
    measuring_s: float


class RunRecord(TypedDict):
    """All of it."""

    outcome: str
    """`completed`, `failed`, `killed_at_limit`, `timed_out`, `interrupted_on_purpose` or `not_applicable`; of a program
    that was already running `ended` or `detached`."""
    reason: NotRequired[str | None]
    """Why it failed, or does not apply."""
    completed_work: bool | None
    """Unknown of a program that was already running."""
    exit_status: int | None
    signal: str | None
    command: NotRequired[list[str]]
    """With `***` for secrets."""
    pid: NotRequired[int]
    cell: dict[str, Any]
    """The axes of the run's cell, with their values."""
    workload: NotRequired[str]
    started_at: NotRequired[float | None]
    """In Unix time."""
    duration_s: float | None
    cpu_s: float | None
    measuring_s: NotRequired[float]
    """With all that is not measured: start of the driver, input, checks."""
    provenance: ProvenanceEntry
    work: WorkEntry
    peak: PeakEntry
    phases: NotRequired[list[PhaseEntry]]
    faults: NotRequired[FaultsEntry]
    storage: NotRequired[StorageEntry]
    pressure: NotRequired[PressureEntry | None]
    growth: NotRequired[GrowthEntry | None]
    page_cache: NotRequired[PageCacheEntry]
    memory_limit_bytes: NotRequired[int | None]
    killed_for_memory: NotRequired[bool]
    """By this limit, or by that of a group around."""
    refused_bytes: NotRequired[int | None]
    """The size of an allocation that was refused."""
    left_running: NotRequired[list[ProcessEntry]]
    signals: NotRequired[list[str]]
    """Signals that reached the watcher, which passed them on: the command may have ended early."""
    sampler: SamplerEntry
    missing: NotRequired[list[NoteEntry]]
    ceilings: NotRequired[list[CeilingEntry]]
    watch_status: NotRequired[int]
    """The exit status of `watch`, if a ceiling decided it."""
    elsewhere: NotRequired[str]
    """The folder of files that `--out` could not take."""
    attached: NotRequired[AttachedEntry]
    attempts: NotRequired[list[AttemptEntry]]
    """Until one completed."""
    limit: NotRequired[LimitEntry]
    why: NotRequired[WhyEntry]


_WRONG: Mapping[Any, str] = {
    str: "' is no text", bool: "' is neither true nor false", int: "' is no whole number", float: "' is no number",
    list: "' is no list", dict: "' is no object",
}  # fmt: skip
_LARGEST = sys.float_info.max


def fault(content: Any, kind: Any = RunRecord) -> str:
    """What is wrong with the types of a record or a part, such as `'peak.kept' is no object`; empty if nothing.

    Other keys are no fault, and a number may be whole.
    """
    wrong = _fault(content, kind)
    return wrong and f"'{wrong.removeprefix('.')}"


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...], Mapping[str, Any] | None]:
    """What a type is of, its arguments, and the types of its keys: computed once, for all records."""
    return get_origin(kind) or kind, get_args(kind), get_type_hints(kind) if is_typeddict(kind) else None


def _fault(value: Any, kind: Any) -> str:
    """What is wrong with a value, after the rest of its path; empty if nothing."""
    of, inner, keys = _parts(kind)
    if of is UnionType:
        faults = (_fault(value, one) for one in inner if one is not NoneType)
        return "" if value is None and NoneType in inner else min(faults, key=len)
    if of in (dict, list):
        if not isinstance(value, of):
            return _WRONG[of]
        ones = value.values() if isinstance(value, dict) else value
        wrong = next(filter(None, (_fault(one, inner[-1]) for one in ones)), "")
        return wrong and f".*{wrong}"
    if keys is not None:
        if not isinstance(value, dict):
            return _WRONG[dict]
        for name, one in value.items():
            if name in keys and (wrong := _fault(one, keys[name])):
                return f".{name}{wrong}"
        missing = next((name for name in keys if name in of.__required_keys__ and name not in value), "")
        return missing and f".{missing}' is missing"
    if of in (int, float):
        is_number = value.__class__ is int or (of is float and value.__class__ is float)
        return "" if is_number and -_LARGEST <= value <= _LARGEST else _WRONG[of]
    return "" if of is Any or isinstance(value, of) else _WRONG[of]
