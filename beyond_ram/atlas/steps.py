"""Steps between neighbouring releases: suspected in one pass, then confirmed or refuted in new environments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..analysis.rule import metric_of, must_be_decided
from ..decisions.rule import LOOKS, turns
from ..measure.compare import Pair, decide
from ..measure.compare import steps as steps_of
from ..measure.plan import Run
from ..measure.screen import ANSWER, OUTCOME, Interval, Screen, Step
from .bench import AGAIN

NUMBERS = {name: metric_of(name, times=1 if must_be_decided(name) else 2)
           for name in ("end_anon_bytes", "peak_anon_upper_bound_bytes", "duration_s", "cpu_s")}  # fmt: skip
METRICS = (*NUMBERS, OUTCOME, ANSWER)
CONFIRMED, REFUTED, ONCE = "confirmed", "not confirmed", "not repeated"
"""A step that was seen again, one that was not seen again, and one that was not repeated."""
RUNS = 2
"""Runs of a case with a release before steps are suspected."""
ROUNDS = LOOKS[2]
"""Maximum number of rounds to repeat a step."""


@dataclass(frozen=True)
class Seen:
    """A step, and whether it was seen again."""

    step: Step
    """By its fresh runs where it was seen again, else by those of the pass."""
    state: str


def neighbours(runs: Mapping[str, Sequence[Run]], versions: Sequence[str]) -> list[Step]:
    """The steps of a case that its pass suggests, between neighbouring releases with enough runs.

    A label with AGAIN is a neighbour of the last version.
    """
    tested = [version for version in versions if len(runs.get(version, ())) >= RUNS]
    screen = Screen(tested, NUMBERS, [run for version in tested for run in runs[version]], RUNS)
    every = (Interval(metric, *ends) for metric in METRICS for ends in pairwise(screen.tested(metric)))
    return [screen.step(one) for one in every if screen.suspects(one)]


def repeat(steps: Sequence[Step], run: Callable[[str, int], Run], seed: int, share: float = 1.0) -> list[Seen]:
    """Repeat steps between the same two releases, in an order that is drawn, with the first under a second name too.

    A step is confirmed if these fresh runs show it in the same direction, and none between the two names of the first
    release. `share`: 1/m if m pairs of a case are repeated.
    """
    first, second = steps[0].interval.first, steps[0].interval.second
    control = first + AGAIN if second != first + AGAIN else f"{second}2"
    names, runs = tuple(one.interval.metric for one in steps), list[Run]()
    pairs = Pair("again", first, second, names, share), Pair("control", control, first, names, 1.0)
    members = (control, first, second)
    for number in range(1, ROUNDS + 1):
        runs += [run(members[at], n) for at, n in turns(3, number, seed)]
        if number in LOOKS:
            decisions = [decide(pair, runs, NUMBERS, number) for pair in pairs]
            if not any(one.result == "undecided" for one in decisions[0].values()):
                break
    again, false = (
        {one.interval.metric: one for one in steps_of(pair, runs, NUMBERS, of)}
        for pair, of in zip(pairs, decisions, strict=True)
    )
    seen = []
    for step in steps:
        fresh = again.get(step.interval.metric)
        if fresh and step.interval.metric not in false and _same_way(step, fresh):
            seen.append(Seen(fresh, CONFIRMED))
        else:
            seen.append(Seen(step, REFUTED))
    return seen


def _same_way(first: Step, second: Step) -> bool:
    if first.interval.metric in (OUTCOME, ANSWER):
        return (first.first, first.second) == (second.first, second.second)
    return (float(first.second) > float(first.first)) == (float(second.second) > float(second.first))


def is_false(step: Step) -> bool:
    """Whether a step is between two names of one release."""
    return AGAIN in step.interval.second


def once(steps: Sequence[Step]) -> list[Seen]:
    """Steps that were not repeated."""
    return [Seen(step, ONCE) for step in steps]
