"""The sections of the workflow's report: values for templates."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from ..analysis import changes as changes_of
from ..analysis import claims as claims_of
from ..analysis import stack_differences
from ..analysis.frame import cells, describe, varied
from ..analysis.outcomes import tally
from ..figures import MB, counts
from ..metrics import METRICS
from ..stacks.differences import packages_in_words
from ..stacks.locks import BEFORE
from ..units import percent
from .page import number

_PACKAGES = ("python", "datasets", "transformers", "tokenizers", "pyarrow", "huggingface_hub", "fsspec", "torch")
DATA = ("corpus", "tokens", "repository")
"""The axes that name the input data."""
Line = dict[str, Any]


def _is_set(value: Any) -> bool:
    return value is not None and value == value and value != ""


def machine(runs: pd.DataFrame) -> Line:
    """Number of runs and cells, and the machine."""
    first, repeats = runs.iloc[0], [len(group) for _, group in cells(runs.assign(rep=0))]
    same = {name: runs[name].dropna().nunique() <= 1 for name in ("kernel", "machine_memory_bytes", "cpu_count")}
    text_bytes = runs.loc[runs["workload"].eq("tokenize"), "bytes_in"].max()
    return {
        "runs": len(runs),
        "cells": len(repeats),
        "experiments": int(runs["experiment"].nunique()),
        "least": min(repeats),
        "most": max(repeats),
        "kernel": first["kernel"],
        "cpu_count": first["cpu_count"],
        "memory_gb": first["machine_memory_bytes"] / 1e9,
        "largest_text_mb": text_bytes / MB if text_bytes > 0 else None,
        "cgroup_version": first["cgroup_version"],
        "transparent_hugepage": first["transparent_hugepage"],
        "commits": list(runs["commit"].dropna().value_counts().items()) if "commit" in runs else [],
        "one_machine": all(same.values()),
        "ids_differ": int(runs["ids_agree"].eq(False).sum()),
        "ids_compared": int(runs["ids_agree"].notna().sum()),
        "aborted": int((runs["completed_work"] & runs["outcome"].eq("failed")).sum()),
    }


def packages(runs: pd.DataFrame) -> list[str]:
    """The packages whose versions a page has room for, of those that the runs imported."""
    columns = [name for name in map(str, runs) if name.startswith("version_") and runs[name].notna().any()]
    imported = [name.removeprefix("version_") for name in columns]
    others = [name for name in imported if name not in _PACKAGES]
    return [*(name for name in _PACKAGES if name in imported), *others][: len(_PACKAGES)]


def stacks(runs: pd.DataFrame) -> Iterator[Line]:
    """Versions and lock of every stack, read inside its interpreter."""
    first = runs.groupby("stack", sort=False).first()  # for each column, the first run that has a value
    shown = packages(runs)
    for name, run in first.iterrows():
        versions = {package: run[f"version_{package}"] for package in shown}
        known_versions = {package: version if isinstance(version, str) else "" for package, version in versions.items()}
        yield {"name": str(name), "versions": known_versions, "lock": str(run["lock_sha256"])[:8]}


def named(stacks: Iterable[Line]) -> dict[str, str]:
    """The packages of each stack in words."""
    return {
        stack["name"]: ", ".join(f"{package} {version}" for package, version in stack["versions"].items() if version)
        for stack in stacks
    }


def failures(runs: pd.DataFrame) -> Iterator[Line]:
    """Cells with unfinished runs: number of runs by outcome, and the reasons."""
    for cell, repeats in cells(runs):
        counts = tally(repeats)
        if counts["failed"]:
            name = ", ".join([cell["experiment"], *describe(cell, (axis for axis in cell if axis != "rep"))])
            yield counts | {"cell": name}


def holders(table: pd.DataFrame) -> Iterator[Line]:
    """What holds the memory of each cell at its end, for the template."""
    for cell, group in cells(table):
        lines = group.to_dict("records")
        yield {
            "title": ", ".join([cell["experiment"], *describe(cell, (axis for axis in cell if axis != "rep"))]),
            "cause": ": ".join(filter(_is_set, (lines[0]["cause"], lines[0]["owner"]))),
            "not_run": lines[0]["not_run"],
            "lines": [_holder(line) for line in lines] if not lines[0]["not_run"] else [],
        }


def _holder(line: Mapping[Any, Any]) -> Line:
    same = line["holder"] == line["kind"]
    return {
        "holder": line["holder"],
        "kind": "" if same else ": ".join(filter(None, (line["kind"], line["type"]))),
        "released": number(line["released_bytes"] / MB, "{:,.1f}"),
        "share": "" if pd.isna(line["share"]) else percent(line["share"]),
        "notes": f"{line['also_held_by']} held it too" if _is_set(line["also_held_by"]) else "",
    }


def claims(comparisons: pd.DataFrame, runs: pd.DataFrame) -> list[Line]:
    """Published claims beside the measured factors."""
    lines = [*claims_of.claims(comparisons, {one["name"]: one["versions"].get("datasets", "") for one in stacks(runs)})]
    conditions = [axis for axis in varied(pd.DataFrame(lines)) if axis not in ("experiment", "stack")] if lines else []
    return [
        {
            "claim": line["claim"],
            "claimed": f"{line['claimed']:g}",
            "measured": f"{line['measured']:,.3g}" if _is_set(line["measured"]) else "too small for a ratio",
            "interval": f"{line['low']:,.3g} to {line['high']:,.3g}" if _is_set(line["low"]) else "",
            "n": f"{line['n']:.0f}",
            "sides": f"{line['before']} and {line['after']}",
            "cell": ", ".join([str(line["experiment"]), *describe(line, conditions)]),
        }
        for line in lines
    ]


def differences(changed: pd.DataFrame, differ: pd.DataFrame | None) -> list[dict[str, str]]:
    """The other differences between the two stacks of each change, in words."""
    pairs = dict.fromkeys(changed[["before", "after"]].itertuples(index=False, name=None))
    return [stack_differences.of_pair(pair, stack_differences.between(differ, *pair)) for pair in pairs]


def bumps(changed: pd.DataFrame | None, differ: pd.DataFrame | None) -> Iterator[Line]:
    """What each renewed lock moved, and what that changed: the lock before beside the present one."""
    if changed is None or differ is None:
        return
    for before, after in dict.fromkeys(differ[["before", "after"]].itertuples(index=False, name=None)):
        if before != f"{after}{BEFORE}":
            continue
        packages = stack_differences.between(differ, before, after)
        own = differ[differ["before"].eq(before) & differ["after"].eq(after)]
        wanted = {*own.loc[own["requested"].astype(bool), "package"]}
        named = [one for one in packages if one.package in wanted] or packages
        lines = changed[changed["before"].eq(before) & changed["after"].eq(after)]
        words = zip(changes_of.in_words(lines), lines["result"], strict=True)
        yield {
            "title": packages_in_words(named),
            "sides": f"{before} and {after}",
            "others": [str(one) for one in packages if one not in named],
            "lines": [line for line, result in words if result in ("worse", "better")],
            "same": int(lines["result"].eq("same").sum()),
            "undecided": int(lines["result"].eq("undecided").sum()),
            "n": counts(lines["n"]) if len(lines) else "",
        }


def sessions(spread: pd.DataFrame, comparisons: pd.DataFrame | None) -> str:
    """Which intervals of table `comparisons` cover other sessions, in sentences."""
    if comparisons is None or comparisons.empty:
        return ""
    metrics = comparisons.loc[~comparisons["exact"].astype(bool), "metric"].unique()
    known, alone = (
        [METRICS[one].label for one in metrics if (one in {*spread["metric"]}) is has] for has in (True, False)
    )
    from_day_to_day = "for differences from day to day, measured on another machine and shipped with beyond-ram"
    sentences = {f"Intervals allow {from_day_to_day}, in": known, "Intervals hold for this session only in": alone}
    return " ".join(f"{sentence}: {', '.join(labels)}." for sentence, labels in sentences.items() if labels)


def settings(table: pd.DataFrame) -> dict[str, list[str]]:
    """The varying axes of each experiment that have no column of their own."""
    own = {"experiment", "stack", "rep", *DATA}
    return {
        str(name): [axis for axis in varied(group) if axis not in own] for name, group in table.groupby("experiment")
    }
