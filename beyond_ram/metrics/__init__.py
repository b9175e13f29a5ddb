"""The registry of metrics for all tables, figures and comparisons.

It has the measured columns of all tables, from the module of each subject, and the meaning of all other columns.
"""

from collections.abc import Mapping

from . import explaining, limits, loading, runs, streaming
from .base import Column, Metric
from .base import Events as Events
from .base import Record as Record
from .base import Records as Records
from .reported import Metrics, reported

COLUMNS: tuple[Column, ...] = tuple(
    column for module in (loading, runs, streaming, limits, explaining) for column in module.COLUMNS
)
METRICS: Mapping[str, Metric] = Metrics(
    {column.key: column for column in COLUMNS if isinstance(column, Metric) and "runs" in column.tables}
)
"""The metrics of single runs, whatever the workload."""

IDENTIFYING: Mapping[str, str] = {
    "experiment": "the experiment of the config",
    "rep": "number of the repeat",
    "n": "repeats or runs behind the line: those that finished",
    "workload": "the program that was measured",
    "outcome": "`completed`, `failed`, `killed_at_limit`, `interrupted_on_purpose`, `timed_out`, `not_applicable`, "
    "`no_record`; of a cell: `completed` if every repeat completed, else the most frequent other outcome",
    "completed_work": "whether the work was finished, whatever the exit status",
    "exit_status": "exit status of the command",
    "signal": "the signal that ended it",
    "started_at": "when the command started, in seconds of Unix time",
    "ids_sha256": "hash of all token ids",
    "answer_sha256": "hash of a script's output and of the files that it wrote",
    "ids_agree": "whether all completed runs of the same input have the same hash; empty for a single run",
    "kernel": "release of the kernel",
    "architecture": "architecture of the machine",
    "libc": "C library and its version",
    "cgroup_version": "version of the control groups",
    "transparent_hugepage": "the kernel's setting",
    "machine_memory_bytes": "memory of the machine",
    "cpu_count": "processors that the run could use",
    "commit": "commit of beyond-ram",
    "lock_sha256": "hash of the stack's lock",
    "allocator_settings": "environment variables read by allocators",
    "thread_settings": "environment variables that set the number of threads of libraries and how they wait",
    "sampler_": "how the run was sampled: interval, samples, lines, the sampler's share of a processor",
    "version_": "version of a package, read inside the stack's interpreter",
    "shard": "number of the shard",
    "from_cache": "whether the shard came from the cache",
    "cause": "of memory growth: `flat`, `page-cache`, `retained`, `held`, `leak`, `undecided`",
    "owner": "what holds the memory, or keeps it unused",
    "result": "of a comparison, or of two versions by fresh runs: `better`, `worse`, `same`, `undecided`",
    "reason": "why there is no result, or only a part of it; why a comparison is undecided: too few "
    "repeats, too noisy, may be below the threshold; of a gate also `likely better` and `likely worse`, and what "
    "`same` may have missed",
    "confirmed": "whether the sides differ at the corrected level, however little",
    "anon_shape": "`straight`, `levels off`, `grows`, `flat`, `undecided`",
    "readings_of": "the fitted readings: `documents` within the runs of largest input, "
    "`samples` between few of them, or ends of runs of several `sizes`",
    "runs": "runs of the line, whatever became of them: all repeats of its cells; both sides of a comparison or step",
    "readings": "readings that a slope was fitted to",
    "against": "the stack on the other side of the comparison",
    "difference_result": "as `result` of a comparison, corrected over the table",
    "regrowth": "`levels off`, `grows`, `undecided`",
    "package": "a package that differs between the two stacks",
    "requested": "whether one of the stacks asks for it itself",
    "metric": "the metric that is compared",
    "ladder": "the version ladder",
    "factor": "the package that varies",
    "from_version": "the version before the step, or in the baseline; empty if it has none",
    "to_version": "the version after it, or in the candidate",
    "whole": "whether the line compares the first version with the last, where no step between them is confirmed",
    "neighbours": "whether no measurable release lies between",
    "infeasible": "releases that could not be measured, and why",
    "moved": "other packages that had to change with this one",
    "ended": "how a run ended under the largest limit that did not suffice",
    "not_run": "why no limit was searched",
    "rows_per_worker": "rows of each worker",
    "loader_kind": "origin: `as written` in the article, `corrected`, `library`, `ours`, `own`",
    "shuffle": "what the loader shuffles",
    "account": "which rows came twice, never or wrong, in words",
    "lends": "whether the loader overwrote a retained batch later; empty if there were too few batches to tell",
    "counts_identical": "whether every repeat made the same requests",
    "unit": "unit of the number",
    "better": "which way is better; `neither` is not compared",
    "axis": "the axis on which the two sides differ",
    "before": "the baseline's value on it",
    "after": "the candidate's",
    "family": "`planned`: a question that its experiment is there for; `exploratory`: any other comparison",
    "paired": "whether repeats were paired by time",
    "exact": "whether all repeats gave the same value",
    "machines": "how the machines of the two sides differ; empty if they do not",
    "threshold": "the smallest difference that matters",
    "finished": "runs that finished their work, whatever the exit status",
    "failed": "runs that did not finish, without those not applicable or interrupted on purpose",
    "not_completed": "the outcomes of the runs that did not complete, with their numbers",
}
"""Columns that are neither axes nor measured. A name that ends in `_` is a prefix for a group of columns."""

_ENDS = ("_low", "_high", "_min", "_max")
_NAMED = {(table, name): column for column in COLUMNS for table in column.tables for name in column.columns}


def column(table: str, name: str) -> Column | None:
    """Return the meaning of a table's column or of its `_low`, `_high`, `_min`, `_max`; None if it is not measured."""
    exact = _NAMED.get((table, name)) or (METRICS.get(name) if table == "runs" else None)
    return exact or next((_NAMED.get((table, name.removesuffix(end))) for end in _ENDS if name.endswith(end)), None)


def derive(record: Record, events: Events, table: str = "runs") -> dict[str, float | None]:
    """Derive every metric of a table from one run or one of its events; None if the run does not have it.

    A run that was started again has only its failure: the last start did a part of the work.
    """
    again = len(record.get("attempts", ())) > 1
    measured = {
        column.key: None if again and column.key != runs.FAILED else column.derive(record, events)
        for column in COLUMNS
        if isinstance(column, Metric) and table in column.tables
    }
    return measured | reported(() if again or table != "runs" else events)
