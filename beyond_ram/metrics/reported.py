"""Metrics that a measured program reports by an event `metric`. Their name in tables says what they are."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, cast

from .base import ANY, EXACT, Events, Metric

NAME = re.compile(r"([^\[\]]+) \[([^\[\],]*), (lower|higher|neither)(, exact)?\]")
_DERIVATION = "event `metric` of the program"


def reported(events: Events) -> dict[str, float]:
    """The numbers that a run has reported, by name: the last one of each."""
    named = ((event, event.get("value")) for event in events if event["event"] == "metric")
    return {_name(event): value for event, value in named if isinstance(value, int | float)}


def is_reported(name: str) -> bool:
    """Whether a metric is a number that programs report."""
    return bool(NAME.fullmatch(name))


def _name(event: Mapping[str, object]) -> str:
    label, unit = (re.sub(r"[\[\],\s]+", " ", str(event.get(key, "")))[:100].strip() for key in ("label", "unit"))
    better = event.get("better") if event.get("better") in ("lower", "higher") else "neither"
    return f"{label or 'number'} [{unit}, {better}{', exact' if event.get('exact') else ''}]"


class Metrics(Mapping[str, Metric]):
    """The metrics of single runs: those of the registry, which it lists, and any that a program reports."""

    def __init__(self, registry: Mapping[str, Metric]) -> None:
        self._registry = registry

    def __getitem__(self, name: str) -> Metric:
        if name in self._registry:
            return self._registry[name]
        if not (match := NAME.fullmatch(name)):
            raise KeyError(name)
        label, unit, better, exact = match.groups()
        direction = cast(Literal["lower", "higher", "neither"], better)
        return Metric(name, label, unit, ("runs",), _DERIVATION, EXACT if exact else "as reported",
            lambda _, events: reported(events).get(name), direction=direction,
            decided=() if direction == "neither" else (ANY,))  # fmt: skip

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry)

    def __len__(self) -> int:
        return len(self._registry)
