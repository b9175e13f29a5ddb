"""Table `peers`: other programs that turn the same text into the same ids, and what each costs.

Each is compared with mode `engine` over the same files, if both produce the same ids.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records, derive
from ..units import GB, MB
from .decide import LEVEL, Middle, Question, Side, decide, geometric
from .frame import Cell, same_but_for
from .growth import SIZE
from .noise import NO_SPREAD, Spread, spreads_of
from .outcomes import of_run, outcome

ENGINE = "engine"
RATES = ("tokens_per_cpu_s_with_start", "tokens_per_s")
# Decided as the rate without start and imports.
_LIKE = {RATES[0]: "tokens_per_cpu_s"}
SIZES = ("peak_anon_bytes", "peak_anon_once_bytes", "peak_pss_bytes", "cache_written_bytes", "token_count", "bytes_in")
HELD = {"tokens_per_cpu_s_with_start": "rate_beside_engine", "peak_anon_once_bytes": "memory_beside_engine"}
_FITTED = ("tokens_per_cpu_s_beyond_start", "peak_slope_mb_per_gb")
COLUMNS = [
    "experiment", "stack", "corpus", "mode", "batch_size", "num_proc", SIZE, "outcome", "reason", "n", "sizes",
    *(f"{name}{end}" for name in (*RATES, *_FITTED) for end in ("", "_low", "_high")), *SIZES, "ids", *HELD.values(),
]  # fmt: skip
# With fewer points, a slope has no interval.
_ENOUGH = 3


def peers(records: Records, session_spread: pd.DataFrame | None = None) -> pd.DataFrame:
    """One line per cell of workload `tokenize` without its size; empty if no experiment runs another program.

    Rates are geometric means with 95 % intervals, sizes are medians. Both are over the `n` finished runs of the largest
    input (`num_files`), and include start and imports. `tokens_per_cpu_s_beyond_start` is the inverse slope of
    CPU-seconds over tokens. `peak_slope_mb_per_gb` is the slope of peak anonymous memory over input. Both are over all
    runs of all `sizes`. `ids` says whether the hash of the ids equals that of mode `engine` at every size that both
    ran. They are compared at the largest such size, and all lines are decided together.
    """
    table = pd.DataFrame([line for record, events in records if (line := _run(record, events))])
    if table.empty:
        return pd.DataFrame(columns=COLUMNS)
    cells = list(same_but_for(table, SIZE))
    spreads = spreads_of(session_spread)
    lines = [cell | _line(runs, spreads) for cell, runs in cells]
    for line, decisions in zip(lines, _beside(cells), strict=True):
        line |= decisions
    result = pd.DataFrame(lines)
    return result.reindex(columns=list(dict.fromkeys([*result, *COLUMNS])))


def _run(record: Record, events: Events) -> dict[str, Any] | None:
    cell = record["cell"]
    if record.get("workload", "tokenize") != "tokenize" or cell.get("cache", "cold") != "cold" or "limit" in record:
        return None
    line = of_run(record)
    if not record["completed_work"]:
        return line
    measured = derive(record, events, "peers")
    ids = record["work"].get("ids_sha256")
    return line | {name: measured[name] for name in (*RATES, *SIZES)} | {"ids_sha256": ids}


def _finished(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["token_count"].notna()] if "token_count" in runs else runs.head(0)


def _line(runs: pd.DataFrame, spreads: Mapping[str, Spread]) -> dict[str, Any]:
    """The line of one cell, over all sizes."""
    done = _finished(runs)
    overall = outcome(runs["outcome"])
    line: dict[str, Any] = {"outcome": overall, "reason": next(iter(runs.loc[runs["outcome"].eq(overall), "reason"]))}
    line |= {SIZE: runs[SIZE].max(), "n": 0, "sizes": done[SIZE].nunique() if len(done) else 0}
    if done.empty:
        return line
    largest = done[done[SIZE] == done[SIZE].max()]
    line |= {SIZE: largest[SIZE].iloc[0], "n": len(largest)} | {name: largest[name].median() for name in SIZES}
    fitted = {
        _FITTED[0]: _inverse(_slope(done["token_count"], done["token_count"] / done[RATES[0]])),
        _FITTED[1]: _slope(done["bytes_in"] / GB, done["peak_anon_bytes"] / MB),
    }
    rates = {name: geometric(largest[name].tolist(), spreads.get(_LIKE.get(name, name), NO_SPREAD)) for name in RATES}
    for name, value in (rates | fitted).items():
        line |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
    return line


def _slope(x: "pd.Series[float]", y: "pd.Series[float]") -> Middle:
    """The slope of a straight line with its 95 % interval. Runs are independent of each other."""
    if x.nunique() < 2:
        return Middle()
    from scipy import stats  # takes half a second to import

    fit = stats.linregress(x.to_numpy(float), y.to_numpy(float))
    if len(x) < _ENOUGH:
        return Middle(float(fit.slope))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 2) * fit.stderr)
    return Middle(float(fit.slope), float(fit.slope) - half, float(fit.slope) + half)


def _inverse(slope: Middle) -> Middle:
    """A rate from seconds per token. Its high end is infinite if the seconds may be zero."""
    if not slope.mean > 0:
        return Middle()
    return Middle(1 / slope.mean, 1 / slope.high, 1 / slope.low if slope.low > 0 else math.inf)


def _beside(cells: Sequence[tuple[Cell, pd.DataFrame]]) -> Iterator[Mapping[str, Any]]:
    """The decisions of each cell against mode `engine` over the same corpus, in the first such cell."""
    engines: dict[Any, tuple[int, pd.DataFrame]] = {}
    for place, (cell, runs) in enumerate(cells):
        if cell["mode"] == ENGINE and len(_finished(runs)):
            engines.setdefault(cell["corpus"], (place, _finished(runs)))
    questions: list[Question] = []
    lines: list[tuple[dict[str, Any], dict[str, int]]] = []
    for place, (cell, runs) in enumerate(cells):
        of, engine = engines.get(cell["corpus"], (place, None))
        done = _finished(runs)
        common = set() if engine is None or done.empty else set(done[SIZE]) & set(engine[SIZE])
        line: dict[str, Any] = {"ids": None, **dict.fromkeys(HELD.values())}
        lines.append((line, {}))
        if engine is None or not common or place == of:
            continue
        hashes = [set(side.loc[side[SIZE] == size, "ids_sha256"]) for size in sorted(common) for side in (engine, done)]
        same = all(first == second and len(first) == 1 for first, second in zip(hashes[::2], hashes[1::2], strict=True))
        line["ids"] = "same" if same else "other"
        if cell["mode"] == ENGINE or not same:
            continue
        at = max(common)
        for metric, name in HELD.items():
            sides = [Side(tuple(side.loc[side[SIZE] == at, metric].astype(float))) for side in (engine, done)]
            lines[-1][1][name] = len(questions)
            questions.append(Question(sides[0], sides[1], _LIKE.get(metric, metric)))
    decided = decide(questions)
    for line, places in lines:
        yield line | {name: decided[at].result for name, at in places.items()}
