"""What a run of any workload has: memory at marks and at the peak, time, and what of its input the page cache holds."""

from .base import ANY, CPU, EXACT, MARK, SAMPLED, UPPER_BOUND, Column, Derive, Events, Metric, Record, at, peak, work

FAILED = "run_failed"
"""The metric of runs that did not finish: the one that these have too."""
_AT_WORK = "tree at the mark `work`"
_GROWN = "mark `work` less mark `baseline`, or `imported` where there is no baseline"
_LARGEST = "largest sum over the tree"
_MINCORE = "mincore over the input files"


def _difference(kind: str) -> Derive:
    end, starts = at("work", kind), (at("baseline", kind), at("imported", kind))

    def grown(record: Record, events: Events) -> float | None:
        last = end(record, events)
        first = next((size for start in starts if (size := start(record, events)) is not None), None)
        return None if last is None or first is None else last - first

    return grown


def _hwm(record: Record, _: Events) -> float | None:
    marks = record["peak"].get("hwm_bytes")
    return float(marks["sum_upper_bound_bytes"]) if marks else None


def _hwm_gap(record: Record, _: Events) -> float | None:
    """Only for one process: over several, their high-water marks need not fall together."""
    processes = record["peak"].get("hwm_bytes", {}).get("processes", ())
    if len(processes) != 1 or not processes[0]["hwm_bytes"]:
        return None
    return float(record["peak"]["rss_bytes"] / processes[0]["hwm_bytes"] - 1)


def _per_cpu_s(record: Record, events: Events) -> float | None:
    tokens, cpu_s = record["work"].get("tokens"), at("work", "cpu_s")(record, events)
    return tokens / cpu_s if tokens and cpu_s else None


def _peak_growth(record: Record, events: Events) -> float | None:
    """Above the memory after the imports, which differs between libraries."""
    peak, before = record["peak"].get("anon_upper_bound_bytes"), at("imported", "anon_bytes")(record, events)
    return None if peak is None or before is None else peak - before


def _cache_written(_: Record, events: Events) -> float | None:
    written = [event["cache_bytes_written"] for event in events if event["event"] == "shard"]
    return float(sum(written)) if written else None


def _page_cache(key: str) -> Derive:
    return lambda record, _: record.get("page_cache", {}).get(key)


def _failed(record: Record, _: Events) -> float | None:
    if record.get("outcome") in (None, "not_applicable", "interrupted_on_purpose"):
        return None
    return float(not (record["completed_work"] and record["outcome"] == "completed"))


def _of_run(key: str) -> Derive:
    return lambda record, _: record.get(key)


COLUMNS: list[Column] = [
    Metric(
        key="duration_s", label="Time of the whole run", unit="s", direction="lower", tables=("runs",),
        derivation="from the start of the command to its end",
        trust="monotonic clock of the watcher; the marks are in it", derive=_of_run("duration_s"),
    ),
    Metric(
        key="cpu_s", label="CPU time of the whole run", unit="s", direction="lower", tables=("runs",),
        derivation="rusage of the whole tree", trust=CPU, derive=_of_run("cpu_s"),
    ),
    Metric(
        key=FAILED, label="Runs that failed", unit="runs", direction="lower", tables=("runs",),
        derivation="1 where a run that could be made did not finish its work, else 0", trust=EXACT,
        decided=(ANY,), derive=_failed,
    ),
    Metric(
        key="rows", label="Rows", unit="rows", tables=("runs", "writers"),
        derivation="what the mark `work` says", trust=EXACT, derive=work("rows"),
    ),
    Metric(
        key="bytes_in", label="Input", unit="bytes", tables=("runs", "writers"),
        derivation="what the mark `work` says: text, or payload of rows", trust=EXACT, derive=work("bytes_in"),
    ),
    Metric(
        key="token_count", label="Tokens", unit="tokens", tables=("runs",),
        derivation="`tokens` of the mark `work`, or of the check after it", trust=EXACT,
        decided=("tokenize", "soak"), derive=work("tokens"),
    ),
    Metric(
        key="end_rss_bytes", label="RSS at end of work", unit="bytes", direction="lower", tables=("runs",),
        derivation=_AT_WORK, trust=MARK, derive=at("work", "rss_bytes"),
    ),
    Metric(
        key="end_anon_bytes", label="Anonymous memory at end of work", unit="bytes", direction="lower",
        tables=("runs",), derivation=_AT_WORK, trust=MARK, derive=at("work", "anon_bytes"),
    ),
    Metric(
        key="end_file_bytes", label="File memory at end of work", unit="bytes", tables=("runs",),
        derivation=_AT_WORK, trust=MARK, derive=at("work", "file_bytes"),
    ),
    Metric(
        key="end_pss_bytes", label="PSS at end of work", unit="bytes", direction="lower", tables=("runs",),
        derivation=_AT_WORK, trust=MARK, derive=at("work", "pss_bytes"),
    ),
    Metric(
        key="baseline_anon_bytes", label="Anonymous memory after imports", unit="bytes", direction="lower",
        tables=("runs",), derivation="tree at the mark `baseline`", trust=MARK, derive=at("baseline", "anon_bytes"),
    ),
    Metric(
        key="grown_anon_bytes", label="Growth of anonymous memory", unit="bytes", direction="lower",
        tables=("runs",), derivation=_GROWN, trust=MARK, decided=("tokenize", "soak"), derive=_difference("anon_bytes"),
    ),
    Metric(
        key="grown_file_bytes", label="Growth of file memory", unit="bytes", tables=("runs",),
        derivation=_GROWN, trust=MARK, derive=_difference("file_bytes"),
    ),
    Metric(
        key="peak_rss_bytes", label="Peak RSS", unit="bytes", direction="lower",
        tables=("runs", "streaming", "limits"), derivation=_LARGEST, trust=SAMPLED, derive=peak("rss_bytes"),
    ),
    Metric(
        key="peak_anon_bytes", label="Peak anonymous memory", unit="bytes", direction="lower",
        tables=("runs", "loaders", "streaming", "limits", "hub_files", "spark"),
        derivation=_LARGEST, trust=SAMPLED, derive=peak("anon_bytes"),
    ),
    Metric(
        key="peak_file_bytes", label="Peak file memory", unit="bytes", tables=("runs",),
        derivation=_LARGEST, trust=SAMPLED, derive=peak("file_bytes"),
    ),
    Metric(
        key="peak_pss_bytes", label="Peak PSS", unit="bytes", direction="lower",
        tables=("runs", "streaming", "limits"),
        derivation=_LARGEST, trust="read at marks and sparsely between them", derive=peak("pss_bytes"),
    ),
    Metric(
        key="peak_anon_upper_bound_bytes", label="Peak anonymous memory (upper bound)", unit="bytes",
        direction="lower", tables=("runs", "limits"),
        derivation="high-water marks less what was mapped around them",
        trust=UPPER_BOUND, derive=peak("anon_upper_bound_bytes"),
    ),
    Metric(
        key="peak_grown_anon_bytes", label="Peak of anonymous memory above the imports", unit="bytes",
        direction="lower", tables=("runs", "writers"),
        derivation="peak_anon_upper_bound_bytes less the mark `imported`", trust=UPPER_BOUND,
        decided=("tokenize", "soak"), derive=_peak_growth,
    ),
    Metric(
        key="cache_written_bytes", label="Written into map's cache", unit="bytes", direction="lower",
        tables=("runs",), derivation="sizes of the files below the cache, before and after each shard",
        trust=EXACT, derive=_cache_written,
    ),
    Metric(
        key="peak_cgroup_bytes", label="Peak of the memory group", unit="bytes", direction="lower",
        tables=("runs", "loaders", "limits"), derivation="the kernel's own peak, where a group could be made",
        trust="exact, each page once; page cache and kernel memory count", derive=peak("cgroup_bytes"),
    ),
    Metric(
        key="hwm_sum_bytes", label="High-water marks, summed (upper bound)", unit="bytes", direction="lower",
        tables=("runs",), derivation="VmHWM of each process, summed",
        trust="exact for one process; an upper bound for several", derive=_hwm,
    ),
    Metric(
        key="hwm_gap", label="Sampled peak against high-water mark", unit="share", tables=("runs",),
        derivation="peak RSS / VmHWM - 1, one process only",
        trust="two independent readings of the kernel's", derive=_hwm_gap,
    ),
    Metric(
        key="tokens_per_cpu_s", label="Tokens per CPU-second", unit="1/s", direction="higher", tables=("runs",),
        derivation="tokens / CPU-seconds of all processes at the mark `work`", trust=CPU,
        decided=("tokenize", "soak"), derive=_per_cpu_s,
    ),
    Metric(
        key="input_resident_before", label="Input in page cache before", unit="share", tables=("runs", "loaders"),
        derivation=_MINCORE, trust="exact when read", derive=_page_cache("input_resident_before"),
    ),
    Metric(
        key="input_resident_after", label="Input in page cache after", unit="share", tables=("runs", "loaders"),
        derivation=_MINCORE, trust="exact when read", derive=_page_cache("input_resident_after"),
    ),
]  # fmt: skip
