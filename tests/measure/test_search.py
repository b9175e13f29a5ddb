"""The search for steps, on simulated runs."""

import itertools
import random
from dataclasses import replace

import pytest

from beyond_ram.analysis.rule import searched_reports
from beyond_ram.decisions.rule import LOOKS, MetricRule
from beyond_ram.measure.plan import COMPLETED, NOT_INSTALLABLE, Run
from beyond_ram.measure.screen import ANSWER, OUTCOME
from beyond_ram.measure.search import RUNS, Search
from beyond_ram.measure.simulate import search_rates, searches

MB = 1e6
METRICS = {"kept": MetricRule(floor=8 * MB), "wall": MetricRule(share=0.04, floor=0.2)}


class Fake:
    """A simulated script. Its values are functions of the release's number."""

    def __init__(
        self,
        kept=lambda n: 100 * MB,
        wall=lambda n: 2.0,
        outcome=lambda n: COMPLETED,
        answer=lambda n: "a",
        noise=(0.002, 0.02),
        missing=(),
        seed=0,
    ):
        self.kept, self.wall, self.outcome, self.answer, self.noise = kept, wall, outcome, answer, noise
        self.missing, self.random = missing, random.Random(seed)

    def __call__(self, member, number, block):
        place = int(member.side.split(".")[1])
        if place in self.missing:
            return Run(member, number, block, NOT_INSTALLABLE, "no solution")
        outcome = self.outcome(place)
        values = {"kept": self.kept(place) * self._factor(0), "wall": self.wall(place) * self._factor(1)}
        completed = outcome == COMPLETED
        return Run(member, number, block, outcome, "", self.answer(place) if completed else None,
                   values if completed else {})  # fmt: skip

    def _factor(self, which):
        return self.random.lognormvariate(0, self.noise[which])


def search(once, releases=40, most=10**6, **more):
    """A whole search, or its first `most` runs."""
    policy = Search("case", [f"1.{n}" for n in range(releases)], METRICS, frozenset({"wall"}), 1, **more)
    runs = list[Run]()
    while (blocks := policy.next(runs)) and len(runs) < most:
        runs += [once(member, 0, block.name) for block in blocks for member in block.members]
    return policy


def steps(policy, metric="kept"):
    return [(s.interval.first, s.interval.second) for s in policy.steps() if s.interval.metric == metric]


@pytest.mark.parametrize("at", [1, 7, 20, 39])
def test_step_is_found_between_neighbouring_releases(at):
    policy = search(Fake(kept=lambda n: (150 if n >= at else 100) * MB))
    assert steps(policy) == [(f"1.{at - 1}", f"1.{at}")]
    assert not policy.open()
    assert len(policy.runs) < 60
    (step,) = (one for one in policy.steps() if one.interval.metric == "kept")
    assert step.n == LOOKS[0]
    assert step.low <= float(step.second) <= step.high
    assert step.ratio["ratio"] == pytest.approx(1.5, rel=0.01)


def test_several_steps_and_a_return_are_found():
    policy = search(Fake(kept=lambda n: (100 + 50 * (n >= 9) + 60 * (n >= 23) - 110 * (n >= 31)) * MB))
    assert steps(policy) == [("1.8", "1.9"), ("1.22", "1.23"), ("1.30", "1.31")]


def test_step_of_the_clock_is_found():
    policy = search(Fake(wall=lambda n: 7.0 if n >= 17 else 2.0), 24)
    assert steps(policy, "wall") == [("1.16", "1.17")]
    assert steps(policy) == []


def test_outcomes_and_answers_are_searched():
    killed = search(Fake(outcome=lambda n: "killed_at_limit" if 12 <= n < 30 else COMPLETED))
    assert steps(killed, OUTCOME) == [("1.11", "1.12"), ("1.29", "1.30")]
    first, second = (step for step in killed.steps() if step.interval.metric == OUTCOME)
    assert (first.first, first.second) == (COMPLETED, "killed_at_limit")
    assert (second.first, second.second) == ("killed_at_limit", COMPLETED)
    other = search(Fake(answer=lambda n: "b" if n >= 33 else "a"))
    assert steps(other, ANSWER) == [("1.32", "1.33")]


def test_numbers_that_a_script_reports_are_searched():
    counted, seed = "rows read [rows, lower, exact]", "the seed [, neither]"

    def once(member, number, block):
        run = fake(member, number, block)
        place = int(member.side.split(".")[1])
        return replace(run, values={**run.values, counted: 100.0 + 50 * (place >= 9), seed: float(place)})

    fake = Fake()
    policy = search(once, reported=searched_reports)
    assert steps(policy, counted) == [("1.8", "1.9")]
    assert len(policy.steps()) == 1 and not policy.open(), "a number without a better direction is not compared"
    policy = search(lambda *of: replace(once(*of), values={counted: 100.0}), reported=searched_reports)
    assert counted in policy.same()[0]


def test_random_answers_have_no_step():
    numbers = itertools.count()
    assert not search(Fake(answer=lambda n: str(next(numbers))), 5).steps()


def test_releases_that_cannot_be_installed_are_skipped():
    policy = search(Fake(kept=lambda n: (150 if n >= 20 else 100) * MB, missing=(18, 19, 20)))
    assert steps(policy) == [("1.17", "1.21")]
    assert {"1.19", "1.20"} & policy.skipped.keys()


def test_no_step_rests_on_fresh_runs_of_both_ends():
    policy = search(Fake(noise=(0.002, 0.005)), 9)
    assert policy.steps() == []
    assert policy.same()[1] >= LOOKS[0]
    assert {"kept", OUTCOME, ANSWER} <= {*policy.same()[0]}
    runs = {side: sum(run.member.side == side for run in policy.runs) for side in policy.sides}
    assert runs["1.0"] == runs["1.8"] == RUNS + policy.same()[1]
    assert {*list(runs.values())[1:-1]} == {RUNS}


def test_noise_that_hides_a_change_is_no_agreement():
    policy = search(Fake(noise=(0.3, 0.02)), 5)
    assert policy.steps() == []
    assert policy.same() == ([], 0)


def test_yanked_releases_are_looked_at_from_the_beginning():
    bad = Fake(kept=lambda n: (150 if n == 17 else 100) * MB)
    assert steps(search(bad)) == [], "1.17 is not among the first releases"
    assert steps(search(bad, doubted=["1.17", "1.30"])) == [("1.16", "1.17"), ("1.17", "1.18")]


def test_step_is_asked_by_some_runs_and_answered_by_others():
    """A program that took more in every run of the screen, and in no other, has no step."""
    once, screened = Fake(), 2 * 9

    def unlucky(member, number, block):
        late = block == "screen" and int(member.side.split(".")[1]) >= 20
        return Fake(kept=lambda n: 150 * MB if late else 100 * MB)(member, number, block) if late else once(
            member, number, block)  # fmt: skip

    policy = search(unlucky)
    assert len(policy.runs) > screened
    assert policy.steps() == []
    assert policy.pairs


def test_search_goes_on_from_any_of_its_runs():
    """The next block depends on the runs alone."""
    whole = search(Fake(kept=lambda n: (150 if n >= 20 else 100) * MB))
    other = Search("case", whole.sides, METRICS, frozenset({"wall"}), 1)
    done, blocks = 0, list[str]()
    while found := other.next(whole.runs[:done]):
        for block in found:
            blocks += [block.name] * len(block.members)
            assert [run.member for run in whole.runs[done : done + len(block.members)]] == list(block.members)
            done += len(block.members)
    assert blocks == [run.block for run in whole.runs]


@pytest.mark.parametrize("case", [case for case in searches() if case.sides == 10 and not case.steps][2:9:3],
                         ids=lambda case: case.name)  # fmt: skip
def test_equal_sides_rarely_have_a_step(case):
    assert search_rates(case, 20)["false"] <= 0.05


@pytest.mark.parametrize(
    "case", [case for case in searches() if case.sides == 10 and case.steps], ids=lambda one: one.name
)
def test_steps_are_found(case):
    line = search_rates(case, 12)
    assert line["false"] == 0
    assert line["found"] >= (0.55 if case.fails == (0, 0.5) else 0.95)


def test_ends_that_differ_in_what_the_screen_never_read_are_no_crash():
    def once(member, number, block):
        run = Fake(kept=lambda n: (150 if n else 100) * MB)(member, number, block)
        return Run(member, number, block, COMPLETED, "", "a", run.values if block.startswith("ends") else {})

    policy = search(once, 5)
    assert not policy.steps()
    assert "kept" in {one.metric for one in policy.open()}
