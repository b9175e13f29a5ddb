"""Hand-made runs with known results."""

from typing import Any

Event = dict[str, Any]
Run = tuple[dict[str, Any], list[Event]]
MB = 1_000_000
MACHINE = {
    "versions": {"datasets": "5.2.0"},
    "allocator_settings": {"MALLOC_ARENA_MAX": "1"},
    "thread_settings": {},
    "lock_sha256": "ab",
    "kernel": "6",
}


def record(**changes):
    """The record of a run that tokenises."""
    cell = {"experiment": "growth", "stack": "current", "corpus": "c", "mode": "shard", "shards": 2, "num_files": 4}
    cell |= {"batch_size": 1, "writer_batch_size": 1, "num_proc": 0, "cache": "cold", "stop_after": 0, "rep": 1}
    cell |= {key: changes.pop(key) for key in list(changes) if key in cell}
    work = {"rows": 4, "bytes_in": changes.pop("bytes_in", 1000), "tokens": 300, "ids_sha256": changes.pop("ids", "aa")}
    peak = {"rss_bytes": 990, "anon_bytes": 700, "file_bytes": 290, "shmem_bytes": 0}
    peak |= {"pss_bytes": None, "cgroup_bytes": None}
    process = {"pid": 1, "name": "python", "hwm_bytes": 1000}
    peak["hwm_bytes"] = {"processes": [process], "sum_upper_bound_bytes": 1000}
    return {
        "outcome": "completed", "completed_work": True, "workload": "tokenize", "exit_status": 0,
        "signal": None, "duration_s": 2.0,
        "cpu_s": 1.5,
        "cell": cell, "work": work, "peak": peak, "sampler": {"interval_ms": 20, "samples": 100, "duty_cycle": 0.01},
        "provenance": MACHINE, "page_cache": {"input_resident_before": 0.0, "input_resident_after": 1.0}, **changes,
    }  # fmt: skip


def tree(anon, file=50):
    return {"processes": 1, "rss_bytes": anon + file, "anon_bytes": anon, "file_bytes": file, "shmem_bytes": 0}


def events(end_anon, shards=2, cached=0):
    """Events of a run: a baseline of 100 bytes, shards that add 10 each, and the end."""
    marks = [{"t_s": 0.1, "event": "baseline", "tree": tree(100) | {"cpu_s": 0.0}}]
    for i in range(shards):
        done = {"from_cache": i < cached, "rows": 2, "tokenizer_calls": 0 if i < cached else 2}
        done |= {"cache_bytes_written": 0}
        marks.append({"t_s": 1 + i, "event": "shard", "shard": i, **done, "tree": tree(100 + 10 * i)})
    return [*marks, {"t_s": 9, "event": "work", "tree": tree(end_anon) | {"cpu_s": 1.5}}]


STREAMED = {
    "experiment": "requests", "repository": "r", "mode": "stream", "workers": 2, "start": "fork", "page_size": 1000,
    "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "fault": "none", "buffering": "default",
    "shuffle_buffer": 0, "prefetch_factor": 2, "epochs": 1,
}  # fmt: skip


def streamed(stack, requests, rep=1, *, resolved_s=0.5, epoch_s=(2.0,), outcome="completed", **cell):
    """A run that streams 64 rows to two workers."""
    work = {"rows": 64, "rows_per_worker": {"0": 40, "1": 24}, "bytes_in": 640, "rows_expected": 64}
    work |= {"rows_delivered": 64, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0}
    if requests is not None:
        work |= {"requests": requests}
    record = {
        "outcome": outcome, "completed_work": outcome == "completed", "workload": "stream", "exit_status": 0,
        "signal": None, "duration_s": 9.0, "cpu_s": 5.0, "cell": {"stack": stack, **STREAMED, **cell, "rep": rep},
        "work": work, "peak": {"rss_bytes": 1, "hwm_bytes": {"sum_upper_bound_bytes": 1, "processes": []}},
        "provenance": MACHINE | {"versions": {}}, "sampler": {},
    }  # fmt: skip
    events = [
        {"event": "worker", "worker": 0, "anon_bytes": 100},
        {"event": "worker", "worker": 1, "anon_bytes": 100},
        {"event": "resolved", "duration_s": resolved_s},
        {"event": "first_batch", "duration_s": resolved_s + 0.2},
    ]
    last = {"rows_delivered": 64, "bytes": 640, "finished": True, "worker_anon_bytes": {"0": 150, "1": 400}}
    for number, seconds in enumerate(epoch_s):
        events.append({"event": "epoch", "epoch": number, "duration_s": seconds, "first_batch_s": 1.0, **last})
    return record, events


def scripted(side, rep=1, exact=True, **numbers):
    """A run of a script that reports numbers of which fewer are better."""
    cell = {"experiment": "x", "stack": "s", "script": "own", "arguments": "none", "side": side, "rep": rep}
    run = record() | {"cell": cell, "workload": "script", "started_at": 100.0 * rep}
    return run, [
        {"t_s": 1, "event": "metric", "label": label, "value": value, "unit": "%", "better": "lower", "exact": exact}
        for label, value in numbers.items()
    ]


def loader(name, rate, held_bytes, account="every row once", **more):
    """A line of table `loaders`."""
    cell = {"experiment": "e", "stack": "s", "tokens": "t", "loader": name, "order": "shuffled", "workers": 0}
    cell |= {"start": "none", "page_cache": "warm", "limit_percent": 0, "loader_kind": "ours", "shuffle": "rows"}
    measured = {"rows_per_cpu_s": rate, "rows_per_cpu_s_warm": 2 * rate, "held_bytes": held_bytes}
    measured |= {"end_pss_bytes": 2 * held_bytes, "peak_cgroup_bytes": 3 * held_bytes, "lends": "no"}
    measured |= {"outcome": "completed"}
    return cell | measured | {"account": account, "n": 1} | more
