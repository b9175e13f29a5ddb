"""The search for steps over releases: a coarse pass, then each interval whose ends differ. It runs nothing itself.

A step that the coarse pass has confirmed is followed down to two neighbouring releases and does not vanish by being
searched: the intervals inside it are no further questions. The two neighbours are weighed again, in turn, until the
step between them is confirmed too.
"""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .. import rounds
from ..analysis.decide import Decision, Question, Side, decide
from ..analysis.ladders import large
from ..analysis.sequential import AT, SHARE, must_be_decided
from ..metrics import METRICS
from ..rounds import Block

OUTCOME, ANSWER = "outcome", "answer"
"""What is no number: how a run ended, and what it printed and wrote."""
COARSE = 9
"""Releases of the coarse pass, its ends among them."""
RUNS, RUNS_OF_STEP = 2, 3
"""Runs of a release in which nothing changes, and of both sides of a step."""
RUNS_OF_OUTCOME = next(n for n in itertools.count(RUNS_OF_STEP) if 2 / math.comb(2 * n, n) < SHARE)
"""Runs of both sides of a step of outcomes: the fewest for which full agreement of each side is beyond chance in
Fisher's exact test. Otherwise a script that fails now and then would have steps."""
LIKELY = 0.1
"""A clock that has been read a few times is read again where its uncorrected p is below this."""
COMPLETED = "completed"
REQUIRED = tuple(name for name, metric in METRICS.items() if metric.required)


@dataclass(frozen=True)
class Run:
    """One run of the script with one release."""

    round: int
    outcome: str
    answer: str | None = None
    """The hash of its answer; None if unknown."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers of a run that completed, by metric."""
    started_at: float = 0.0
    ended_at: float = 0.0


class NotInstallableError(RuntimeError):
    """A release that cannot be installed beside the rest; the text is the reason."""


@dataclass(frozen=True)
class Interval:
    """Two releases between which a metric may differ."""

    metric: str
    first: str
    second: str


@dataclass(frozen=True)
class Step:
    """Two neighbouring releases between which a metric differs."""

    interval: Interval
    first: float | str
    second: float | str
    decision: Decision | None
    """None for outcomes and answers, which all runs agree on."""
    n: int


@dataclass
class Search:
    """A search over some releases, oldest first. `weigh` runs the script once with a release, as a repeat.

    It raises NotInstallableError.
    """

    releases: list[str]
    metrics: Sequence[str]
    weigh: Callable[[str, int], Run]
    yanked: Sequence[str] = ()
    """Those that run once nothing else is left to find out, because something was wrong with them."""
    needed: Sequence[str] = REQUIRED
    """The metrics that have to be known of each completed run to say that nothing changed."""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Releases that cannot be installed, with the reason."""
    followed: list[Interval] = field(default_factory=list)
    """Intervals in which a step is known to be."""
    out_of_budget: bool = False

    def run(self, budget_s: float, seed: int, used_s: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Search until nothing is left to find out, or the budget is used up. The first round always runs whole."""
        coarse = Block("coarse", tuple(_spread(self.releases, COARSE)))
        for done in rounds.run([coarse], self._once, self._wanted, budget_s, seed=seed, used_s=used_s, clock=clock):
            self.out_of_budget = any(not {*block.members} <= {*self.yanked} for block in done.open)

    def _once(self, version: str, repeat: int) -> None:
        if version in self.skipped:
            return
        try:
            self.runs.setdefault(version, []).append(self.weigh(version, repeat))
        except NotInstallableError as reason:
            self.skipped[version] = str(reason)
            del self.runs[version]

    def _wanted(self, repeat: int) -> list[Block[str]]:
        """What to run in the next round; what is no clock comes first, and what may be a step last."""
        self._look()
        once = [version for version, runs in self.runs.items() if len(runs) < RUNS]
        blocks = {tuple(once): "few"} if once else {}
        for interval in sorted(self.followed, key=lambda one: not _decisive(one.metric)):
            ends, inside = (interval.first, interval.second), self._inside(interval)
            if inside:
                middle = inside[len(inside) // 2]
                # Clocks are compared in pairs that ran together.
                blocks[(middle,) if _decisive(interval.metric) else (ends[0], middle, ends[1])] = interval.metric
            elif self._wants_more(interval):
                blocks[ends] = interval.metric
        if not blocks:
            blocks = {
                (one.first, one.second): one.metric for one, decision in self._coarse() if self._may_be(one, decision)
            }
        if not blocks:
            blocks = {(one,): "yanked" for one in self.yanked if one not in self.runs and one not in self.skipped}
        return [Block(f"{metric} {' '.join(versions)}", versions) for versions, metric in blocks.items()]

    def _may_be(self, interval: Interval, decision: Decision | None) -> bool:
        """Whether more runs of both sides may show a step; of a clock, only where it is likely."""
        if decision is None or decision.n >= AT[-1] or self._is_followed(interval):
            return False
        likely = _decisive(interval.metric) or decision.n < AT[2] or decision.p < LIKELY
        return likely and not self._is_step(interval, decision) and matters(*self._change(interval), interval.metric)

    def _wants_more(self, interval: Interval) -> bool:
        """Whether the two neighbours of a step have to run again."""
        n = self._pairs(interval)
        if n < RUNS_OF_STEP or interval.metric in (OUTCOME, ANSWER):
            return n < (RUNS_OF_OUTCOME if interval.metric == OUTCOME else RUNS_OF_STEP)
        return not self._is_step(interval, self._decision(interval)) and n < AT[-1]

    # What the runs say.

    def _look(self) -> None:
        """Follow what differs: coarse intervals that are confirmed, and in a followed one the halves that differ."""
        for interval, decision in self._coarse():
            if self._differs(interval, decision) and not self._is_followed(interval):
                self.followed.append(interval)
        self.followed = [
            one for one in self.followed if one.metric not in (OUTCOME, ANSWER) or self._differs(one, None)
        ]
        for interval in list(self.followed):
            tested = self._tested(interval.metric)
            between = tested[tested.index(interval.first) : tested.index(interval.second) + 1]
            if len(between) > 2:
                self.followed.remove(interval)
                halves = [Interval(interval.metric, one, two) for one, two in pairwise(between)]
                self.followed += self._worth(halves)

    def _worth(self, halves: list[Interval]) -> list[Interval]:
        """The halves in which the step may be: those whose change matters, else the one with the largest."""
        if halves[0].metric in (OUTCOME, ANSWER):
            return [half for half in halves if self._change(half)[0] != self._change(half)[1]]
        changes = {half: self._change(half) for half in halves}
        worth = [half for half, change in changes.items() if matters(*change, half.metric)]
        return worth or [max(halves, key=lambda half: abs(float(changes[half][1]) - float(changes[half][0])))]

    def _is_followed(self, interval: Interval) -> bool:
        place = self.releases.index
        return any(
            one.metric == interval.metric
            and place(one.first) < place(interval.second)
            and place(interval.first) < place(one.second)
            for one in self.followed
        )

    def _coarse(self) -> list[tuple[Interval, Decision | None]]:
        """All intervals between tested releases that are next to each other, decided together; numbers, then others."""
        intervals = [
            Interval(metric, one, two)
            for metric in self.metrics
            for tested in [self._tested(metric)]
            for one, two in pairwise(tested)
        ]
        numbers = [interval for interval in intervals if interval.metric not in (OUTCOME, ANSWER)]
        decisions = decide([self._question(one) for one in numbers], SHARE, 1 - SHARE)
        others = [(one, None) for one in intervals if one.metric in (OUTCOME, ANSWER)]
        return [*others, *zip(numbers, decisions, strict=True)]

    def _differs(self, interval: Interval, decision: Decision | None) -> bool:
        if decision is not None:
            return self._is_step(interval, decision)
        agree = self.answers_agree if interval.metric == ANSWER else self.outcomes_agree(interval)
        first, second = self._change(interval)
        return bool(agree and first != second)

    def _is_step(self, interval: Interval, decision: Decision) -> bool:
        differs = decision.confirmed and decision.result != "same"
        return bool(differs and matters(*self._change(interval), interval.metric))

    def _decision(self, interval: Interval) -> Decision:
        """The decision of one followed interval, among all neighbours that are followed in its metric."""
        same = [one for one in self.followed if one.metric == interval.metric and not self._inside(one)]
        decisions = decide([self._question(one) for one in same], SHARE, 1 - SHARE)
        return decisions[same.index(interval)]

    def _question(self, interval: Interval) -> Question:
        return Question(self._side(interval.first, interval.metric), self._side(interval.second, interval.metric),
                        interval.metric)  # fmt: skip

    def _side(self, version: str, metric: str) -> Side:
        runs = [run for run in self.runs[version] if metric in run.values]
        completed = sum(run.outcome == COMPLETED for run in self.runs[version])
        return Side(
            tuple(run.values[metric] for run in runs), tuple(run.round for run in runs),
            tuple(run.started_at for run in runs), tuple(run.ended_at for run in runs),
            unknown=completed - len(runs),
        )  # fmt: skip

    def _change(self, interval: Interval) -> tuple[Any, Any]:
        if interval.metric == OUTCOME:
            return self.outcome(interval.first), self.outcome(interval.second)
        if interval.metric == ANSWER:
            return self.answer(interval.first), self.answer(interval.second)
        return self.value(interval.first, interval.metric), self.value(interval.second, interval.metric)

    def _pairs(self, interval: Interval) -> int:
        """Runs of the side that has fewer."""
        return min(len(self._side(version, interval.metric).values) if interval.metric in METRICS
                   else len(self.runs[version]) for version in (interval.first, interval.second))  # fmt: skip

    def _tested(self, metric: str) -> list[str]:
        """The tested releases that have a metric, oldest first."""
        tested = [version for version in self.releases if self.runs.get(version)]
        if metric == OUTCOME:
            return tested
        if metric == ANSWER:
            return [version for version in tested if self.answer(version)] if self.answers_agree else []
        return [version for version in tested if any(metric in run.values for run in self.runs[version])]

    def _inside(self, interval: Interval) -> list[str]:
        """The releases between two that are not tested yet, and can be."""
        first, second = (self.releases.index(version) for version in (interval.first, interval.second))
        between = self.releases[first + 1 : second]
        return [version for version in between if version not in self.runs and version not in self.skipped]

    # For the report.

    @property
    def answers_agree(self) -> bool:
        """Whether the runs of each release give the same answer; else answers cannot be compared."""
        groups = [{run.answer for run in runs if run.answer} for runs in self.runs.values()]
        return all(len(group) < 2 for group in groups)

    def outcomes_agree(self, interval: Interval) -> bool:
        """Whether all runs of each side end in the same way; else the outcomes of two releases cannot be compared."""
        return all(len({run.outcome for run in self.runs[one]}) == 1 for one in (interval.first, interval.second))

    def outcome(self, version: str) -> str:
        """How the runs of a release ended."""
        return " or ".join(sorted({run.outcome for run in self.runs[version]}))

    def answer(self, version: str) -> str:
        """The answer of a release; empty if it has none."""
        return next((run.answer for run in self.runs[version] if run.answer), "")

    def value(self, version: str, metric: str) -> float:
        """The median over the runs of a release."""
        return statistics.median(self._side(version, metric).values)

    def steps(self) -> list[Step]:
        """The confirmed steps between neighbours, oldest first."""
        confirmed = []
        for interval in self.followed:
            if self._inside(interval):
                continue
            decision = None if interval.metric in (OUTCOME, ANSWER) else self._decision(interval)
            if decision is None or self._is_step(interval, decision):
                confirmed.append(Step(interval, *self._change(interval), decision, self._pairs(interval)))
        order = self.releases.index
        return sorted(
            confirmed, key=lambda step: (order(step.interval.first), list(self.metrics).index(step.interval.metric))
        )

    def candidates(self) -> list[Step]:
        """Steps between tested releases that are next to each other, the unconfirmed but likely ones too."""
        return [
            Step(interval, *self._change(interval), decision, self._pairs(interval))
            for interval, decision in self._coarse()
            if self._differs(interval, decision) or self._is_likely(interval, decision)
        ]

    def _is_likely(self, interval: Interval, decision: Decision | None) -> bool:
        if decision is None or not must_be_decided(interval.metric):  # wall clocks show how busy the machine was
            return False
        return decision.p < LIKELY and matters(*self._change(interval), interval.metric)

    def unknown(self) -> dict[str, int]:
        """The metrics that completed runs should have and have not, with the number of these runs."""
        completed = [run for runs in self.runs.values() for run in runs if run.outcome == COMPLETED]
        missing = {
            name: sum(name not in run.values for run in completed) for name in self.metrics if name in self.needed
        }
        return {name: number for name, number in missing.items() if number}

    def open(self) -> list[Interval]:
        """Intervals in which a step is, or may be, that were not narrowed down or confirmed."""
        located = {step.interval for step in self.steps()}
        maybe = [
            interval
            for interval, decision in self._coarse()
            if _decisive(interval.metric) and self._may_be(interval, decision)
        ]  # fmt: skip
        return [*(interval for interval in self.followed if interval not in located), *maybe]


def _spread(releases: Sequence[str], most: int) -> list[str]:
    """Up to `most` releases: both ends, and others at even distances."""
    if len(releases) <= most:
        return list(releases)
    places = sorted({round(number * (len(releases) - 1) / (most - 1)) for number in range(most)})
    return [releases[place] for place in places]


def _decisive(metric: str) -> bool:
    """Whether a metric is no clock: a busy machine shows in those."""
    return metric in (OUTCOME, ANSWER) or (must_be_decided(metric) and METRICS[metric].unit != "s")


def matters(first: float | str, second: float | str, metric: str) -> bool:
    """Whether a change is large enough to matter; a clock has to change by twice as much."""
    if metric in (OUTCOME, ANSWER):
        return first != second
    return large(float(first), float(second), metric, 2 if METRICS[metric].unit == "s" else 1)
