"""Numbers of the atlas in words."""

from collections.abc import Mapping
from typing import Any

from ..analysis.changes import in_unit
from ..bisect.result import NAMES
from ..bisect.search import ANSWER, OUTCOME


def sentence(step: Mapping[str, Any]) -> str:
    """A line of table `steps` in words: the change, both values, the ratio with its interval, and n."""
    metric = step["metric"]
    if metric in (OUTCOME, ANSWER):
        values = [str(step[side])[:12] if metric == ANSWER else step[side] for side in ("from_value", "to_value")]
        return f"{NAMES[metric]}: {values[0]} → {values[1]}, n = {step['n']}"
    old, new = (in_unit(metric, float(step[side])) for side in ("from_value", "to_value"))
    return f"{NAMES[metric]}: {old} → {new}, {times(step)}, n = {step['n']}"


def times(step: Mapping[str, Any]) -> str:
    """The ratio of a step with its interval."""
    if not step["ratio"]:
        return ""
    ratio, low, high = (float(step[name]) for name in ("ratio", "low", "high"))
    return f"{ratio:.3g} times ({low:.3g} to {high:.3g})"
