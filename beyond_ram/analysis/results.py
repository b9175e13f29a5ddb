"""The vocabulary of results of all comparisons."""

from collections.abc import Mapping
from typing import Literal

from ..decisions.rule import Result as Result

Family = Literal["planned", "exploratory"]
"""How a comparison is corrected: planned ones by Holm, all others by false discovery rate."""

# Why a comparison is undecided.
FEW, NOISY, SMALL = "too few repeats", "too noisy", "may be below the threshold"
UNKNOWN = "not seen in {unknown} of {runs} runs"
LIKELY: Mapping[Result, str] = {"better": "likely better", "worse": "likely worse"}
"""Not confirmed by a gate, but likely: its p alone is below 5 %."""
OTHER_WORK = "not the same work"
"""Why a metric without a better direction, such as the number of tokens, is `worse`."""
