"""Table `peers`: what turns the same text into the same ids, and what each way of it takes.

Held against mode `engine` over the same files, wherever both have the same ids.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from scipy import stats

from ..metrics import Events, Record, Records, derive
from ..units import GB, MB
from .decide import LEVEL, Middle, Question, Side, decide, geometric
from .frame import Cell, same_but_for
from .growth import SIZE
from .noise import NO_SPREAD, Spread, spreads_of
from .outcomes import of_run, outcome

ENGINE = "engine"
RATES = ("tokens_per_cpu_s", "tokens_per_s")
SIZES = ("peak_anon_bytes", "peak_anon_once_bytes", "peak_pss_bytes", "cache_written_bytes", "token_count", "bytes_in")
HELD = {"tokens_per_cpu_s": "rate_beside_engine", "peak_anon_once_bytes": "memory_beside_engine"}
_FITTED = ("tokens_per_cpu_s_beyond_start", "peak_slope_mb_per_gb")
COLUMNS = [
    "experiment", "stack", "corpus", "mode", "batch_size", "num_proc", SIZE, "outcome", "reason", "n", "sizes",
    *(f"{name}{end}" for name in (*RATES, *_FITTED) for end in ("", "_low", "_high")), *SIZES, "ids", *HELD.values(),
]  # fmt: skip
# Fewer points than this have a slope without an interval.
_ENOUGH = 3


def peers(records: Records, session_spread: pd.DataFrame | None = None) -> pd.DataFrame:
    """A line per cell of workload `tokenize` without its size; none if no experiment runs another program.

    Rates are geometric means with 95 % intervals, sizes medians, over the `n` runs of the largest input (`num_files`)
    that finished, which start and imports are in. `tokens_per_cpu_s_beyond_start` is the inverse of the slope of
    CPU-seconds over tokens, `peak_slope_mb_per_gb` that of peak anonymous memory over input, over all runs of all
    `sizes`. `ids` says whether their hash is that of mode `engine` at every size that both ran; what is decided of the
    two, at the largest of these, is decided for all lines together.
    """
    table = pd.DataFrame([line for record, events in records if (line := _run(record, events))])
    if table.empty:
        return pd.DataFrame(columns=COLUMNS)
    cells = list(same_but_for(table, SIZE))
    spreads = spreads_of(session_spread)
    lines = [cell | _line(runs, spreads) for cell, runs in cells]
    for line, held in zip(lines, _beside(cells), strict=True):
        line |= held
    made = pd.DataFrame(lines)
    return made.reindex(columns=list(dict.fromkeys([*made, *COLUMNS])))


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
    came_to = outcome(runs["outcome"])
    line: dict[str, Any] = {"outcome": came_to, "reason": next(iter(runs.loc[runs["outcome"].eq(came_to), "reason"]))}
    line |= {SIZE: runs[SIZE].max(), "n": 0, "sizes": done[SIZE].nunique() if len(done) else 0}
    if done.empty:
        return line
    largest = done[done[SIZE] == done[SIZE].max()]
    line |= {SIZE: largest[SIZE].iloc[0], "n": len(largest)} | {name: largest[name].median() for name in SIZES}
    fitted = {
        _FITTED[0]: _inverse(_slope(done["token_count"], done["token_count"] / done["tokens_per_cpu_s"])),
        _FITTED[1]: _slope(done["bytes_in"] / GB, done["peak_anon_bytes"] / MB),
    }
    rates = {name: geometric(largest[name].tolist(), spreads.get(name, NO_SPREAD)) for name in RATES}
    for name, value in (rates | fitted).items():
        line |= {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
    return line


def _slope(x: "pd.Series[float]", y: "pd.Series[float]") -> Middle:
    """The slope of a straight line with its 95 % interval; runs are independent of each other."""
    if x.nunique() < 2:
        return Middle()
    fit = stats.linregress(x.to_numpy(float), y.to_numpy(float))
    if len(x) < _ENOUGH:
        return Middle(float(fit.slope))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 2) * fit.stderr)
    return Middle(float(fit.slope), float(fit.slope) - half, float(fit.slope) + half)


def _inverse(slope: Middle) -> Middle:
    """A rate from seconds a token; unbounded above where the seconds may be none."""
    if not slope.mean > 0:
        return Middle()
    return Middle(1 / slope.mean, 1 / slope.high, 1 / slope.low if slope.low > 0 else math.inf)


def _beside(cells: Sequence[tuple[Cell, pd.DataFrame]]) -> Iterator[Mapping[str, Any]]:
    """The result of each cell compared with mode `engine` over the same corpus, the first such cell."""
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
            questions.append(Question(sides[0], sides[1], metric))
    decided = decide(questions)
    for line, places in lines:
        yield line | {name: decided[at].result for name, at in places.items()}
