"""Reports from recorded runs and from their opposites, with the sentences of every source.

Sources are discovered, not listed: findings, text columns of tables, and captions of figures.
"""

import functools
import importlib
import json
import lzma
import math
import pickle
import re
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from beyond_ram.analysis import findings
from beyond_ram.analysis.frame import axes, describe
from beyond_ram.analysis.outcomes import COUNTS, counted
from beyond_ram.analysis.rule import searched
from beyond_ram.experiment import AXES, WORKLOADS
from beyond_ram.measure.ladders import steps_of
from beyond_ram.measure.plan import Run as Searched
from beyond_ram.measure.search import Search
from beyond_ram.stacks.variants import parts_of
from beyond_ram.workflow import chapters, make_output

from .by_hand import Run

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "tests/data/records.jsonl.xz"
NOISE, WILD = 0.005, math.log(10)
PAIRS = (("june-2023", "current"), ("stream-3.6", "stream-current"))
EXCHANGED = {"june-2023": "current", "stream-3.6": "stream-current", "threads": "datasets_map"}
EXCHANGED |= {after: before for before, after in EXCHANGED.items()}
# Versions have an order, so reversing them changes more than names.
VERSIONS = ("tokenizers-alone+tokenizers-0.13.3", "tokenizers-alone+tokenizers-0.23.3")
LADDER = 8
"""Runs of each version of a ladder: a search decides after four, or after eight where one fails."""
# Locks are not measured and have no opposite.
NO_LOCKS = {}
_ORDERED = {VERSIONS[0]: VERSIONS[1]}
_ORDERED |= {after: before for before, after in _ORDERED.items()}
_SIZES = ("num_files", "epochs", "size_mb", "mode")
# Tables that do not choose their runs: their chapter does.
_RUNS_OF = {"streaming": "stream", "shards": "tokenize"}
# Text columns that state no result.
_PLAIN = {*COUNTS, "reason", "metric", "axis", "before", "after", "ladder"}
_PLAIN |= {"factor", "from_version", "to_version", "moved", "infeasible", "loader_kind", "shuffle"}
_PLAIN |= {"from_cache", "completed_work", "paired", "neighbours", "not_run", "owner", "workload"}
_PLAIN |= {"counts_identical", "outcome", "exact"}


@dataclass(frozen=True)
class Study:
    """Runs and the stacks that are compared."""

    runs: list[Run]
    pairs: tuple[tuple[str, str], ...] = PAIRS


def copied(run):
    """A deep copy, in a fifth of the time of `copy.deepcopy`."""
    return pickle.loads(pickle.dumps(run))


@functools.cache
def _recorded_runs():
    lines = lzma.decompress(RECORDS.read_bytes()).decode().splitlines()
    return tuple((record, events) for record, events in map(json.loads, lines))


def _single_runs():
    """Every cell once: recorded runs, and planted ones that no config of one machine makes."""
    runs = [copied(run) for run in _recorded_runs()]
    for record, events in [run for run in runs if run[0]["cell"].get("script") == "dedup"]:
        edited = copied((record | {"cell": record["cell"] | {"side": "chunking"}}, events))
        for event in edited[1]:
            if event.get("better") == "lower":
                event["value"] /= 5
        runs.append(edited)
    for record, events in [run for run in runs if run[0]["cell"]["experiment"] == "startup"]:
        under = {"cell": record["cell"] | {"experiment": "faults", "fault": "drop-every-2"}}
        runs.append((record | under | {"outcome": "failed", "completed_work": False, "reason": "OSError: cut"}, events))
    return runs


@functools.cache
def study(repeats=3, noise=NOISE):
    """Every cell with that many repeats; everything but counts gets noise of its own."""
    return Study(
        [
            repeated(run, rep, place, noise * _drowning(run) if noise >= WILD else noise)
            for rep in range(1, (LADDER if repeats > 1 else 1) + 1)
            for place, run in enumerate(_single_runs())
            if rep <= repeats or run[0]["cell"]["stack"] in VERSIONS
            if noise < WILD or (run[0]["completed_work"] and not _lost_rows(run))  # these have no noise
        ]
    )


def _drowning(run):
    """How many times wilder the noise of a run has to be: releases of a ladder differ by a factor of 70."""
    return 3 if run[0]["cell"]["stack"] in VERSIONS else 1


def _lost_rows(run):
    return any(event.get("rows_missing") for event in run[1])


def repeated(run, rep, place, noise):
    """A repeat of a run; repeats are blocks in time."""
    record, events = copied(run)
    record["cell"]["rep"], record["started_at"] = rep, 1e9 + 1e6 * rep + 1e3 * place
    seed = zlib.crc32(json.dumps([record["cell"], noise], sort_keys=True).encode())
    factors = {}
    rng = np.random.default_rng(seed)

    def scattered(value, key=""):
        if isinstance(value, dict):
            return {name: scattered(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [scattered(inner, key) for inner in value]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not key.endswith(("_bytes", "_s")):
            return value
        return value * factors.setdefault(key, math.exp(noise * rng.normal()))

    record["peak"] = scattered(record["peak"])
    record |= {key: scattered(record[key], key) for key in ("duration_s", "cpu_s")}
    for event in events:
        timed = {key for key in event if key.endswith("_s") and key != "t_s"}
        measured = {key for key in ("tree", "worker_anon_bytes", "heap") if key in event}
        measured |= {"anon_bytes"} & set(event)
        event |= {key: scattered(event[key], key) for key in sorted(timed | measured)}
    if noise >= WILD:
        for kinds in (record["work"].get("requests") or {}).values():
            kinds |= {role: math.ceil(count * math.exp(noise * rng.normal())) for role, count in kinds.items()}
        for counts in (record["work"], *(event for event in events if event["event"] == "metric")):
            counted = {"bytes_received", "value"} & set(counts)
            counts |= {key: math.ceil(counts[key] * math.exp(noise * rng.normal())) for key in sorted(counted)}
    return record, events


def absent():
    """Both sides of every comparison are the same but for noise.

    Candidates have the runs of their baselines. One cell stands for all cells of an input and size. Reading without a
    loader takes as long as with it.
    """
    candidates, first, runs = dict((*PAIRS, VERSIONS)), {}, []
    for place, (record, events) in enumerate(_single_runs()):
        workload, cell = record["workload"], record["cell"]
        if not record["completed_work"] or cell["stack"] in candidates.values():
            continue
        inputs = [
            axis
            for axis, definition in WORKLOADS[workload].axes().items()
            if definition.role == "input" and axis in cell
        ]
        key = [(axis, cell[axis]) for axis in (*inputs, *(axis for axis in _SIZES if axis in cell))]
        key += [("workers", cell.get("workers"))] if workload == "stream" else []
        base, base_events = first.setdefault((workload, *key), (record, events))
        own = {event["loader_kind"] for event in events if "loader_kind" in event}
        base_events = [
            event | ({"loader_kind": next(iter(own))} if "loader_kind" in event else {}) for event in base_events
        ]
        stack = str(cell["stack"])
        for name in (stack, *(candidates[stack] for _ in range(stack in candidates))):
            stack_record = base | {"cell": cell | {"stack": name}, "provenance": record["provenance"]}
            runs += [repeated((stack_record, base_events), rep, place, NOISE) for rep in (1, 2, 3)]
    return Study(runs)


def exchanged(data, names, *, pairs):
    """Exchange the names of both sides, and with `pairs` also which side is the baseline."""

    def renamed(record):
        cell = {axis: value if axis == "rep" else names.get(value, value) for axis, value in record["cell"].items()}
        return {**record, "cell": cell}

    roles = tuple((names[a], names[b]) for a, b in data.pairs) if pairs else data.pairs
    return Study([(renamed(record), events) for record, events in data.runs], roles)


def one_fails(data):
    """The second repeat of every cell fails late, with readings a hundred times as large."""
    runs = []
    for record, events in data.runs:
        if record["cell"]["rep"] == 2 and record["outcome"] == "completed":
            record, events = repeated((record, events), 2, 0, 0.0)
            record |= {"outcome": "failed", "completed_work": False, "reason": "OSError: disk full"}
            record["peak"] = {k: v * 100 if isinstance(v, (int, float)) else v for k, v in record["peak"].items()}
            for event in events:
                if "tree" in event:
                    event["tree"] = {k: v * 100 for k, v in event["tree"].items() if isinstance(v, (int, float))}
        runs.append((record, events))
    return replace(data, runs=runs)


@functools.cache
def _needs():
    """Tables of the chapters, with the inputs of each."""
    needs_by_table = {}
    for path in sorted((ROOT / chapters.TABLES).glob("*.py")):
        try:
            needs_by_table[path.stem] = chapters.parameters(path, path.stem)
        except ValueError:
            continue
    available = {*chapters.RUNS, *chapters.SETTINGS, *needs_by_table}
    return {name: needs for name, needs in needs_by_table.items() if {*needs} <= available}


def tables_of(data):
    """Every table of a report, as the workflow makes it."""
    requested = pd.DataFrame(
        [
            {**r["cell"], **{key: r.get(key, "") for key in ("outcome", "completed_work", "reason")}}
            for r, _ in data.runs
        ]
    )
    tables = {}
    pending = dict(_needs())
    while pending:
        name = next(name for name, needs in pending.items() if not {*needs} & {*pending})
        runs = [run for run in data.runs if run[0]["workload"] == _RUNS_OF.get(name, run[0]["workload"])]
        inputs = {"records": runs, "pairs": data.pairs, "questions": None, "locks": NO_LOCKS}
        inputs |= {
            "samples": None,
            "session_spread": pd.DataFrame(columns=pd.read_csv(ROOT / chapters.SHIPPED_SPREAD).columns),
        }
        arguments = {need: inputs[need] if need in inputs else tables[need] for need in pending.pop(name)}
        make = getattr(importlib.import_module(f"beyond_ram.analysis.{name}"), name)
        tables[name] = counted(make(**arguments), requested)
    tables["ladders"] = _version_ladder(tables["runs"])
    return tables


def _version_ladder(runs):
    """The table of a search that reads the varied runs in turn, until there are no more."""
    varied = runs[runs["stack"].str.contains("+", regex=False)]
    parts = [parts_of(stack) for stack in varied["stack"]]
    varied = varied.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])
    versions, metric, done = sorted({version for _, _, version in parts}), "grown_anon_bytes", list[Searched]()
    lines = {version: group.to_dict("records") for version, group in varied.groupby("version")}
    search = Search("tokenizers", versions, *searched([metric]), 1, ())
    while blocks := search.next(done):
        for member in blocks[0].members:
            if not lines[member.side]:
                return steps_of("tokenizers", "tokenizers", search, varied, versions)
            line = lines[member.side].pop(0)
            values = {metric: line[metric]} if line["completed_work"] else {}
            done.append(Searched(member, 0, blocks[0].name, line["outcome"], values=values))
    return steps_of("tokenizers", "tokenizers", search, varied, versions)


def figures():
    """Scripts of figures that are drawn from tables and runs alone."""
    scripts, given = sorted((ROOT / chapters.FIGURES).glob("*.py")), {*_needs(), "ladders", *chapters.RUNS}
    return [script for script in scripts if {*chapters.parameters(script, "plot")} <= given]


@functools.cache
def sources():
    """The names of all sources of sentences."""
    tables = report("original")
    words = [f"table {name}.{column}" for name, table in tables.items() if name != "runs" for column in _stated(table)]
    captions = [f"figure {script.stem}" for script in figures()]
    return [*(f"finding {name}" for name in findings.SOURCES), *words, *captions]


def _stated(table):
    """Columns of a table that state a result in words, or by yes and no."""
    for name in table:
        listed = (
            name in AXES or name in _PLAIN or name == "experiment" or str(name).startswith(("version_", "rows_per_"))
        )
        values = table[name].dropna()
        if not listed and len(values) and isinstance(values.iloc[0], (str, bool, np.bool_)):
            yield str(name)


def sentences(source, tables, records):
    """Sentences of a source about the tables and runs of a report."""
    kind, _, name = source.partition(" ")
    if kind == "finding":
        return [
            f"{finding.title}. {finding.text}"
            for finding in (findings.SOURCES[name](tables) if len(tables.get(name, ())) else ())
        ]
    if kind == "figure":
        script = ROOT / chapters.FIGURES / f"{name}.py"
        inputs = {**tables, "records": records, "samples": None}
        drawn = make_output.figure(script, {need: inputs[need] for need in chapters.parameters(script, "plot")})
        if isinstance(drawn, str):
            return []
        plt.close(drawn[0])
        return re.split(r"(?<=[.;]) ", " ".join(drawn[1].split()))
    table, _, column = name.partition(".")
    content = tables[table]
    if column not in content:
        return []
    sides = [name for name in ("axis", "before", "after", "metric", "from_version", "to_version") if name in content]
    cell_axes = [axis for axis in axes(content) if axis not in ("experiment",)]
    return [
        ", ".join([str(line.get("experiment")), *describe(line, cell_axes), *(str(line[name]) for name in sides)])
        + f": {line[column]}"
        for line in content.to_dict("records")
        if isinstance(line[column], (str, bool, np.bool_))
    ]


def exchange(sentence):
    """A sentence with the names of both sides exchanged."""
    names = "|".join(sorted(map(re.escape, EXCHANGED), key=len, reverse=True))
    return re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", lambda match: EXCHANGED[match[0]], sentence)


TRANSFORMS = {
    "original": study,
    "absent": absent,
    "reversed": functools.cache(lambda: exchanged(study(), EXCHANGED | _ORDERED, pairs=False)),
    "renamed": functools.cache(lambda: exchanged(study(), EXCHANGED, pairs=True)),
    "one run": functools.cache(lambda: study(1)),
    "one fails": functools.cache(lambda: one_fails(study())),
    "wild": functools.cache(lambda: study(3, WILD)),
}


@functools.cache
def report(transform):
    """The tables of the study or of one of its opposites."""
    return tables_of(TRANSFORMS[transform]())


@functools.cache
def sentences_of(source, transform):
    """Sentences of a source about the study or one of its opposites."""
    return tuple(sentences(source, report(transform), TRANSFORMS[transform]().runs))


def names_two(sentence, transform):
    """Whether a sentence names two values of one axis: two stacks, two loaders, two block sizes."""
    for values in _values(transform).values():
        named = [v for v, alone in values.items() if v in sentence and alone.search(sentence)]
        if len(named) > 1:
            return True
    return False


@functools.cache
def _values(transform):
    """The values of each axis, each with a pattern that finds it in a sentence."""
    runs = report(transform)["runs"]
    words = {
        axis: {*map(str, runs[axis].dropna())}
        for axis in axes(runs)
        if not AXES.get(axis, None) or not AXES[axis].number
    }
    long = {axis: {v for v in values if len(v) > 4} for axis, values in words.items() if axis != "experiment"}
    versions = {parts_of(s)[2] for s in runs["stack"] if "+" in s}
    return {
        axis: {v: re.compile(rf"(?<![\w.,+-]){re.escape(v)}(?![\w+-]|[.,]\d)") for v in values}
        for axis, values in (long | {"version": versions}).items()
    }
