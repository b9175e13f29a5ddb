"""The one vocabulary of results: what a comparison of a candidate with a baseline comes to."""

from collections.abc import Mapping
from typing import Literal, get_args

Result = Literal["better", "worse", "same", "undecided"]
"""`better` and `worse`: a confirmed difference above the threshold. `same`: the whole interval lies within the
threshold. `undecided`: neither."""
RESULTS: tuple[Result, ...] = get_args(Result)
Family = Literal["planned", "exploratory"]
"""How a comparison is corrected: planned questions by Holm, all others by false discovery rate."""
FAMILIES: tuple[Family, ...] = get_args(Family)
Holds = Literal["yes", "partly", "no", "undecided"]
"""Whether a published claim holds: `partly` is better than no effect, but surely less than claimed."""

# Why a comparison is undecided.
FEW, NOISY, SMALL = "too few repeats", "too noisy", "may be below the threshold"
LIKELY: Mapping[Result, str] = {"better": "likely better", "worse": "likely worse"}
"""Too noisy to confirm, but over 10 %, with the same sign in every pair."""
OTHER_WORK = "not the same work"
"""Why a metric that has no better direction, such as the number of tokens, is `worse`."""
