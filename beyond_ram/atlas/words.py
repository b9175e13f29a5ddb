"""Numbers of the atlas in words."""

from collections.abc import Mapping
from typing import Any

from ..analysis.changes import in_unit
from ..measure.screen import ANSWER, OUTCOME


def values(step: Mapping[str, Any]) -> list[str]:
    """Both values of a line of table `steps`. Of an answer, the start of its hash."""
    metric, sides = step["metric"], (step["from_value"], step["to_value"])
    if metric in (OUTCOME, ANSWER):
        return [str(value)[:12] if metric == ANSWER else str(value) for value in sides]
    return [in_unit(metric, float(value)) for value in sides]


def times(step: Mapping[str, Any]) -> str:
    """The ratio of a step with its interval."""
    if not step["ratio"]:
        return ""
    ratio, low, high = (float(step[name]) for name in ("ratio", "low", "high"))
    return f"{ratio:.3g} times ({low:.3g} to {high:.3g})"
