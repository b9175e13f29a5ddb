"""Table `claims`: what the post "Streaming datasets: 100x more efficient" says, and what was measured.

A line a claim and condition: the same claim may hold under one and not under another. `measured` is a ratio, after over
before, the way round in which larger is better, unless the claim is a number of its own. `low` and `high` are its 95 %
interval where the repeats allow one; counts that are the same in every repeat, two or more, are exact.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from .decide import AT_LEAST, Question, decide, held, holds, middle, side
from .dedup import against
from .frame import Cell, Pairs, same_but_for, where
from .frame import against as compared
from .matters import Bound

SOURCE = "Streaming datasets: 100x more efficient"
COLUMNS = ["experiment", "stack", "source", "claim", "conditions", "claimed", "measured", "low", "high", "n", "holds"]
# Releases against each other: the metric, what is claimed, and how much, as a factor by which it got better.
_RELEASES = (
    ("requests_metadata", "up to 100 times fewer requests at startup", 100.0, False),
    ("resolution_s", "data files resolved up to 10 times faster", 10.0, False),
    ("rows_per_s", "streaming up to 2 times faster", 2.0, True),
    ("data_in_flight_max", "up to 2 times more efficient requests in flight", 2.0, True),
)
_SHARED = "the list of files is shared by the workers of a DataLoader (requests that each still makes)"
_BUFFERED = "Parquet prefetch and buffering: up to 2 times faster"
_SPARK = "a Spark data source reads and writes datasets"
_CHUNKED = "Parquet content-defined chunking: fewer new bytes after an edit, in Xet storage"
_PIPELINES = "HfFileSystem serves custom pipelines: tars of WebDataset, frames of a video (share of right samples)"
# What is claimed is a ratio, however small the numbers are.
RATIO = Bound()
# All of them, with what is claimed.
CLAIMS = {claim: claimed for _, claim, claimed, _ in _RELEASES} | {
    _SHARED: 0.0,
    _BUFFERED: 2.0,
    _CHUNKED: 1.0,
    _SPARK: 1.0,
    _PIPELINES: 1.0,
}


def claims(
    runs: pd.DataFrame,
    dedup: pd.DataFrame | None = None,
    hub_files: pd.DataFrame | None = None,
    spark: pd.DataFrame | None = None,
    claimed: Pairs = (),
) -> pd.DataFrame:
    """The tables as they are; one that is not made is None.

    `claimed` are the stacks from before the post, each with one from it on.

    `holds` is what `decide.holds` says of the interval. A claim that nothing here was run for has one line, `not run`,
    without a number; where nothing was run at all there is no line.
    """
    streamed = where(runs, workload="stream")
    lines: list[dict[str, Any]] = []
    if len(streamed):
        lines += _by_release(streamed, claimed)
        lines += [*_shared_list(streamed, [after for _, after in claimed]), *_buffering(streamed)]
    lines += _deduplicated(dedup) if dedup is not None and len(dedup) else []
    lines += _custom_pipelines(hub_files) if hub_files is not None and len(hub_files) else []
    lines += _spark_source(spark) if spark is not None and len(spark) else []
    if lines:
        lines += _not_run({line["claim"] for line in lines})
    return pd.DataFrame(lines, columns=COLUMNS)


def _by_release(runs: pd.DataFrame, pairs: Pairs) -> Iterator[dict[str, Any]]:
    plain = _done(runs, mode="stream", buffering="default", fault="none")
    asked = []
    # A client that reads other rows (2.13 knows no configurations, and reads those of all) does other work.
    for _, same_work in plain.groupby("rows", sort=False, dropna=False):
        for cell, (before, after), sides in compared(same_work, pairs):
            for metric, claim, claimed, higher in _RELEASES:
                first, second = (side(lines, metric) for lines in sides)
                if first.values and second.values:
                    # The way round in which larger is better.
                    from_, to = (first, second) if higher else (second, first)
                    question = Question(from_, to, metric, bound=RATIO)
                    conditions = f"{after} against {before}; {_conditions(cell)}"
                    asked.append((question, _known(cell["experiment"], after, claim, conditions, claimed)))
    yield from _decided(asked)


def _shared_list(runs: pd.DataFrame, stacks: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Workers that share the list of files ask nothing about it themselves."""
    plain = _done(runs, mode="stream", buffering="default", fault="none")
    for cell, group in same_but_for(plain[(plain["workers"] > 0) & plain["stack"].isin(stacks)]):
        asked = group["requests_listing_of_workers"].dropna()
        if asked.empty:
            continue
        found = middle((asked / group["workers"].iloc[0]).tolist(), counted=True)
        known = _known(
            cell["experiment"], cell["stack"], _SHARED, f"{cell['stack']}; {_conditions(cell)}", CLAIMS[_SHARED]
        )
        holds = held(found.mean, found.low, found.high, 0.0, higher=False, none=0.0)
        yield known | {"measured": found.mean, "low": found.low, "high": found.high, "n": found.n, "holds": holds}


def _buffering(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Parquet's reading ahead, set by hand, against its default, of one release."""
    done = _done(runs, mode="stream", fault="none")
    asked = []
    for cell, group in same_but_for(done, "buffering"):
        default = side(group[group["buffering"] == "default"], "rows_per_s")
        for name, lines in group[group["buffering"] != "default"].groupby("buffering", sort=False):
            tried = side(lines, "rows_per_s")
            if default.values and tried.values:
                conditions = f"{name} against default; {_conditions(cell)}"
                known = _known(cell["experiment"], cell["stack"], _BUFFERED, conditions, CLAIMS[_BUFFERED])
                asked.append((Question(default, tried, "rows_per_s", bound=RATIO), known))
    yield from _decided(asked)


def _spark_source(spark: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """What a data source of Spark does: the share of steps that work, and why the others do not."""
    tried = spark[spark["step"].notna()]
    for key, group in tried.groupby(["experiment", "stack"], sort=False):
        works = group["works"].astype(bool)
        reasons = [f"{line['step']} fails with {line['reason']}" for line in group[~works].to_dict("records")]
        conditions = "; ".join([f"{key[1]}; {', '.join(dict.fromkeys(group['step']))}", *dict.fromkeys(reasons)])
        yield _share(key[0], key[1], _SPARK, conditions, float(works.mean()), group["rep"].nunique())


def _deduplicated(dedup: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """How many times fewer bytes are new where pages are cut by content."""
    asked = []
    for setting, shares in against(dedup):
        for edit in map(str, shares.index):
            same = where(dedup, edit=edit, **setting)
            sides = [side(where(same, cdc=cdc), "new_share") for cdc in ("on", "off")]
            conditions = (
                f"{edit}, compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows"
            )
            known = _known(setting["experiment"], setting["stack"], _CHUNKED, conditions, CLAIMS[_CHUNKED])
            asked.append((Question(sides[0], sides[1], "new_share", bound=RATIO, counted=True), known))
    yield from _decided(asked)


def _custom_pipelines(hub_files: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Whether every sample that a pipeline of one's own takes out of a file on the Hub is right."""
    tried = hub_files[hub_files["opener"].eq("filesystem") & hub_files["outcome"].ne("not_applicable")]
    for cell, group in same_but_for(tried, "samples", "latency_ms", "bandwidth_mb_per_s", "redirect"):
        wrong = group["samples_wrong"].fillna(group["samples"]) + group["samples_twice"].fillna(0)
        share = float(1 - (wrong / group["samples"]).mean())
        said = f"{cell['stack']}; repository {cell['repository']}, blocks of {cell['block_kb']:,.0f} KiB"
        yield _share(cell["experiment"], cell["stack"], _PIPELINES, said, share, len(group))


def _not_run(seen: set[str]) -> Iterator[dict[str, Any]]:
    """A line for each claim that no run of this config says anything about."""
    for claim, claimed in CLAIMS.items():
        if claim not in seen:
            known = dict.fromkeys(COLUMNS) | {"source": SOURCE, "claim": claim, "claimed": claimed}
            reason = "no experiment of this config runs it; config/streaming.yaml does"
            yield known | {"conditions": reason, "n": 0, "holds": "not run"}


def _share(experiment: Any, stack: Any, claim: str, conditions: str, share: float, n: int) -> dict[str, Any]:
    """A line of a claim that something works: the share in which it does. One failure is enough to say so."""
    holds = "partly" if 0 < share < 1 else "no" if share == 0 else "holds" if n >= AT_LEAST else "not enough data"
    end = share if n >= AT_LEAST else math.nan
    found = {"measured": share, "low": end, "high": end, "n": n, "holds": holds}
    return _known(experiment, stack, claim, conditions, CLAIMS[claim]) | found


def _done(runs: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    found = runs[runs["completed_work"].astype(bool) & runs["workload"].eq("stream")]
    for axis, value in wanted.items():
        found = found[found[axis] == value]
    return found


def _known(experiment: Any, stack: Any, claim: str, conditions: str, claimed: float) -> dict[str, Any]:
    return {
        "experiment": experiment,
        "stack": stack,
        "source": SOURCE,
        "claim": claim,
        "conditions": conditions,
        "claimed": claimed,
    }


def _decided(asked: Sequence[tuple[Question, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Lines of claims that are ratios. Counts from or to none have no ratio, and no line."""
    for (_, known), found in zip(asked, decide([question for question, _ in asked]), strict=True):
        if not math.isnan(found.ratio):
            numbers = {"measured": found.ratio, "low": found.low, "high": found.high}
            rounded = {name: round(value, 9) for name, value in numbers.items()}
            yield known | rounded | {"n": found.n, "holds": holds(found, known["claimed"])}


def _conditions(cell: Cell) -> str:
    """A cell's conditions in words; what is the same everywhere by default is left out."""
    words = [f"repository {cell['repository']}"]
    words.append(f"{cell['workers']:.0f} workers by {cell['start']}" if cell["workers"] else "no workers")
    for axis, unit in (("latency_ms", "ms latency"), ("bandwidth_mb_per_s", "MB/s")):
        if cell.get(axis):
            words.append(f"{cell[axis]:.0f} {unit}")
    if cell.get("page_size", 1000) != 1000:
        words.append(f"pages of {cell['page_size']:.0f}")
    for axis, usual in (("redirect", "no"), ("shuffle_buffer", 0), ("buffering", "default")):
        if cell.get(axis, usual) != usual:
            words.append(f"{axis.replace('_', ' ')} {cell[axis]}")
    return ", ".join(words)
