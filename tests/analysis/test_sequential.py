"""Planned questions that are still open, and the repeats that they need."""

import math

import pandas as pd

from beyond_ram.analysis.frame import key
from beyond_ram.analysis.sequential import Open, open_questions

from .test_comparisons import runs

PAIRS = [("old", "new")]


def open_for(rates: dict[str, tuple[float, ...]]) -> list[Open]:
    lines = [
        line | {"tokens_per_cpu_s": rate}
        for stack, values in rates.items()
        for line, rate in zip(runs(stack=stack, n=len(values)), values, strict=True)
    ]
    question = {"experiment": "e", "metric": "tokens_per_cpu_s", "axis": "stack", "where": {}}
    return open_questions(pd.DataFrame(lines), PAIRS, [question])


def test_noisier_questions_need_more_repeats() -> None:
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
