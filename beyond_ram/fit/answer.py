"""The settings that fit, and the fastest of them: the small runs, the predictions, and the text."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..advice import MIB, ROOM_BYTES
from ..text import in_columns
from ..units import duration, short_size
from . import design
from .design import Point
from .factors import Plan, Setting
from .model import Model, Prediction, Reading, doubts, fitted
from .runs import Run, RunError, Runs, free_bytes

YES, NO, UNSURE = "yes", "no", "unsure"
# Growth is understood from as many sizes as show two slopes.
_LEAST_SIZES = 3
# Smaller parts of a prediction are left out of the text.
_SHOWN = 0.01


@dataclass(frozen=True)
class Line:
    """One setting at the size that is asked about."""

    setting: Setting
    memory: Prediction | None
    """None if growth is not understood."""
    time: Prediction
    fits: str
    ask_bytes: int | None
    """The upper end of the interval, and room for mapped files as `advice` has it."""


@dataclass(frozen=True)
class Confirmation:
    """The run that the model had not seen."""

    run: Run
    predicted: Prediction


@dataclass(frozen=True)
class Answer:
    """The result of a fit."""

    plan: Plan
    budget_bytes: int
    lines: Sequence[Line]
    best: Line | None
    memory: Model
    runs: Sequence[Run]
    confirmation: Confirmation | None
    unsure_because: str | None
    run_s: float

    @property
    def status(self) -> int:
        """0 if a setting fits, 1 if none does, 2 if it is unsure."""
        if self.best:
            return 0
        return 1 if all(line.fits == NO for line in self.lines) else 2

    @property
    def target(self) -> int | None:
        return self.plan.growth.target if self.plan.growth else None

    @property
    def times_as_far(self) -> float:
        """Extrapolation: the target over the largest measured size."""
        sizes = [run.point.size for run in self.runs if run.point.size]
        return max(1.0, self.target / max(sizes)) if self.target and sizes else 1.0


def answer(
    plan: Plan, budget_bytes: int, budget_s: float, out: Path, largest: int | None, tell: Callable[[str], None]
) -> Answer:
    """Make the small runs within about `budget_s`, and predict every setting. Raises RunError, ValueError.

    Where an interval stays too wide after the run that the model had not seen, the design's other runs of that size
    follow.
    """
    runs = Runs(plan, out, tell)
    sizes = _sizes(runs, budget_s, largest) if plan.growth else []
    _make(runs, design.points(plan.varied, sizes))
    before = _answer(plan, budget_bytes, runs, None)
    unseen = _unseen(before, sizes, largest)
    if not unseen:
        return before
    predicted = before.memory.predict(unseen.setting, unseen.size or 1)
    try:
        run = runs.get(unseen, "a run that the model has not seen: ")
    except RunError as error:
        tell(f"not confirmed: {error}")
        return before
    after = _answer(plan, budget_bytes, runs, Confirmation(run, predicted))
    further = _further(after, runs, [*sizes, unseen.size] if unseen.size else [])
    if not further or runs.seconds + 2 * max(run.seconds for run in after.runs) * len(further) > budget_s:
        return after
    _make(runs, further)
    return _answer(plan, budget_bytes, runs, after.confirmation)


def _make(runs: Runs, points: Sequence[Point]) -> None:
    for number, point in enumerate(points, 1):
        runs.get(point, f"run {number} of {len(points)}: ")


def _further(after: Answer, runs: Runs, sizes: Sequence[int]) -> list[Point]:
    """The missing runs of the design with a larger size, if they may narrow an interval."""
    if doubts(after.memory.readings) or all(line.memory for line in after.lines) or not sizes:
        return []
    return [point for point in design.points(after.plan.varied, sizes) if point not in runs.done]


def _sizes(runs: Runs, budget_s: float, largest: int | None) -> list[int]:
    """Run the base at sizes that double, while all other runs at the next size fit into the time and the memory."""
    assert runs.plan.growth
    growth, at_base = runs.plan.growth, design.base(runs.plan.varied)
    most = min(growth.target, largest // 2) if largest else growth.target
    sizes = [growth.first]
    while True:
        run = runs.get(Point(at_base, sizes[-1]), f"size {len(sizes)}: ")
        size = 2 * sizes[-1]
        # No run takes more than twice as long, and keeps more than twice as much, with twice the input.
        expected_s = 2 * run.seconds * (len(design.points(runs.plan.varied, [*sizes, size])) - len(sizes) + 2)
        short = len(sizes) >= _LEAST_SIZES and runs.seconds + expected_s > budget_s
        if size > most or short or 4 * run.kept_bytes > free_bytes():
            return sizes
        sizes.append(size)


def _unseen(before: Answer, sizes: Sequence[int], largest: int | None) -> Point | None:
    """The point of the confirming run: the best setting, or the one that keeps least, twice as far."""
    assert before.lines
    chosen = before.best or min(before.lines, key=lambda line: line.memory.value if line.memory else math.inf)
    if not sizes:
        point = Point(chosen.setting, None)
        return None if any(run.point.setting == point.setting for run in before.runs) else point
    assert before.target
    size = min(2 * sizes[-1], before.target, largest or before.target)
    return Point(chosen.setting, size) if size > sizes[-1] else None


def _answer(plan: Plan, budget_bytes: int, runs: Runs, confirmation: Confirmation | None) -> Answer:
    done = list(runs.done.values())
    memory = fitted(list(plan.varied), _readings(done, lambda run: run.kept_bytes))
    time = fitted(list(plan.varied), _readings(done, lambda run: run.seconds), shrinks=True)
    why = _doubts(memory, plan)
    mapped = max(run.mapped_bytes for run in done)
    lines = list(_lines(plan, budget_bytes, memory, time, why, mapped))
    fitting = [line for line in lines if line.fits == YES]
    best = min(fitting, key=lambda line: line.time.value, default=None)
    if not why and any(line.memory is None for line in lines):
        why = "what the small runs show leaves too wide an interval: begin with a larger size, or give more --minutes"
    return Answer(plan, budget_bytes, lines, best, memory, done, confirmation, why, runs.seconds)


def _readings(runs: Sequence[Run], value: Callable[[Run], float]) -> list[Reading]:
    return [Reading(run.point.setting, run.point.size or 1, value(run)) for run in runs]


def _doubts(memory: Model, plan: Plan) -> str | None:
    sizes = {reading.size for reading in memory.readings}
    if plan.growth and len(sizes) < _LEAST_SIZES:
        return f"growth is not understood from {len(sizes)} sizes: begin --grow lower, or give more --minutes"
    return doubts(memory.readings)


def _lines(
    plan: Plan, budget_bytes: int, memory: Model, time: Model, why: str | None, mapped_bytes: int
) -> Iterator[Line]:
    target = plan.growth.target if plan.growth else 1
    for setting in itertools.product(*plan.varied.values()):
        kept, seconds = memory.predict(setting, target), time.predict(setting, target)
        seen = max((one.value for one in memory.readings if one.setting == setting), default=0)
        if why or not kept.is_number:
            yield Line(setting, None, seconds, NO if seen > budget_bytes else UNSURE, None)
            continue
        ask = math.ceil((kept.high + mapped_bytes + ROOM_BYTES) / MIB) * MIB
        fits = YES if ask <= budget_bytes else NO if kept.low > budget_bytes else UNSURE
        yield Line(setting, kept, seconds, fits, ask)


def as_json(result: Answer, confirmed: dict[str, Any] | None) -> dict[str, Any]:
    """The content of fit.json."""
    settings = [_setting(result, line) for line in result.lines]
    return {
        "budget_bytes": result.budget_bytes,
        "target": {result.plan.growth.name: result.target} if result.plan.growth else {},
        "times_as_far": round(result.times_as_far, 3),
        "settings": settings,
        "best": next((one for one, line in zip(settings, result.lines, strict=True) if line is result.best), None),
        "unsure_because": result.unsure_because,
        "parts": [{"of": part.of, "growth": part.growth, "bytes": round(part.value)} for part in result.memory.parts],
        "confirmation": _confirmation(result),
        "confirmed": confirmed,
        "runs": [
            result.plan.values(run.point.setting, run.point.size)
            | {"repeat": run.point.repeat, "kept_bytes": run.kept_bytes, "seconds": round(run.seconds, 3)}
            for run in result.runs
        ],
        "run_s": round(result.run_s, 1),
    }


def _setting(result: Answer, line: Line) -> dict[str, Any]:
    memory = line.memory
    return result.plan.values(line.setting, None) | {
        "predicted_bytes": round(memory.value) if memory else None,
        "low": round(memory.low) if memory else None,
        "high": round(memory.high) if memory else None,
        "fits": line.fits,
        "ask_bytes": line.ask_bytes,
        "seconds": round(line.time.value, 2),
        "per_second": round(result.target / line.time.value, 2) if result.target and line.time.value else None,
    }


def _confirmation(result: Answer) -> dict[str, Any] | None:
    if not result.confirmation:
        return None
    run, predicted = result.confirmation.run, result.confirmation.predicted
    return result.plan.values(run.point.setting, run.point.size) | {
        "kept_bytes": run.kept_bytes,
        "predicted_bytes": round(predicted.value),
        "low": round(predicted.low),
        "high": round(predicted.high),
        "inside": predicted.holds(run.kept_bytes),
    }


def text(result: Answer) -> Iterator[str]:
    """The answer for the terminal."""
    growth = result.plan.growth
    if growth:
        seen = max(run.point.size or 0 for run in result.runs)
        far = f", predicted {result.times_as_far:.3g} times as far" if result.times_as_far > 1 else ""
        yield f"kept memory at {growth.name}={growth.target:,}: measured up to {seen:,}{far}"
    yield from _table(result)
    yield from _explained(result)
    if result.best and result.best.ask_bytes:
        ask = result.best.ask_bytes // MIB
        yield f"best: {_name(result, result.best)}, the fastest that fits into {short_size(result.budget_bytes)}"
        yield f"#SBATCH --mem={ask}M"
        yield f"limits: {{memory: {ask}Mi}}"
    elif result.status == 1:
        yield f"none fits into {short_size(result.budget_bytes)}"
    else:
        yield f"no setting surely fits into {short_size(result.budget_bytes)}"


def _table(result: Answer) -> Iterator[str]:
    unit = [f"{result.plan.growth.name}/s"] if result.plan.growth else []
    rows = [[*result.plan.varied, "predicted", "90 % interval", "fits", "time", *unit]]
    for line in result.lines:
        memory = line.memory
        predicted = (
            [short_size(memory.value), f"{short_size(memory.low)} to {short_size(memory.high)}"]
            if memory
            else ["-", "-"]
        )
        speed = [f"{result.target / line.time.value:,.0f}" if line.time.value else "-"] if result.target else []
        rows.append([*map(str, line.setting), *predicted, line.fits, duration(line.time.value), *speed])
    yield from in_columns(rows, left=0)


def _explained(result: Answer) -> Iterator[str]:
    if result.unsure_because:
        yield f"unsure: {result.unsure_because}"
    if result.best and result.best.memory:
        growing = result.plan.growth.name if result.plan.growth else ""
        shares = result.memory.shares(result.best.setting, result.target or 1, growing)
        shown = {name: value for name, value in shares.items() if value > _SHOWN * result.best.memory.value}
        yield "of which: " + ", ".join(f"{name} {short_size(value)}" for name, value in shown.items())
    if result.confirmation:
        run, predicted = result.confirmation.run, result.confirmation.predicted
        values = result.plan.values(run.point.setting, run.point.size)
        name = " ".join(f"{key}={value:,}" for key, value in values.items())
        inside = "inside" if predicted.holds(run.kept_bytes) else "outside, and taken into the model:"
        interval = f"{short_size(predicted.low)} to {short_size(predicted.high)}"
        yield f"a run that the model had not seen, {name}: {short_size(run.kept_bytes)}, {inside} {interval}"


def _name(result: Answer, line: Line) -> str:
    return " ".join(f"{name}={value}" for name, value in result.plan.values(line.setting, None).items()) or "as it is"
