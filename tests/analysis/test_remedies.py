"""Table `remedies`."""

import math
from typing import Any

import pandas as pd

from beyond_ram.analysis.remedies import remedies


def test_a_remedy_that_does_nothing_is_told_from_one_that_was_not_shown_to() -> None:
    def runs(remedy: str, values: list[float], outcome: str = "completed") -> list[dict[str, Any]]:
        axes = "experiment stack corpus mode shards num_files batch_size writer_batch_size num_proc cache stop_after"
        cell = dict.fromkeys(axes.split(), "x") | {"remedy": remedy, "outcome": outcome, "reason": "not installed"}
        same = {"peak_anon_upper_bound_bytes": 5.0, "tokens_per_cpu_s": 5.0}
        return [cell | same | {"grown_anon_bytes": value} for value in values]

    lines = runs("none", [100, 101, 99, 100]) + runs("idle", [100, 99, 101, 100]) + runs("noisy", [60, 150, 110, 90])
    lines += runs("good", [10, 11, 9, 10]) + runs("bad", [200, 201, 199, 200]) + runs("once", [50])
    lines += runs("absent", [math.nan], "not_applicable")
    table = remedies(pd.DataFrame(lines))
    effects = table[table["metric"] == "grown_anon_bytes"].set_index("remedy")["effect"].to_dict()
    assert effects == {
        "idle": "nothing",
        "noisy": "not shown",
        "good": "helps",
        "bad": "harms",
        "once": "not enough data",
        "absent": "not run",
    }
