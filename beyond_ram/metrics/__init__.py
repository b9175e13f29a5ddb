"""The one registry of metrics: tables, figures, verdicts and comparisons read it and nothing else.

All measured columns of all tables, found in the modules of their subjects, and what the other columns identify.
"""

from collections.abc import Mapping

from . import explaining, limits, loading, pushing, runs, streaming
from .base import Column, Metric
from .base import Events as Events
from .base import Record as Record
from .base import Records as Records

COLUMNS: tuple[Column, ...] = tuple(
    column for module in (loading, runs, streaming, limits, pushing, explaining) for column in module.COLUMNS
)
METRICS: Mapping[str, Metric] = {
    found.key: found for found in COLUMNS if isinstance(found, Metric) and "runs" in found.tables
}
"""The metrics of every run, whatever its workload."""

IDENTIFYING: Mapping[str, str] = {
    "experiment": "the experiment of the config",
    "rep": "number of the repeat",
    "n": "repeats, or runs, whose values went into the line: those that finished",
    "run": "folder of one of the runs",
    "workload": "the program that was weighed",
    "outcome": "`completed`, `failed`, `killed_at_limit`, `interrupted_on_purpose`, `timed_out`, `not_applicable`, "
    "`no_record`; of all repeats of a cell: `completed` only where every one is, else what most others came to",
    "completed_work": "whether the work was finished, whatever the exit said",
    "exit_status": "the command's own",
    "signal": "the signal that ended it",
    "started_at": "when the command started, in seconds of Unix time",
    "ids_sha256": "hash of all token ids",
    "ids_agree": "whether all completed runs of the same input have the same hash; empty where it is the only one",
    "sizes": "how many sizes of the input finished",
    "ids": "whether the hash of ids is that of mode `engine` at every size that both ran: `same`, `other`",
    "rate_beside_engine": "as `verdict` of a comparison: tokens per CPU-second beside mode `engine`, same ids",
    "memory_beside_engine": "the same of peak anonymous memory, each page once",
    "kernel": "release of the kernel",
    "architecture": "of the machine",
    "libc": "and its version",
    "cgroup_version": "of the control groups",
    "transparent_hugepage": "the kernel's setting",
    "machine_memory_bytes": "memory of the machine",
    "cpu_count": "processors that the run may use",
    "commit": "of beyond-ram",
    "lock_sha256": "hash of the stack's lock",
    "allocator_settings": "environment variables that allocators read",
    "thread_settings": "environment variables that say how many threads libraries start, and how these wait",
    "sampler_": "how the run was sampled: interval, samples, lines, the sampler's share of a processor",
    "version_": "version of a package, read inside the stack's interpreter",
    "pyspark_huggingface": "version of the package",
    "pyspark": "version of the package",
    "huggingface_hub": "version of the package",
    "datasets": "version of the package",
    "shard": "number of the shard",
    "from_cache": "whether the shard came from the cache",
    "rung": "number of the step of the teardown",
    "owner": "what was let go, or what holds the memory",
    "verdict": "the cause of memory growth: `flat`, `page-cache`, `retained`, `held`, `leak`, `undecided`; in table "
    "`changes` the result of a comparison: `better`, `worse`, `same`, `undecided`",
    "result": "of a comparison: `better`, `worse`, `same`, `undecided`; of a remedy also `not run`",
    "reason": "why there is no result, or not all of it; why a comparison is undecided: too few "
    "repeats, too noisy, may be below the threshold; `likely better` and `likely worse`: over 10 %, the same sign in "
    "every pair, not confirmed",
    "confirmed": "whether the sides differ at the corrected level, by however little",
    "sentence": "the cause in words",
    "evidence": "the numbers that it rests on",
    "anon_shape": "`straight`, `levels off`, `grows`, `flat`, `undecided`",
    "file_shape": "the same of file memory",
    "readings_of": "what is read: `documents` within the runs of most input, or ends of runs of several `sizes`",
    "runs": "how many runs it rests on",
    "against": "the stack that it is compared with",
    "difference_result": "as `result` of a comparison, corrected over the table",
    "regrowth": "`levels off`, `grows`, `undecided`",
    "package": "a package that the two stacks lock otherwise",
    "requested": "whether one of the stacks asks for it itself",
    "metric": "the metric that is compared",
    "ladder": "the version ladder",
    "factor": "the package that varies",
    "from_version": "the version before the step, or in the baseline; empty where it has none",
    "to_version": "the version after it, or in the candidate",
    "significant": "whether the step is larger than noise, and matters",
    "neighbours": "whether no release lies between that could be weighed",
    "infeasible": "releases that could not be weighed, and why",
    "series": "the stack whose locks are followed",
    "place": "number of the lock, the oldest is 0 and today's the last",
    "measured_at": "when the first run with the lock started, in seconds of Unix time",
    "step_n": "repeats behind the step: of the lock that has fewer",
    "packages": "what two locks pin otherwise, where they are shown to differ",
    "moved": "what differs beside the one package, because a version could not be installed otherwise",
    "nearest_predictor": "the reading that came nearest to the smallest limit",
    "not_run": "why no limit was looked for",
    "rows_per_worker": "rows of each worker",
    "rows_per_rank": "rows of each rank",
    "rows_per_worker_of_rank": "rows of each worker of each rank",
    "loader_kind": "who wrote it so: `as written` in the article, `corrected`, `library`, `ours`, `own`",
    "shuffle": "what the loader shuffles",
    "account": "what became of the rows, in words",
    "lends": "whether a batch that was kept had changed in the end; empty where too few came to tell",
    "ceiling_way": "the fastest way to read without a loader in the order asked",
    "against_ceiling": "result of the warm rate against the read ceiling: `better`, `worse`, `same`, `undecided`",
    "no_rate": "why there is no rate",
    "of_loaders": "how many loaders the front was taken of",
    "without_rate": "how many more there are that have no rate",
    "ranked_by": "whose rate is ranked: `first epoch`, or `warm epochs`",
    "faster_than": "than how many of the others it is shown to be faster",
    "leaner_than": "than how many of the others it is shown to hold less memory",
    "chosen_for": "what makes the loader worth choosing",
    "counts_identical": "whether every repeat asked the same",
    "edit": "what was done to the table; `none` for the first push",
    "step": "what Spark was asked to do",
    "works": "whether it did, with the right rows",
    "source": "where the claim was published",
    "claim": "what it says",
    "conditions": "under which it was measured",
    "holds": "`yes`, `partly` (better, by less than claimed), `no`, `undecided`, `not run`",
    "axis": "the axis on which the two sides differ",
    "before": "the baseline's value on it",
    "after": "the candidate's",
    "family": "`planned`: a question that its experiment is there for; `exploratory`: any other comparison",
    "paired": "whether repeats are blocks in time",
    "exact": "whether every repeat of the metric's comparisons gave the same",
    "machines": "how the machines differ that the two sides were measured on; empty where they do not",
    "threshold": "the smallest difference that matters",
    "asked": "runs that were asked for: of the cells of the line, all repeats; of a comparison or a step, both sides",
    "finished": "of these, those that finished their work, whatever their exit said",
    "failed": "of these, those that did not, though they could have been run and were not interrupted on purpose",
    "why": "what the runs came to that did not complete, with how many of each",
}
"""Columns beside the axes that are not measured; a name that ends in `_` stands for all that begin with it."""

_ENDS = ("_low", "_high", "_min", "_max")
_NAMED = {(table, name): found for found in COLUMNS for table in found.tables for name in found.columns}


def column(table: str, name: str) -> Column | None:
    """What a column of a table means, the ends of its interval or range included; None where it is not measured."""
    found = _NAMED.get((table, name))
    return found or next((_NAMED.get((table, name.removesuffix(end))) for end in _ENDS if name.endswith(end)), None)


def identifies(name: str) -> str | None:
    """What a column identifies; None where it is none of these."""
    return IDENTIFYING.get(name) or IDENTIFYING.get(f"{name.partition('_')[0]}_")


def derive(record: Record, events: Events, table: str = "runs") -> dict[str, float | None]:
    """Every metric that a table has, by name, of one run or one event of it; None where the run does not have it."""
    return {
        found.key: found.derive(record, events)
        for found in COLUMNS
        if isinstance(found, Metric) and table in found.tables
    }


def table() -> str:
    """Markdown tables of all measured columns, and of the others."""
    lines = ["| column | in tables | meaning | unit | better | derivation | trust |", "|---|---|---|---|---|---|---|"]
    for found in COLUMNS:
        cells = (found.label, found.unit, found.direction, found.derivation, found.trust)
        lines.append(f"| `{found.key}` | {', '.join(found.tables)} | {' | '.join(cells)} |")
    lines += ["", "| column | what it says |", "|---|---|"]
    lines += [f"| `{name}{'…' if name.endswith('_') else ''}` | {meaning} |" for name, meaning in IDENTIFYING.items()]
    return "\n".join(lines) + "\n"
