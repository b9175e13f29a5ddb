"""Planned questions that are still open, and the repeats that they need."""

import math

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.frame import key
from beyond_ram.analysis.sequential import open_questions

from .simulated import looks_alarm
from .test_comparisons import runs

PAIRS = [("old", "new")]


def open_for(rates):
    lines = [
        line | {"tokens_per_cpu_s": rate}
        for stack, values in rates.items()
        for line, rate in zip(runs(stack=stack, n=len(values)), values, strict=True)
    ]
    question = {"experiment": "e", "metric": "tokens_per_cpu_s", "axis": "stack", "where": {}}
    return open_questions(pd.DataFrame(lines), PAIRS, [question])


def test_noisier_questions_need_more_repeats():
    new, old = (key({"experiment": "e", "stack": stack}) for stack in ("new", "old"))
    (noisy,) = open_for({"old": (100, 101), "new": (130, 150)})
    assert noisy.cells == (old, new)
    (noisier,) = open_for({"old": (100, 101), "new": (115, 165)})
    assert 0 < noisy.repeats < noisier.repeats < math.inf
    assert open_for({"old": (100, 101), "new": (200, 202)}) == [], "a decided question needs none"
    (single,) = open_for({"old": (100,), "new": (200,)})
    assert single.repeats == 1
    (hopeless,) = open_for({"old": (100, 300), "new": (300, 100)})
    assert hopeless.repeats == math.inf


@pytest.mark.slow
def test_looks_together_are_wrong_no_more_often_than_one_report():
    """Noise of 10 % and up to 32 repeats. Without a correction, a fifth of the reports would name a difference."""
    shares = [
        looks_alarm(1, 0.1, 32, 150, np.random.default_rng(8), corrected=corrected) for corrected in (False, True)
    ]
    assert shares[1] < 0.07 < 0.15 < shares[0]
