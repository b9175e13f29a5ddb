"""The settings that fit, and the fastest of them: the small runs, the predictions, and the text."""

import itertools
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..measure.campaign import RUNS
from ..measure.plan import COMPLETED, Block, Member, Run, WantedError
from ..memory_request import MIB, ROOM_BYTES, ROOM_SHARE
from ..text import in_columns
from ..units import duration, short_size
from ..watch import LimitError
from . import small_runs
from .factors import FactorPlan, Setting
from .model import FitReading, Model, Prediction, measured
from .runs import NUMBERS, BudgetError, FitRun, FitRuns, RunError, once
from .small_runs import DesignPoint

WORDS = {True: "yes", False: "no", None: "unsure"}
"""Of `fits`, for the text."""
# Growth is understood from as many sizes as show two slopes.
_LEAST_SIZES = 3
# Smaller parts of a prediction are left out of the text.
_SHOWN = 0.01
# A run that differs from the median of two or more, which agree, by this share does not count: a peak is now and then
# 9 % higher.
_STRAY = 0.05
# How often runs are repeated for a narrower interval, at most.
_ROUNDS = 8
# Runs that would take this many times the budget end at once. With less they go on: the first may be the slowest.
_OVER = 2
_WIDE = "what the small runs show leaves too wide an interval"
_MORE = "more --budget, or a larger --largest"
_TOO_WIDE = f"{_WIDE}: begin with a larger size, or give {_MORE}"
_LARGER = f"what would help are runs nearer the target: {_MORE}"
_RUN_IT = "what would help are runs of these settings: give --vary fewer values, or more --budget"


@dataclass(frozen=True)
class AnswerLine:
    """One setting at the size that is asked about."""

    setting: Setting
    memory: Prediction | None
    """None if growth is not understood."""
    time: Prediction
    fits: bool | None
    """None if unsure."""
    request_bytes: int | None
    """The upper end of the interval, or a tenth more than the value, and room for mapped files."""
    runs_at_target: int = 0
    """The runs of just this setting at the target, on which memory and time then rest; 0 if they are predicted."""


@dataclass(frozen=True)
class Confirmation:
    """The run that the model had not seen; of three, where the first lay outside, the middle one."""

    run: FitRun
    predicted: Prediction

    @property
    def holds(self) -> bool:
        return self.predicted.holds(self.run.kept_bytes)


@dataclass
class FitPolicy:
    """The policy: the run that the answer wants next; and then the best setting at full size, under its request."""

    plan: FactorPlan
    memory_bytes: int
    budget_s: float
    largest: int | None
    confirm: bool
    out: Path
    earlier: int = 0
    """The number of runs of earlier calls. Those that failed are made again."""
    unanswered: str = ""
    """Why there is no answer, or why it is not confirmed."""
    answer: "Answer | None" = None
    confirmed: FitRun | None = None
    _known: FitRuns | None = None
    _answers: dict[Any, Any] = field(default_factory=dict)
    _ended_at: float = field(default_factory=time.time)
    """The end of the last run, or the start of the call."""

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next run."""
        made = {run.member.side: run for n, run in enumerate(runs) if n >= self.earlier or not run.reason}
        known = self._known = FitRuns(self.plan, made, self.budget_s, self.confirm, self._answers)
        try:
            self.answer = answer(known, self.memory_bytes, self.largest)
            if self.confirm and (best := self.answer.best):
                point, expected_s = DesignPoint(best.setting, self.answer.target), best.time.value
                self.confirmed = known.make(point, "the best setting under its request", expected_s, best.request_bytes)
        except RunError as error:
            self.unanswered = str(error)
        except WantedError as wanted:
            return [wanted.block]
        return []

    def once(self, member: Member, number: int, block: str) -> Run:
        """Make the run that `next` has named."""
        assert self._known and self._known.wanted
        folder, began = Path(RUNS, member.side.replace(" ", ",")), time.time()
        outcome, reason, values = "failed", "", {}
        try:
            run = once(self.plan, self.out / folder, *self._known.wanted)
            outcome, values = run.outcome, {name: value for name, value in vars(run).items() if name in NUMBERS}
        except (RunError, LimitError) as error:
            reason = str(error)
        ended = time.time()
        values |= {"wall_s": ended - self._ended_at}
        self._ended_at = ended
        return Run(member, number, block, outcome, reason, None, values, began, ended, str(folder))


@dataclass(frozen=True)
class Answer:
    """The result of a fit."""

    plan: FactorPlan
    memory_bytes: int
    lines: Sequence[AnswerLine]
    best: AnswerLine | None
    memory: Model
    runs: Sequence[FitRun]
    confirmation: Confirmation | None
    understood: bool
    """Whether the model has a number for each setting that was not run."""
    unsure_because: str | None
    """Why settings have no number."""
    wall_s: float

    @property
    def status(self) -> int:
        """0 if a setting fits, 1 if none does, 2 if it is unsure."""
        if self.best:
            return 0
        return 1 if all(line.fits is False for line in self.lines) else 2

    @property
    def target(self) -> int | None:
        return self.plan.growth.target if self.plan.growth else None

    @property
    def times_as_far(self) -> float:
        """Extrapolation: the target over the largest measured size."""
        sizes = [run.point.size for run in self.runs if run.point.size]
        return max(1.0, self.target / max(sizes)) if self.target and sizes else 1.0

    @property
    def shares(self) -> dict[str, float]:
        """The parts of the best setting's memory, largest first; none from a model that does not explain the runs."""
        growing = self.plan.growth.name if self.plan.growth else ""
        known = self.best and self.understood
        return self.memory.shares(self.best.setting, self.target or 1, growing) if self.best and known else {}


def answer(runs: FitRuns, memory_bytes: int, largest: int | None) -> Answer:
    """Make the small runs within their budget, and predict every setting. Raises RunError, ValueError.

    Where an interval stays too wide after the run that the model had not seen, the design's other runs of that size
    follow, then repeats of all, while there is time. That run ends the numbers if it fails or lies outside. Runs at
    full size are repeated too, while an interval is too wide to answer or spans a factor of two.
    """
    sizes = _sizes(runs, largest) if runs.plan.growth else []
    for number, point in enumerate(points := small_runs.points(runs.plan.varied, sizes), 1):
        _check_time(runs, points)
        runs.get(point, f"run {number} of {len(points)}")
    result, confirmation = _answer(runs, memory_bytes), None
    try:
        if unseen := _unseen(result, sizes, largest):
            confirmation = _confirm(result, runs, unseen)
            result = _answer(runs, memory_bytes, confirmation)
            sizes = [*sizes, unseen.size] if unseen.size else sizes
        for further in _further(runs, sizes) if unseen or not sizes else ():
            expected_s = sum(2 * runs.seconds_at(point.size) for point in further)
            if not _is_wide(result) or expected_s > runs.left_s:
                break
            for point in further:
                runs.get(point, "a narrower interval")
            result = _answer(runs, memory_bytes, confirmation)
    except BudgetError as spent:
        unconfirmed = unseen and not confirmation
        return _answer(runs, memory_bytes, confirmation, failed=str(spent) if unconfirmed else "")
    except RunError as error:
        return _answer(runs, memory_bytes, failed=f"a run failed, so larger ones may too: {error}")
    return result


def _is_wide(result: Answer) -> bool:
    """Whether more runs may narrow an interval so that it says more."""
    at_target = [line for line in result.lines if line.memory and line.runs_at_target]
    too_wide = (result.unsure_because or "").startswith(_WIDE)
    return too_wide or any(line.fits is None or not (line.memory and line.memory.is_number) for line in at_target)


def _check_time(runs: FitRuns, points: Sequence[DesignPoint]) -> None:
    """Raise BudgetError where the missing runs would take the budget more than twice over."""
    left = sum(point not in runs.done for point in points)
    expected_s = runs.wall_s + left * runs.wall_s / max(1, len(runs.done))
    if left and expected_s > _OVER * runs.budget_s:
        raise BudgetError(
            f"{len(points):,} runs would take {duration(expected_s)}, not {duration(runs.budget_s)}: give --vary fewer "
            f"values, or --budget {math.ceil(expected_s / 60)}; the runs so far are used again"
        )


def _confirm(before: Answer, runs: FitRuns, unseen: DesignPoint) -> Confirmation:
    """The run that the model has not seen. Noise alone puts one of ten outside; then the middle of three counts."""
    predicted = before.memory.predict(unseen.setting, unseen.size or 1)
    run = runs.get(unseen, "a run that the model has not seen")
    if not predicted.holds(run.kept_bytes):
        again = [runs.get(replace(unseen, repeat=repeat), "it lies outside its interval, again") for repeat in (2, 3)]
        run = sorted([run, *again], key=lambda one: one.kept_bytes)[1]
    return Confirmation(run, predicted)


def _further(runs: FitRuns, sizes: Sequence[int]) -> Iterator[list[DesignPoint]]:
    """The missing runs of the design, which may have a larger size, then repeats of all."""
    for round_number in range(_ROUNDS):
        points = [replace(one, repeat=one.repeat + round_number) for one in small_runs.points(runs.plan.varied, sizes)]
        yield [point for point in points if point not in runs.done]


def _sizes(runs: FitRuns, largest: int | None) -> list[int]:
    """Run the base at sizes that double, while all other runs at the next size fit into the time and the memory."""
    assert runs.plan.growth
    at_base, every = small_runs.base(runs.plan.varied), runs.plan.growth.sizes
    for place, size in enumerate(every, 1):
        run = runs.get(DesignPoint(at_base, size), f"size {place}")
        sizes, following = every[:place], every[place : place + 2]
        # No run takes more than twice as long, and keeps more than twice as much, with twice the input.
        expected_s = 2 * run.wall_s * (len(small_runs.points(runs.plan.varied, [*sizes, 2 * size])) - place + 2)
        out_of_time = place >= _LEAST_SIZES and expected_s > runs.left_s
        # One more size is left for the run that the model has not seen.
        is_largest = largest and (not following or following[-1] > largest)
        if out_of_time or is_largest or 4 * run.kept_bytes > run.free_bytes:
            return sizes
    return every


def _unseen(before: Answer, sizes: Sequence[int], largest: int | None) -> DesignPoint | None:
    """The point of the confirming run: the best setting, or the one that keeps least, twice as far."""
    assert before.lines
    chosen = before.best or min(before.lines, key=lambda line: line.memory.value if line.memory else math.inf)
    if not sizes:
        point = DesignPoint(chosen.setting, None)
        return None if any(run.point.setting == point.setting for run in before.runs) else point
    assert before.plan.growth
    larger = [size for size in before.plan.growth.sizes if sizes[-1] < size <= (largest or before.plan.growth.target)]
    return DesignPoint(chosen.setting, larger[0]) if larger else None


def _answer(runs: FitRuns, memory_bytes: int, confirmation: Confirmation | None = None, failed: str = "") -> Answer:
    """The answer from the runs so far, which is the same whenever they are replayed."""
    key = (*runs.done, bool(confirmation), failed)
    if key not in runs.answers:
        runs.answers[key] = _modelled(runs, memory_bytes, confirmation, failed)
    known: Answer = runs.answers[key]
    return known


def _modelled(runs: FitRuns, memory_bytes: int, confirmation: Confirmation | None, failed: str) -> Answer:
    plan, done = runs.plan, list(runs.done.values())
    memory = Model(list(plan.varied), [_reading(run, run.kept_bytes) for run in done if not _strays(run, done)])
    time = Model(list(plan.varied), [_reading(run, run.seconds) for run in done], shrinks=True)
    why = failed or _doubts(memory, plan, confirmation)
    lines = list(_lines(plan, memory_bytes, memory, time, why, done))
    fitting = [line for line in lines if line.fits]
    best = min(fitting, key=lambda line: line.time.value, default=None)
    unsure = None
    if any(line.memory is None for line in lines):
        at_target = any(line.runs_at_target for line in lines)
        unsure = why.replace(_LARGER, _RUN_IT) if why and at_target else why
        unsure = unsure or (f"{_WIDE}; {_RUN_IT}" if at_target else _TOO_WIDE)
    return Answer(plan, memory_bytes, lines, best, memory, done, confirmation, not why, unsure, runs.wall_s)


def _strays(run: FitRun, runs: Sequence[FitRun]) -> bool:
    """Whether a run alone differs from its repeats, which agree, by more than runs do."""
    alike = [one for one in runs if (one.point.setting, one.point.size) == (run.point.setting, run.point.size)]
    others = [one.kept_bytes for one in alike if one is not run]
    middle = statistics.median(others) if len(others) > 1 else run.kept_bytes
    return abs(run.kept_bytes / middle - 1) > _STRAY >= max(abs(one / middle - 1) for one in others or [middle])


def _reading(run: FitRun, value: float) -> FitReading:
    return FitReading(run.point.setting, run.point.size or 1, value)


def _doubts(memory: Model, plan: FactorPlan, confirmation: Confirmation | None) -> str | None:
    sizes = {reading.size for reading in memory.readings}
    if plan.growth and len(sizes) < _LEAST_SIZES:
        return f"growth is not understood from {len(sizes)} sizes: begin --grow lower, or give {_MORE}"
    if doubt := memory.doubt(plan.growth.name if plan.growth else ""):
        return f"{doubt}; {_LARGER}"
    if confirmation and not confirmation.holds:
        return f"the run that the model had not seen lies outside its interval; {_LARGER}"
    return None


def _lines(
    plan: FactorPlan, memory_bytes: int, memory: Model, time: Model, why: str | None, done: Sequence[FitRun]
) -> Iterator[AnswerLine]:
    size = plan.growth.target if plan.growth else None
    target, repeats = size or 1, _repeats(done)
    mapped_bytes = max(run.mapped_bytes for run in done)
    for setting in itertools.product(*plan.varied.values()):
        kept, seconds = None if why else memory.number(setting, target), time.predict(setting, target)
        here = [run for run in done if (run.point.setting, run.point.size) == (setting, size)]
        if here:
            kept, seconds = measured([run.kept_bytes for run in here], repeats), measured([run.seconds for run in here])
        if not kept:
            seen = max((run.kept_bytes for run in done if run.point.setting == setting), default=0)
            yield AnswerLine(setting, None, seconds, False if seen > memory_bytes else None, None)
            continue
        # The room of `memory_request`, or more where the interval is wider.
        kept_bytes = max(kept.high, kept.value + kept.value * ROOM_SHARE)
        ask = math.ceil((kept_bytes + mapped_bytes + ROOM_BYTES) / MIB) * MIB
        fits = True if ask <= memory_bytes else False if kept.low > memory_bytes else None
        yield AnswerLine(setting, kept, seconds, fits, ask, runs_at_target=len(here))


def _repeats(done: Sequence[FitRun]) -> list[list[float]]:
    """The memory of the runs of each point."""
    alike: dict[tuple[Setting, int | None], list[float]] = {}
    for run in done:
        alike.setdefault((run.point.setting, run.point.size), []).append(run.kept_bytes)
    return list(alike.values())


def as_json(result: Answer, confirmed: FitRun | None = None) -> dict[str, Any]:
    """The content of fit.json."""
    settings, best, last = [_setting(result, line) for line in result.lines], result.best, None
    if best and confirmed:
        last = {"outcome": confirmed.outcome, "limit_bytes": best.request_bytes, "kept_bytes": confirmed.kept_bytes}
    return {
        "memory_bytes": result.memory_bytes,
        "target": {result.plan.growth.name: result.target} if result.plan.growth else {},
        "times_as_far": round(result.times_as_far, 3),
        "settings": settings,
        "best": next((one for one, line in zip(settings, result.lines, strict=True) if line is best), None),
        "unsure_because": result.unsure_because,
        "parts": {name: round(value) for name, value in result.shares.items()},
        "confirmation": _confirmation(result),
        "confirmed": last,
        "runs": [
            result.plan.values(run.point.setting, run.point.size)
            | {"repeat": run.point.repeat, "kept_bytes": run.kept_bytes, "seconds": round(run.seconds, 3)}
            for run in result.runs
        ],
        "wall_s": round(result.wall_s, 1),
    }


def no_answer(reason: str) -> dict[str, Any]:
    """The content of fit.json without an answer."""
    return {"settings": [], "best": None, "unsure_because": reason}


def _setting(result: Answer, line: AnswerLine) -> dict[str, Any]:
    values = result.plan.values(line.setting, None) | _predicted(line.memory)
    return values | {
        "fits": line.fits,
        "request_bytes": line.request_bytes,
        "runs_at_target": line.runs_at_target,
        "seconds": round(line.time.value, 2),
        "per_second": round(result.target / line.time.value, 2) if result.target and line.time.value else None,
    }


def _predicted(memory: Prediction | None) -> dict[str, int | None]:
    numbers = (memory.value, memory.low, memory.high) if memory else ()
    return dict(itertools.zip_longest(("predicted_bytes", "low", "high"), map(round, numbers)))


def _confirmation(result: Answer) -> dict[str, Any] | None:
    if not result.confirmation:
        return None
    run, predicted = result.confirmation.run, result.confirmation.predicted
    values = result.plan.values(run.point.setting, run.point.size) | {"kept_bytes": run.kept_bytes}
    return values | _predicted(predicted) | {"inside": result.confirmation.holds}


def text(result: Answer, confirmed: FitRun | None = None) -> Iterator[str]:
    """The answer for the terminal."""
    growth = result.plan.growth
    if growth:
        seen = max(run.point.size or 0 for run in result.runs)
        far = f", predicted {result.times_as_far:.3g} times as far" if result.times_as_far > 1 else ""
        yield f"kept memory at {growth.name}={growth.target:,}: measured up to {seen:,}{far}"
    yield from _table(result)
    yield from _explained(result)
    if result.best and result.best.request_bytes:
        ask = result.best.request_bytes // MIB
        values = result.plan.values(result.best.setting, None)
        name = " ".join(f"{key}={value}" for key, value in values.items()) or "as it is"
        yield f"best: {name}, the shortest predicted time of what fits into {short_size(result.memory_bytes)}"
        yield f"#SBATCH --mem={ask}M"
        yield f"limits: {{memory: {ask}Mi}}"
    elif result.status == 1:
        yield f"none fits into {short_size(result.memory_bytes)}"
    else:
        yield f"no setting surely fits into {short_size(result.memory_bytes)}"
    if confirmed:
        took = f"kept {short_size(confirmed.kept_bytes)} in {duration(confirmed.seconds)}"
        done = confirmed.outcome == COMPLETED
        yield f"confirmed: completed with it, {took}" if done else "not confirmed: killed at it"


def _table(result: Answer) -> Iterator[str]:
    unit = [f"{result.plan.growth.name}/s"] if result.plan.growth else []
    rows = [[*result.plan.varied, "predicted", "90 % interval", "fits", "time", *unit]]
    for line in result.lines:
        memory = line.memory
        counted = f", measured, n = {line.runs_at_target}" if line.runs_at_target else ""
        interval = f"{short_size(memory.low)} to {short_size(memory.high)}{counted}" if memory else "-"
        predicted = [short_size(memory.value) if memory else "-", interval]
        speed = [f"{result.target / line.time.value:,.0f}" if line.time.value else "-"] if result.target else []
        rows.append([*map(str, line.setting), *predicted, WORDS[line.fits], duration(line.time.value), *speed])
    yield from in_columns(rows, left=0)


def _explained(result: Answer) -> Iterator[str]:
    if result.unsure_because:
        yield f"unsure: {result.unsure_because}"
    if result.best and result.best.memory and result.shares:
        shown = {name: value for name, value in result.shares.items() if value > _SHOWN * result.best.memory.value}
        yield "of which: " + ", ".join(f"{name} {short_size(value)}" for name, value in shown.items())
    if result.confirmation:
        run, predicted = result.confirmation.run, result.confirmation.predicted
        values = result.plan.values(run.point.setting, run.point.size)
        name = " ".join(f"{key}={value:,}" for key, value in values.items())
        inside = "inside" if result.confirmation.holds else "outside"
        interval = f"{short_size(predicted.low)} to {short_size(predicted.high)}"
        yield f"a run that the model had not seen, {name}: {short_size(run.kept_bytes)}, {inside} {interval}"
