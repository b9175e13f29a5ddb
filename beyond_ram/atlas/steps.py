"""Steps between neighbouring releases: seen in one pass, then repeated in new environments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..analysis.decide import AT_LEAST
from ..bisect.search import ANSWER, OUTCOME, Run, Search, Step
from .bench import AGAIN

METRICS = ("end_anon_bytes", "peak_anon_upper_bound_bytes", "duration_s", "cpu_s", OUTCOME, ANSWER)
CONFIRMED, REFUTED, ONCE = "confirmed", "not confirmed", "not repeated"
"""A step that was seen again, one that was not seen again, and one that was not repeated."""
ROUNDS = 8
"""Maximum number of rounds to repeat a step."""


@dataclass(frozen=True)
class Seen:
    """A step, and whether it was seen again."""

    step: Step
    state: str
    repeated: Step | None = None
    """The step as seen in the repetition."""


def neighbours(runs: Mapping[str, Sequence[Run]], versions: Sequence[str]) -> list[Step]:
    """The steps of a case between neighbouring releases that ran at least twice, including likely steps.

    Two runs cannot confirm most steps, so likely ones count here and `repeat` decides. A label with AGAIN is a
    neighbour of the last version.
    """
    search = Search([one for one in versions if len(runs.get(one, ())) >= AT_LEAST], METRICS, _none)
    search.runs = {version: list(runs[version]) for version in search.releases}
    return search.candidates()


def _none(version: str, number: int) -> Run:
    raise AssertionError("all runs are there")


def repeat(steps: Sequence[Step], run: Callable[[str, int], Run], seed: int) -> list[Seen]:
    """Repeat steps between the same two releases, alternating both sides, with the first release under a second name
    too.

    A step is confirmed if it is seen again in the same direction, and no step is seen between the two names of the
    first release.
    """
    first, second = steps[0].interval.first, steps[0].interval.second
    control = first + AGAIN if second != first + AGAIN else f"{second}2"
    spent = [0.0]

    def timed(version: str, number: int) -> Run:
        # A run that is read from disk counts with the time at which it was weighed.
        again = run(version, number)
        spent[0] += again.ended_at - again.started_at
        return again

    for version in (second, first, control):  # the first round is in the other order
        timed(version, 1)
    budget_s, spent[0] = ROUNDS * spent[0], 0.0
    search = Search([control, first, second], list(dict.fromkeys(one.interval.metric for one in steps)), timed)
    search.run(budget_s, seed, clock=lambda: spent[0])
    again = {one.interval: one for one in search.steps()}
    false = {interval.metric for interval in again if interval.first == control}
    seen = []
    for step in steps:
        repeated = again.get(step.interval)
        good = repeated is not None and _same_way(step, repeated) and step.interval.metric not in false
        seen.append(Seen(step, CONFIRMED if good else REFUTED, repeated if good else None))
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
