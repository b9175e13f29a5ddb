"""A search for steps over ordered sides, such as the releases of a package: the policy of `bisect`.

1. **Screen**: some sides run twice. Where two neighbours differ by more than noise explains, the side in the middle
   runs too, down to two sides with none between them.
2. **Confirm**: the two sides of each suspected step run again, in an order that is drawn. The rule of decision gets
   these fresh runs alone, and each pair its share of the level. So the screen decides what is asked, and never what is
   answered, and at most 5 % of searches have a false step.
3. **Ends**: without a step, the first and the last side are compared in the same way. If they differ, the step is
   looked for where the runs of the screen before and after it differ most, and confirmed.
"""

import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..decisions.rule import LOOKS, Decision, MetricRule, turns
from .compare import Pair, decide, metric_in, steps
from .plan import NOT_INSTALLABLE, Block, Member, Run
from .screen import ANSWER, OUTCOME, Interval, Screen, Step, spread

COARSE = 9
"""Sides of the first pass, the ends among them."""
RUNS, MORE_RUNS = 2, 6
"""Runs of a side in the screen; and where the ends differ although the screen has shown nothing."""
LATE_FEWEST = LOOKS[2]
"""Runs of each of two sides before they are the same where the ends differ: a step is near."""
CLOCK_LOOKS, LIKELY = (LOOKS[2], LOOKS[4]), 0.1
"""A clock alone keeps a pair open until the first look; until the second with a p below this."""
_SUSPECTED, _BEHIND_ENDS = 0.8, 0.2
"""Shares of the level."""
SCREEN, _AGAIN = "screen", "screen behind the ends"


@dataclass
class Search:
    """The policy. Sides are in order; `metrics` are numbers, of which `clocks` keep no search open."""

    case: str
    sides: Sequence[str]
    metrics: Mapping[str, MetricRule]
    clocks: frozenset[str]
    seed: int
    words: Sequence[str] = (OUTCOME, ANSWER)
    doubted: Sequence[str] = ()
    """Sides that the first pass has too, such as releases that were yanked."""
    most: int = LOOKS[-1]
    """Runs of each side of a pair, after which it stays undecided."""
    ends_too: bool = True
    """Whether the first and the last side are compared where no step is known."""
    reported: Callable[[Iterable[str]], tuple[Mapping[str, MetricRule], frozenset[str]]] | None = None
    """Further metrics among the values of runs, and which of these are clocks."""
    is_useless: Callable[[Sequence[Run]], bool] | None = None
    """Whether runs of both ends, which then run first, show that the sides are not tried by them."""
    runs: Sequence[Run] = ()
    _decided: dict[tuple[Pair, int], dict[str, Decision]] = field(default_factory=dict)
    _screened_runs: int = -1

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The blocks of the next round."""
        self._take(runs)
        if self.is_useless and self.is_useless(runs):
            return []
        if blocks := self._screening(self.screen, self.followed, SCREEN):
            return blocks
        if blocks := self._confirming(self.pairs):
            return blocks
        if blocks := self._confirming(self.ends):
            return blocks
        if not self._behind_ends:
            return []
        more = self._screening(self._all, self._behind_ends, _AGAIN)
        return more or self._confirming(self.late_pairs)

    def _take(self, runs: Sequence[Run]) -> None:
        """Use these runs from now on. What rests on the screen stays while it gets no more runs and no metric."""
        before = self._screened_runs, len(self.metrics)
        self.runs = list(runs)
        if self.reported:
            metrics, clocks = self.reported(dict.fromkeys(name for run in runs for name in run.values))
            self.metrics, self.clocks = {**self.metrics, **metrics}, self.clocks | clocks
        self._screened_runs = sum(run.block in (SCREEN, _AGAIN) or run.outcome == NOT_INSTALLABLE for run in runs)
        same = (self._screened_runs, len(self.metrics)) == before
        of_screen = () if same else ("screen", "_all", "followed", "pairs")
        for name in (*of_screen, "skipped", "ends", "_behind_ends", "late_pairs"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def skipped(self) -> dict[str, str]:
        """Sides that cannot be built, with the reason."""
        return {run.member.side: run.reason for run in self.runs if run.outcome == NOT_INSTALLABLE}

    # The screen.

    @functools.cached_property
    def screen(self) -> Screen:
        return self._screened(RUNS, SCREEN)

    @functools.cached_property
    def _all(self) -> Screen:
        return self._screened(MORE_RUNS, SCREEN, _AGAIN)

    def _screened(self, fewest: int, *blocks: str) -> Screen:
        runs = [run for run in self.runs if run.block in blocks and run.outcome != NOT_INSTALLABLE]
        return Screen(self.sides, self.metrics, runs, fewest, frozenset(self.skipped))

    @property
    def _first_pass(self) -> list[str]:
        chosen = {*spread(self.sides, COARSE), *self.doubted}
        return [side for side in self.sides if side in chosen and side not in self.skipped]

    @functools.cached_property
    def followed(self) -> list[Interval]:
        """What the screen suspects, as narrow as its runs are."""
        return [one for metric in (*self.metrics, *self.words)
                for one in self.screen.suspected(metric, self._first_pass)]  # fmt: skip

    def _screening(self, screen: Screen, followed: Iterable[Interval], name: str) -> list[Block]:
        if self._are_two:
            return []
        fewest = min(map(screen.count, self._first_pass), default=screen.fewest)
        if fewest < screen.fewest:
            sides = [side for side in self._first_pass if screen.count(side) == fewest]
            ends = [side for side in sides if side in (self._first_pass[0], self._first_pass[-1])]
            return [self._block(name, ends if self.is_useless and ends and not fewest else sides, not fewest)]
        beside: dict[str, list[str]] = {}
        for one in followed:
            middle = screen.middle(one)
            if middle and screen.count(middle) < screen.fewest:  # clocks are compared in runs that follow one another
                beside.setdefault(middle, []).extend([one.first, one.second] if one.metric in self.clocks else [])
        return [self._block(name, [middle, *ends]) for middle, ends in beside.items()]

    def _block(self, name: str, sides: Iterable[str], must: bool = False) -> Block:
        members = [Member(self.case, side) for side in dict.fromkeys(sides)]
        random.Random(f"{self.seed} {len(self.runs)} {members[0].side}").shuffle(members)
        return Block(name, tuple(members), must)

    # Fresh runs.

    @functools.cached_property
    def pairs(self) -> list[Pair]:
        """The neighbours that the screen suspects; of two sides, these."""
        if self._are_two:
            return self._of_ends()
        return self._pairs("confirm", self.screen, self.followed, _SUSPECTED)

    @functools.cached_property
    def ends(self) -> list[Pair]:
        """The first and the last side, where no step is known."""
        known = not self.ends_too or any(self.steps_of(pair) for pair in self.pairs)
        return [] if known else self._of_ends()

    @property
    def _are_two(self) -> bool:
        sides = self._first_pass
        return len(sides) == 2 and not self._all.middle(Interval(OUTCOME, *sides))

    def _of_ends(self) -> list[Pair]:
        sides = self._first_pass
        metrics = (*self.metrics, *self.words)
        return [Pair(f"ends {sides[0]} {sides[-1]}", sides[0], sides[-1], metrics, 1.0)] if len(sides) > 1 else []

    @functools.cached_property
    def _behind_ends(self) -> list[Interval]:
        """Where a step is most likely in what the ends differ in."""
        metrics = [step.interval.metric for pair in self.ends for step in self.steps_of(pair)]
        return [self._all.split(metric) for metric in metrics if len(self._all.tested(metric)) > 1]

    @functools.cached_property
    def late_pairs(self) -> list[Pair]:
        """The neighbours that only the ends have led to."""
        confirming = {(pair.first, pair.second, metric) for pair in self.pairs for metric in pair.metrics}
        late = [one for one in self._behind_ends if (one.first, one.second, one.metric) not in confirming]
        pairs = self._pairs("confirm behind the ends", self._all, late, _BEHIND_ENDS)
        return [replace(pair, fewest=LATE_FEWEST) for pair in pairs]

    def _pairs(self, name: str, screen: Screen, intervals: Iterable[Interval], share: float) -> list[Pair]:
        places: dict[tuple[str, str], dict[str, None]] = {}
        for one in intervals:
            if not screen.middle(one):
                places.setdefault((one.first, one.second), {})[one.metric] = None
        return [Pair(f"{name} {first} {second}", first, second, tuple(metrics), share / len(places))
                for (first, second), metrics in places.items()]  # fmt: skip

    def _confirming(self, pairs: Iterable[Pair]) -> list[Block]:
        """One more round of all pairs that are open."""
        blocks = []
        for pair in filter(self._is_open, pairs):
            order = turns(2, self._n(pair) + 1, random.Random(f"{self.seed} {pair.name}").getrandbits(32))
            members = tuple(Member(self.case, (pair.first, pair.second)[at]) for at, _ in order)
            blocks.append(Block(pair.name, members, must=not self.runs))
        return blocks

    def _n(self, pair: Pair) -> int:
        """Rounds of a pair."""
        return len(self._fresh(pair)) // 2

    def _is_open(self, pair: Pair) -> bool:
        n = self._n(pair)
        if n >= self.most or {pair.first, pair.second} & self.skipped.keys():
            return False
        if n not in LOOKS:
            return True
        undecided = {name: one for name, one in self.decisions(pair).items() if one.result == "undecided"}
        clocks = [one for name, one in undecided.items() if name in self.clocks]
        likely = any(n < CLOCK_LOOKS[one.p < LIKELY] for one in clocks) and pair not in self.ends
        return likely or len(clocks) < len(undecided)

    def decisions(self, pair: Pair) -> dict[str, Decision]:
        """The decisions at the last look at a pair."""
        n = max((look for look in LOOKS if look <= self._n(pair)), default=0)
        if (pair, n) not in self._decided:
            self._decided[pair, n] = decide(pair, self._fresh(pair), self.metrics, n)
        return self._decided[pair, n]

    def _fresh(self, pair: Pair) -> list[Run]:
        return [run for run in self.runs if run.block == pair.name]

    def steps_of(self, pair: Pair) -> list[Step]:
        """The steps between the sides of a pair, one for each metric that changed."""
        return steps(pair, self._fresh(pair), self.metrics, self.decisions(pair))

    # The answer.

    def steps(self) -> list[Step]:
        """All steps, in the order of the sides."""
        every = [step for pair in (*self.pairs, *self.late_pairs) for step in self.steps_of(pair)]
        names = [*self.metrics, *self.words]
        return sorted(every, key=lambda one: (self.sides.index(one.interval.first), names.index(one.interval.metric)))

    def open(self) -> list[Interval]:
        """Where a step is, or may be, that is not decided. Clocks are left out."""
        known = [step.interval for step in self.steps()]
        places = {(pair.first, pair.second): pair for pair in (*self.pairs, *self.late_pairs)}
        undecided = list[Interval]()
        for one in dict.fromkeys((*self.followed, *self._behind_ends)):
            pair = places.get((one.first, one.second))
            results = [of.result for name, of in (self.decisions(pair).items() if pair else ())
                       if metric_in(name, self.metrics) == one.metric]  # fmt: skip
            if one not in known and one.metric not in self.clocks and (not results or "undecided" in results):
                undecided.append(one)
        if not known:
            undecided += [step.interval for pair in self.ends for step in self.steps_of(pair)
                          if step.interval.metric not in self.clocks]  # fmt: skip
        return list(dict.fromkeys(undecided))

    def undecided(self) -> list[str]:
        """The metrics, clocks left out, in which it is not decided whether the ends are the same."""
        undecided = [metric_in(name, self.metrics) for pair in self.ends for name, one in self.decisions(pair).items()
                     if one.result == "undecided" and name not in self.clocks]  # fmt: skip
        return list(dict.fromkeys(undecided))

    def same(self) -> tuple[list[str], int]:
        """The metrics in which the ends are the same, after how many runs of each; none if one of them that is no clock
        is not."""
        for pair in self.ends:
            of = self.decisions(pair)
            if of and all(one.result == "same" for name, one in of.items() if name not in self.clocks):
                same = [metric_in(name, self.metrics) for name, one in of.items() if one.result == "same"]
                return list(dict.fromkeys(same)), min(one.n for one in of.values())
        return [], 0
