"""The search for steps, on simulated runs."""

import itertools
import random
from dataclasses import replace

import pytest

from beyond_ram.bisect.search import ANSWER, OUTCOME, RUNS_OF_OUTCOME, NotInstallableError, Run, Search

END, WALL = "end_kept_bytes", "duration_s"
MB = 1e6


class Fake:
    """A simulated script whose values are functions of the release's number."""

    def __init__(self, end=lambda n: 100 * MB, wall=lambda n: 2.0, outcome=lambda n: "completed", answer=lambda n: "a",
                 noise=(0.002, 0.08), missing=(), seed=0):  # fmt: skip
        self.end, self.wall, self.outcome, self.answer, self.noise = end, wall, outcome, answer, noise
        self.missing, self.random, self.clock = missing, random.Random(seed), itertools.count(0, 10)

    def __call__(self, version, number):
        place, at = int(version.split(".")[1]), next(self.clock)
        if place in self.missing:
            raise NotInstallableError("no solution")
        outcome = self.outcome(place)
        values = {END: self.end(place) * self._factor(0), WALL: self.wall(place) * self._factor(1)}
        answer = self.answer(place) if outcome == "completed" else None
        return Run(number, outcome, answer, values if outcome == "completed" else {}, at, at + 5)

    def _factor(self, which):
        return self.random.lognormvariate(0, self.noise[which])


def search(fake, releases=40, budget_s=1e9, yanked=()):
    bisection = Search([f"1.{n}" for n in range(releases)], [END, WALL, ANSWER, OUTCOME], fake, yanked)
    bisection.run(budget_s, seed=1)
    return bisection


def steps(bisection, metric=END):
    return [(s.interval.first, s.interval.second) for s in bisection.steps() if s.interval.metric == metric]


def count(bisection):
    return sum(map(len, bisection.runs.values()))


@pytest.mark.parametrize("at", [1, 7, 20, 39])
def test_step_is_found_between_neighbouring_releases(at):
    bisection = search(Fake(end=lambda n: (150 if n >= at else 100) * MB))
    assert steps(bisection) == [(f"1.{at - 1}", f"1.{at}")]
    assert not bisection.open() and count(bisection) < 60


def test_several_steps_and_a_return_are_found():
    bisection = search(Fake(end=lambda n: (100 + 50 * (n >= 9) + 60 * (n >= 23) - 110 * (n >= 31)) * MB))
    assert steps(bisection) == [("1.8", "1.9"), ("1.22", "1.23"), ("1.30", "1.31")]


def test_step_of_the_wall_clock_is_found():
    bisection = search(Fake(wall=lambda n: 7.0 if n >= 17 else 2.0), 24)
    assert steps(bisection, WALL) == [("1.16", "1.17")] and steps(bisection) == []


def test_value_that_some_runs_lack_is_no_agreement():
    fake = Fake()

    def unseen(version, number):
        run = fake(version, number)
        return run if version != "1.2" else replace(run, values={WALL: run.values[WALL]})

    bisection = search(unseen, 4)
    assert not bisection.steps() and bisection.unknown() == {END: len(bisection.runs["1.2"])}
    assert not search(Fake(), 4).unknown()


def test_outcomes_and_answers_are_bisected():
    killed = search(Fake(outcome=lambda n: "killed_at_limit" if 12 <= n < 30 else "completed"))
    assert steps(killed, OUTCOME) == [("1.11", "1.12"), ("1.29", "1.30")]
    other = search(Fake(answer=lambda n: "b" if n >= 33 else "a"))
    assert steps(other, ANSWER) == [("1.32", "1.33")]


@pytest.mark.parametrize("releases", [2, 20])
@pytest.mark.parametrize("share", [0.05, 0.35])
def test_failures_by_chance_rarely_give_a_step(releases, share):
    """At most 2 of 50 searches over equal releases find a step."""

    def is_step(seed):
        chance = random.Random(seed)
        fails = Fake(outcome=lambda n: "failed: RuntimeError" if chance.random() < share else "completed", seed=seed)
        return bool(steps(search(fails, releases, budget_s=500), OUTCOME))

    assert sum(map(is_step, range(50))) <= 2


def test_step_of_outcomes_has_enough_runs_of_both_sides():
    (step,) = search(Fake(outcome=lambda n: "killed_at_limit" if n else "completed"), 2).steps()
    assert (step.first, step.second) == ("completed", "killed_at_limit") and step.n == RUNS_OF_OUTCOME


def test_random_answers_are_not_compared():
    numbers = itertools.count()
    bisection = search(Fake(answer=lambda n: str(next(numbers))), 5)
    assert not bisection.answers_agree and steps(bisection, ANSWER) == []


def test_releases_that_cannot_be_installed_are_skipped():
    bisection = search(Fake(end=lambda n: (150 if n >= 20 else 100) * MB, missing=(18, 19, 20)))
    assert steps(bisection) == [("1.17", "1.21")] and {"1.19", "1.20"} & bisection.skipped.keys()


def test_quiet_releases_cost_two_runs():
    bisection = search(Fake(noise=(0.002, 0.005)), 9)
    assert bisection.steps() == [] and {len(runs) for runs in bisection.runs.values()} == {2}


@pytest.mark.slow
def test_equal_releases_rarely_give_a_step():
    """At most 5 of 100 searches over equal releases find a step."""
    false_steps = sum(bool(search(Fake(seed=seed, noise=(0.02, 0.15)), 2, budget_s=500).steps()) for seed in range(100))
    assert false_steps <= 5


def test_yanked_releases_run_after_their_neighbours():
    bad = Fake(end=lambda n: (150 if n == 17 else 100) * MB)
    assert steps(search(bad)) == [], "1.17 was among the first releases"
    bisection = search(bad, yanked=["1.17", "1.30"])
    assert steps(bisection) == [("1.16", "1.17"), ("1.17", "1.18")] and "1.30" in bisection.runs


def test_budget_may_leave_out_yanked_releases():
    clock = itertools.count(0, 1)
    bisection = Search([f"1.{n}" for n in range(40)], [END], Fake(), ["1.17"])
    bisection.run(18.5, seed=1, clock=lambda: next(clock))
    assert "1.17" not in bisection.runs and not bisection.out_of_budget and not bisection.open()


def test_budget_ends_the_search():
    slow = Fake(end=lambda n: (150 if n >= 20 else 100) * MB)
    clock = itertools.count(0, 100)
    bisection = Search([f"1.{n}" for n in range(40)], [END], slow)
    bisection.run(1.0, seed=1, clock=lambda: next(clock))
    assert bisection.out_of_budget and steps(bisection) == [] and count(bisection) == 9
