"""Steps between releases, on simulated runs."""

import itertools
import random

import pytest

from beyond_ram.atlas import steps
from beyond_ram.atlas.bench import AGAIN
from beyond_ram.measure.plan import Member, Run
from beyond_ram.measure.screen import OUTCOME

END = "end_anon_bytes"
VERSIONS = ["1.0", "1.1", "1.2", "1.3"]


class Fake:
    """Simulated runs with noise. Memory depends on the version, in MB."""

    def __init__(self, sizes, noise=0.002, outcomes=None, seed=0, label=False):
        self.by_label = label
        self.sizes, self.noise, self.outcomes = sizes, noise, outcomes or {}
        self.random, self.clock, self.order = random.Random(seed), itertools.count(0, 10), []

    def __call__(self, label, number):
        version, at = label.partition("@")[0], next(self.clock)
        self.order.append(label)
        outcome = self.outcomes.get(version, "completed")
        size = self.sizes[label if self.by_label else version] * 1e6 * self.random.lognormvariate(0, self.noise)
        values = {END: size, "peak_anon_upper_bound_bytes": size, "duration_s": 2.0, "cpu_s": 1.0}
        values = values if outcome == "completed" else {}
        return Run(Member("case", label), number, "pass", outcome, "", "a", values, at, at + 5)


def first_steps(fake, versions=VERSIONS):
    labels = [*versions, versions[-1] + AGAIN]
    runs = {label: [] for label in labels}
    for number in (1, 2):
        for label in labels:
            runs[label].append(fake(label, number))
    return steps.neighbours(runs, labels)


def keys(step_list):
    return {(step.interval.metric, step.interval.first, step.interval.second) for step in step_list}


SIZES = {"1.0": 100, "1.1": 100, "1.2": 160, "1.3": 160}


def test_step_between_neighbours_is_confirmed():
    fake = Fake(SIZES)
    end_steps = [step for step in first_steps(fake) if step.interval.metric == END]
    assert keys(end_steps) == {(END, "1.1", "1.2")}
    fake.order.clear()
    (repeated,) = steps.repeat(end_steps, fake, seed=1)
    assert repeated.state == steps.CONFIRMED and 1.5 < repeated.step.ratio["ratio"] < 1.7
    assert sorted(fake.order[:12]) == sorted(["1.2", "1.1", "1.1" + AGAIN] * 4)


def test_step_that_is_not_repeated_is_refuted():
    (end_step,) = [step for step in first_steps(Fake(SIZES)) if step.interval.metric == END]
    (repeated,) = steps.repeat([end_step], Fake(dict.fromkeys(VERSIONS, 100)), seed=1)
    assert repeated.state == steps.REFUTED and repeated.step == end_step
    (turned,) = steps.repeat([end_step], Fake(SIZES | {"1.1": 160, "1.2": 100}), seed=1)
    assert turned.state == steps.REFUTED


def test_step_is_refuted_if_one_release_differs_from_itself():
    class Bistable(Fake):
        def __call__(self, label, number):
            self.sizes = SIZES | ({"1.1": 130} if AGAIN in label else {"1.1": 100})
            return super().__call__(label, number)

    (end_step,) = [step for step in first_steps(Fake(SIZES)) if step.interval.metric == END]
    (repeated,) = steps.repeat([end_step], Bistable(SIZES), seed=1)
    assert repeated.state == steps.REFUTED


def test_false_step_is_repeated_like_any_other():
    seen_once = first_steps(Fake({"1.3": 100, "1.3@again": 160}, label=True), ["1.3"])
    (false,) = [step for step in seen_once if step.interval.metric == END]
    assert steps.is_false(false)
    fake = Fake(SIZES)
    (repeated,) = steps.repeat([false], fake, seed=1)
    assert repeated.state == steps.REFUTED and len(set(fake.order)) == 3


def test_failing_release_is_a_step_of_the_outcome():
    all_steps = first_steps(Fake(SIZES | {"1.2": 100, "1.3": 100}, outcomes={"1.0": "failed: ImportError"}))
    assert keys(all_steps) == {(OUTCOME, "1.0", "1.1")}


@pytest.mark.slow
def test_equal_releases_rarely_give_a_step():
    """At most 2 of 40 cases have a step that is seen again."""
    alike, confirmed = dict.fromkeys(VERSIONS, 100), 0
    for seed in range(40):
        fake = Fake(alike, noise=0.05, seed=seed)
        places = {}
        for step in first_steps(fake):
            places.setdefault(step.interval.first, []).append(step)
        again = [one for own in places.values() for one in steps.repeat(own, fake, seed, 1 / len(places))]
        confirmed += any(one.state == steps.CONFIRMED for one in again)
    assert confirmed <= 2
