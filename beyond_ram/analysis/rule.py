"""What the rule of decision is asked about a metric, and what it answers in words."""

from collections.abc import Iterable
from typing import Literal

from ..decisions.rule import FAILURES, SHARE, TOLERANCE, MetricRule, rare
from ..metrics import METRICS
from ..metrics.base import CLOCK, WATCHED_CLOCK
from ..metrics.reported import is_reported
from ..metrics.runs import FAILED
from ..units import percent
from .changes import in_unit
from .thresholds import threshold_of


def must_be_decided(metric: str) -> bool:
    """Whether runs go on until this metric is decided. Clocks mostly show how busy the machine is."""
    return METRICS[metric].trust not in (CLOCK, WATCHED_CLOCK)


def metric_of(name: str, better: Literal["lower", "higher", "neither"] | None = None, times: float = 1) -> MetricRule:
    """What the rule is asked about a metric; `times` makes its smallest change larger."""
    least, share = times * threshold_of(name).least, times * SHARE
    return MetricRule(better or METRICS[name].direction, least, share, name == FAILED, must_be_decided(name))


def searched(names: Iterable[str]) -> tuple[dict[str, MetricRule], frozenset[str]]:
    """What the rule is asked in a search, and which of these are clocks, whose smallest change is twice as large."""
    metrics = list(names)
    clocks = frozenset(name for name in metrics if not must_be_decided(name) or METRICS[name].unit == "s")
    return {name: metric_of(name, times=2 if name in clocks else 1) for name in metrics}, clocks


def searched_reports(names: Iterable[str]) -> tuple[dict[str, MetricRule], frozenset[str]]:
    """The same of those that are numbers of a script's own, if one direction is better."""
    return searched(name for name in names if is_reported(name) and METRICS[name].decided)


def threshold_in_words(metric: str) -> str:
    """The smallest change of a metric that is better or worse."""
    if metric == FAILED:
        return f"{percent(FAILURES)} of the runs"
    least = threshold_of(metric).least
    return f"{percent(SHARE)}, at least {in_unit(metric, least)}" if least else percent(SHARE)


def same_in_words(metrics: Iterable[str], n: int) -> str:
    """What `same` of these metrics after `n` runs cannot have seen."""
    missed, others = f"a change in under {percent(rare(n))} of the runs", [name for name in metrics if name in METRICS]
    others = [name for name in others if name != FAILED]
    if not others:
        return f"may have missed {missed}"
    leasts = [in_unit(name, least) for name in others if (least := threshold_of(name).least)]
    typical = " or ".join(dict.fromkeys([percent(TOLERANCE), *leasts]))
    return f"may have missed a typical change under {typical}, or {missed}"
