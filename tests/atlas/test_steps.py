"""Steps between releases, on runs that are made up."""

import itertools
import random

import pytest

from beyond_ram.atlas import steps
from beyond_ram.atlas.bench import AGAIN
from beyond_ram.bisect.search import OUTCOME, Run

END = "end_anon_bytes"
VERSIONS = ["1.0", "1.1", "1.2", "1.3"]


class Fake:
    """Runs whose memory is given by version, in MB, with noise."""

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
        return Run(number, outcome, "a", values if outcome == "completed" else {}, at, at + 5)


def passed(fake, versions=VERSIONS):
    labels = [*versions, versions[-1] + AGAIN]
    runs = {label: [] for label in labels}
    for number in (1, 2):
        for label in labels:
            runs[label].append(fake(label, number))
    return steps.neighbours(runs, labels)


def named(step_list):
    return {(one.interval.metric, one.interval.first, one.interval.second) for one in step_list}


SIZES = {"1.0": 100, "1.1": 100, "1.2": 160, "1.3": 160}


def test_a_step_is_seen_between_neighbours_and_confirmed():
    fake = Fake(SIZES)
    end_steps = [step for step in passed(fake) if step.interval.metric == END]
    assert named(end_steps) == {(END, "1.1", "1.2")}
    fake.order.clear()
    (seen,) = steps.repeat(end_steps, fake, seed=1)
    assert seen.state == steps.CONFIRMED and 1.5 < seen.repeated.decision.ratio < 1.7
    assert fake.order[:3] == ["1.2", "1.1", "1.1" + AGAIN]


def test_a_step_that_is_not_seen_again_is_not_confirmed():
    (end_step,) = [step for step in passed(Fake(SIZES)) if step.interval.metric == END]
    (seen,) = steps.repeat([end_step], Fake(dict.fromkeys(VERSIONS, 100)), seed=1)
    assert seen.state == steps.REFUTED and seen.repeated is None
    (turned,) = steps.repeat([end_step], Fake(SIZES | {"1.1": 160, "1.2": 100}), seed=1)
    assert turned.state == steps.REFUTED


def test_what_differs_between_two_names_of_one_release_confirms_nothing():
    class Bistable(Fake):
        def __call__(self, label, number):
            self.sizes = SIZES | ({"1.1": 130} if AGAIN in label else {"1.1": 100})
            return super().__call__(label, number)

    (end_step,) = [step for step in passed(Fake(SIZES)) if step.interval.metric == END]
    (seen,) = steps.repeat([end_step], Bistable(SIZES), seed=1)
    assert seen.state == steps.REFUTED


def test_a_false_step_is_repeated_like_any_other():
    seen_once = passed(Fake({"1.3": 100, "1.3@again": 160}, label=True), ["1.3"])
    (false,) = [step for step in seen_once if step.interval.metric == END]
    assert steps.is_false(false)
    fake = Fake(SIZES)
    (seen,) = steps.repeat([false], fake, seed=1)
    assert seen.state == steps.REFUTED and len(set(fake.order)) == 3


def test_a_release_that_fails_is_a_step_of_the_outcome():
    all_steps = passed(Fake(SIZES | {"1.2": 100, "1.3": 100}, outcomes={"1.0": "failed: ImportError"}))
    assert named(all_steps) == {(OUTCOME, "1.0", "1.1")}


@pytest.mark.slow
def test_releases_that_are_alike_give_no_step():
    """Of 20 cases, at most one names a step."""
    alike = dict.fromkeys(VERSIONS, 100)
    assert sum(bool(passed(Fake(alike, noise=0.02, seed=seed))) for seed in range(30)) <= 2
