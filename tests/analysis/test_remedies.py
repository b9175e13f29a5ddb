"""Table `remedies`."""

import math
from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.remedies import remedies

from .by_hand import MB


def runs(remedy: str, values: list[float], outcome: str = "completed") -> list[dict[str, Any]]:
    axes = "experiment stack corpus mode shards num_files batch_size writer_batch_size num_proc stop_after"
    cell = dict.fromkeys(axes.split(), "x") | {"cache": "cold", "remedy": remedy, "outcome": outcome}
    cell |= {"reason": "not installed", "workload": "tokenize", "completed_work": outcome == "completed"}
    return [cell | {"rep": rep, "grown_anon_bytes": value * MB} for rep, value in enumerate(values, 1)]


def test_remedy_without_effect_is_same_and_a_noisy_one_undecided() -> None:
    lines = runs("none", [200, 202, 199, 200]) + runs("idle", [200, 199, 202, 201]) + runs("noisy", [90, 300, 250, 150])
    lines += runs("good", [20, 21, 19, 20]) + runs("bad", [400, 402, 399, 400]) + runs("once", [50])
    lines += runs("gone", [1, 2, 1, 1])
    lines += runs("absent", [math.nan], "not_applicable")
    table = remedies(comparisons(pd.DataFrame(lines), []), pd.DataFrame(lines))
    effects = table[table["metric"] == "grown_anon_bytes"].set_index("remedy")["result"].to_dict()
    assert effects == {
        "idle": "same",
        "noisy": "undecided",
        "good": "better",
        "gone": "better",
        "bad": "worse",
        "once": "undecided",
        "absent": "not run",
    }
    gone = table[(table["metric"] == "grown_anon_bytes") & (table["remedy"] == "gone")].iloc[0]
    assert gone["ratio"] == pytest.approx(1.25 / 200.25, rel=1e-3)
    assert gone["low"] < gone["ratio"] < gone["high"]
    assert remedies(comparisons(pd.DataFrame(), []), pd.DataFrame()).empty
