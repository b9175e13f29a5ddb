"""Table `claims`: claims of the post "Streaming datasets: 100x more efficient", and our measurements of them.

One line per claim and condition: a claim can hold under one condition and not under another. `measured` is a ratio in
the direction in which larger is better, unless the claim is a plain number. `low` and `high` are its 95 % interval, if
the repeats allow one. Counts that agree in two or more repeats are exact. If table `comparisons` has the same pair, its
decision is used. All other claims are decided together.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .comparisons import decision
from .decide import ALPHA, AT_LEAST, LEVEL, Decision, Question, decide, holds, middle, reaches, side
from .frame import Cell, Pairs, axes_of, cells, same_but_for, where
from .frame import against as compared
from .thresholds import Threshold

SOURCE = "Streaming datasets: 100x more efficient"
COLUMNS = ["experiment", "stack", "source", "claim", "conditions", "claimed", "measured", "low", "high"]
COLUMNS += ["low_corrected", "high_corrected", "n", "holds"]
# Comparisons of releases: metric, claim and how we measure it, claimed factor of improvement, whether more is better.
_RELEASES = (
    ("requests_metadata", "up to 100 times fewer requests at startup (all that are no reads of data)", 100.0, False),
    ("resolution_s", "data files resolved up to 10 times faster (time in load_dataset)", 10.0, False),
    ("rows_per_s", "streaming up to 2 times faster (rows per second of an epoch)", 2.0, True),
    ("data_in_flight_max", "up to 2 times more efficient requests in flight (most reads of data at once)", 2.0, True),
)
_SHARED = "the list of files is shared by the workers of a DataLoader (requests that each still makes)"
_BUFFERED = "Parquet prefetch and buffering: up to 2 times faster"
_NOT_AHEAD = "no-pre-buffer"
_SPARK = "a Spark data source reads and writes datasets"
_NEW_AFTER = "New bytes after "
CHUNKED = "Parquet content-defined chunking: fewer new bytes after an edit, in Xet storage"
_PIPELINES = "HfFileSystem serves custom pipelines (share of right samples)"
# A claim is a ratio, however small the numbers are.
RATIO = Threshold()
# Metrics that are times or rates, and that are also measured without the endpoint's own work.
_WITHOUT_ENDPOINT = ("resolution_s", "rows_per_s")
# The claimed number of each claim.
CLAIMS = {claim: claimed for _, claim, claimed, _ in _RELEASES} | {
    _SHARED: 0.0,
    _BUFFERED: 2.0,
    CHUNKED: 1.0,
    _SPARK: 1.0,
    _PIPELINES: 1.0,
}


@dataclass
class _Claim:
    """A claim under some conditions, and one of three things that decide it."""

    line: dict[str, Any]
    question: Question | None = None
    """A question of its own. With `compared`, only its numbers are used."""
    compared: Decision | None = None
    """The decision of table `comparisons`."""
    inverse: bool = False
    """Whether less is better in `compared`."""
    values: tuple[float, ...] | None = None
    """Counts, one per repeat, that the claim says are zero."""
    without_endpoint: float = math.nan
    """The ratio of times without the endpoint's own work."""


def claims(
    runs: pd.DataFrame,
    comparisons: pd.DataFrame | None = None,
    spark: pd.DataFrame | None = None,
    claimed: Pairs = (),
) -> pd.DataFrame:
    """The table of claims. An input table that was not made is None.

    `claimed` pairs stacks from before the post with stacks from after it. `holds` is the answer of `decide.holds`: by
    the decision of table `comparisons` if it has the pair, else corrected over the claims of this table. A claim
    without runs has one line, `not run`, without a number. If no claim has runs, the table is empty.
    """
    streamed = where(runs, workload="stream")
    claims_to_decide: list[_Claim] = []
    if len(streamed):
        decisions = _compared(comparisons)
        claims_to_decide += [
            *_by_release(streamed, claimed, decisions),
            *_shared_list(streamed, [after for _, after in claimed]),
        ]
        claims_to_decide += _buffering(streamed, decisions)
    claims_to_decide += _deduplicated(runs)
    lines = list(_decided(claims_to_decide))
    lines += _custom_pipelines(runs)
    lines += _spark_source(spark) if spark is not None and len(spark) else []
    if lines:
        lines += _not_run({line["claim"] for line in lines})
    return pd.DataFrame(lines, columns=COLUMNS)


def _compared(comparisons: pd.DataFrame | None) -> dict[Hashable, Decision]:
    """The decisions of table `comparisons` for streaming clients."""
    if comparisons is None or "mode" not in comparisons:
        return {}
    lines = comparisons[comparisons["axis"].isin(["stack", "buffering"])]
    return {
        _key(line["axis"], line["before"], line["after"], line["metric"], line): decision(line)
        for _, line in lines.iterrows()
    }


def _key(axis: str, before: str, after: str, metric: str, cell: "Mapping[str, Any] | pd.Series[Any]") -> Hashable:
    """The key of a comparison: its sides, and the candidate's cell."""
    values = {name: cell.get(name) for name in ("experiment", *axes_of("stream"))}
    return axis, before, after, metric, frozenset((name, value) for name, value in values.items() if pd.notna(value))


def _by_release(runs: pd.DataFrame, pairs: Pairs, decided: Mapping[Hashable, Decision]) -> Iterator[_Claim]:
    plain = _finished(runs, mode="stream", buffering="default", fault="none")
    # A client that reads other rows does other work: 2.13 knows no configurations and reads the rows of all.
    for _, same_work in plain.groupby("rows", sort=False, dropna=False):
        for cell, (before, after), sides in compared(same_work, pairs):
            own = cell | {"stack": after}
            for metric, claim, _, higher in _RELEASES:
                first, second = (side(lines, metric) for lines in sides)
                if first.values and second.values:
                    # Put the sides in the order in which larger is better.
                    from_, to = (first, second) if higher else (second, first)
                    of_endpoint, without = _endpoint_time(metric, *sides)
                    conditions = f"{after} against {before}; {_conditions(cell)}{of_endpoint}"
                    yield _Claim(
                        _line(own, claim, conditions),
                        Question(from_, to, metric, threshold=RATIO),
                        decided.get(_key("stack", before, after, metric, own)),
                        inverse=not higher,
                        without_endpoint=without,
                    )


def _endpoint_time(metric: str, *sides: pd.DataFrame) -> tuple[str, float]:
    """The share of time on each side in which the endpoint was busy, in words, and the ratio without that time
    (larger is better). Empty and NaN if the endpoint was not metered."""
    if metric not in _WITHOUT_ENDPOINT or f"{metric}_without_endpoint" not in sides[0]:
        return "", math.nan
    shares, times = [], []
    for lines in sides:
        # For a rate, the time is its inverse.
        power = -1 if metric == "rows_per_s" else 1
        whole, without = (lines[name].median() ** power for name in (metric, f"{metric}_without_endpoint"))
        shares.append(1 - without / whole)
        times.append(without)
    if any(map(math.isnan, shares)):
        return "", math.nan
    before, after = (f"{share:.0%}" for share in shares)
    ratio = times[0] / times[1]
    note = f"; the endpoint was busy for {after} of this time (baseline: {before}), without it {ratio:.2f} times better"
    return note, ratio


def _shared_list(runs: pd.DataFrame, stacks: Sequence[str]) -> Iterator[_Claim]:
    """The requests of each worker for the list of files, in releases that claim to share this list."""
    plain = _finished(runs, mode="stream", buffering="default", fault="none")
    for cell, group in same_but_for(plain[(plain["workers"] > 0) & plain["stack"].isin(stacks)]):
        requests = group["requests_listing_of_workers"].dropna()
        if len(requests):
            conditions = f"{cell['stack']}; {_conditions(cell)}"
            values = tuple((requests / group["workers"].iloc[0]).astype(float))
            yield _Claim(_line(cell, _SHARED, conditions), values=values)


def _buffering(runs: pd.DataFrame, compared: Mapping[Hashable, Decision]) -> Iterator[_Claim]:
    """Parquet read-ahead settings of one release, compared with the default."""
    for cell, group in same_but_for(_finished(runs, mode="stream", fault="none"), "buffering"):
        default = side(group[group["buffering"] == "default"], "rows_per_s")
        for name, lines in group[group["buffering"] != "default"].groupby("buffering", sort=False):
            tried = side(lines, "rows_per_s")
            if not (default.values and tried.values):
                continue
            # The claim is that read-ahead is faster, so the baseline is read-ahead switched off.
            off = name == _NOT_AHEAD
            one, other = (tried, default) if off else (default, tried)
            conditions = f"{f'default against {name}' if off else f'{name} against default'}; {_conditions(cell)}"
            decided = compared.get(_key("buffering", "default", str(name), "rows_per_s", cell | {"buffering": name}))
            yield _Claim(
                _line(cell, _BUFFERED, conditions),
                Question(one, other, "rows_per_s", threshold=RATIO),
                decided,
                inverse=off,
            )


def _spark_source(spark: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Spark's data source: the share of steps that work, and why the others fail."""
    tried = spark[spark["step"].notna() | spark["outcome"].ne("not_applicable")]
    for (experiment, stack), group in tried.groupby(["experiment", "stack"], sort=False):
        steps = group[group["step"].notna()]
        works = group["works"].fillna(False).astype(bool)
        reasons = [_why(line) for line in group[~works].to_dict("records")]
        conditions = "; ".join([f"{stack}; {', '.join(dict.fromkeys(steps['step']))}", *dict.fromkeys(reasons)])
        cell = {"experiment": experiment, "stack": stack}
        yield _share(cell, _SPARK, conditions, works.groupby(group["rep"]).mean().tolist())


def _why(line: Mapping[Hashable, Any]) -> str:
    return f"{line['step']} fails with {line['reason']}" if pd.notna(line["step"]) else f"fails with {line['reason']}"


def _deduplicated(runs: pd.DataFrame) -> Iterator[_Claim]:
    """How many times fewer bytes are new with content-defined chunking."""
    chunked = where(runs, side="chunking")
    edits = [str(name) for name in chunked if str(name).startswith(_NEW_AFTER)]
    for cell, candidates in cells(chunked[chunked["completed_work"].astype(bool)]) if edits else ():
        plain = where(runs, **cell | {"side": "plain"})
        for name in edits:
            first, second = side(candidates, name), side(plain, name)
            if first.values and second.values:
                conditions = f"{name.removeprefix(_NEW_AFTER).partition(' [')[0]}, arguments {cell['arguments']}"
                yield _Claim(_line(cell, CHUNKED, conditions), Question(first, second, name, threshold=RATIO))


def _custom_pipelines(runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Whether a custom pipeline reads every sample of a file on the Hub correctly: a wrong one fails the run."""
    scripts = where(runs, workload="script")
    if len(scripts):
        scripts = scripts[scripts["script"].str.match("tars|frames") & scripts["side"].ne("curl")]
    for cell, group in same_but_for(scripts[scripts["outcome"].ne("not_applicable")]) if len(scripts) else ():
        conditions = f"{cell['stack']}; {cell['script']}, {cell['side']}"
        yield _share(cell, _PIPELINES, conditions, group["completed_work"].astype(float).tolist())


def _not_run(seen: set[str]) -> Iterator[dict[str, Any]]:
    """A line for each claim that no run of this config tests."""
    for claim, claimed in CLAIMS.items():
        if claim not in seen:
            reason = "no experiment of this config runs it; config/streaming.yaml does"
            line = {"source": SOURCE, "claim": claim, "claimed": claimed, "conditions": reason}
            yield dict.fromkeys(COLUMNS) | line | {"n": 0, "holds": "not run"}


def _share(cell: Cell, claim: str, conditions: str, shares: Sequence[float]) -> dict[str, Any]:
    """A line for a claim that something works. `shares` is the share that worked, per repeat; a failed repeat counts as
    0.

    One failure is enough to answer "not always". One success is not enough to answer "yes".
    """
    mean = middle(shares, counted=True)
    works = "yes" if mean.n >= AT_LEAST else "undecided"
    decided = works if min(shares) == 1 else "no" if max(shares) == 0 else "partly"
    same = {"low": mean.low, "high": mean.high} if mean.low == mean.high else {}
    ends = same | {f"{end}_corrected": value for end, value in same.items()}
    line = {"measured": mean.mean, **ends, "n": mean.n, "holds": decided}
    return _line(cell, claim, conditions) | line


def _finished(runs: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    runs = runs[runs["completed_work"].astype(bool) & runs["workload"].eq("stream")]
    for axis, value in wanted.items():
        runs = runs[runs[axis] == value]
    return runs


def _line(cell: Cell, claim: str, conditions: str) -> dict[str, Any]:
    own = {name: cell[name] for name in ("experiment", "stack")}
    return own | {"source": SOURCE, "claim": claim, "conditions": conditions, "claimed": CLAIMS[claim]}


def _decided(asked: Iterable[_Claim]) -> Iterator[dict[str, Any]]:
    """The lines of some claims. A ratio with a count of zero is undefined and has no line.

    Claims that only this table decides share its error: each gets a part of ALPHA.
    """
    asked = list(asked)
    own = [one for one in asked if one.question and not _is_ratio(one.compared)]
    counted = [one for one in asked if one.values]
    together = max(len(own) + len(counted), 1)
    decisions = decide([one.question for one in own if one.question], ALPHA * len(own) / together)
    by_claim = {id(one): decided for one, decided in zip(own, decisions, strict=True)}
    for one in asked:
        if one.values:
            yield one.line | _zero_counts(one.values, 1 - ALPHA / together)
            continue
        compared = one.compared
        if compared and _is_ratio(compared):
            decided = compared.inverted() if one.inverse else compared
        else:
            decided = by_claim[id(one)]
        if not math.isnan(decided.ratio):
            line = one.line | _numbers((decided.ratio, decided.low, decided.high), decided.corrected_ends)
            answer = holds(decided, one.line["claimed"])
            if compared and not _is_ratio(compared) and compared.result != "better" and answer != "no":
                answer = "undecided"  # only differences of such small numbers were compared, and none is better
            if (one.without_endpoint - 1) * (decided.ratio - 1) < 0:
                answer = "undecided"  # the endpoint's own work decides the direction
            yield line | {"n": decided.n, "holds": answer}


def _is_ratio(compared: Decision | None) -> bool:
    return compared is not None and not math.isnan(compared.ratio)


def _numbers(middle_and_ends: Sequence[float], corrected: Sequence[float]) -> dict[str, float]:
    names = ("measured", "low", "high", "low_corrected", "high_corrected")
    return {name: float(f"{value:.9g}") for name, value in zip(names, (*middle_and_ends, *corrected), strict=True)}


def _zero_counts(values: Sequence[float], level: float) -> dict[str, Any]:
    """The line of counts that are claimed to be zero. A count cannot be below zero."""
    plain, strict = (middle(values, counted=True, level=at) for at in (LEVEL, level))
    ends = [max(interval.low, 0.0) if interval.low == interval.low else interval.low for interval in (plain, strict)]
    answer = reaches(strict.mean, ends[1], strict.high, 0.0, higher=False, none=0.0)
    return _numbers((plain.mean, ends[0], plain.high), (ends[1], strict.high)) | {"n": plain.n, "holds": answer}


def _conditions(cell: Cell) -> str:
    """A cell's conditions in words, without the defaults."""
    words = [f"repository {cell['repository']}"]
    words.append(f"{cell['workers']:.0f} workers by {cell['start']}" if cell["workers"] else "no workers")
    words[-1] += _network(cell)
    if cell.get("page_size", 1000) != 1000:
        words.append(f"pages of {cell['page_size']:.0f}")
    for axis, usual in (("redirect", "no"), ("shuffle_buffer", 0), ("buffering", "default")):
        if cell.get(axis, usual) != usual:
            words.append(f"{axis.replace('_', ' ')} {cell[axis]}")
    return ", ".join(words)


def _network(cell: Cell) -> str:
    """Latency and bandwidth of the network to the endpoint in words; empty if there are none."""
    units = (("latency_ms", "ms latency"), ("bandwidth_mb_per_s", "MB/s"))
    return "".join(f", {cell[axis]:.0f} {unit}" for axis, unit in units if cell.get(axis))
