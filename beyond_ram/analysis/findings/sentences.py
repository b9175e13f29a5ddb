"""The only module that turns findings into sentences."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...metrics import METRICS
from ...metrics.runs import FAILED
from ...stacks.differences import packages_in_words
from ...units import MB, amount, digits, percent
from ..thresholds import ABSURD
from .finding import Effect, Finding, Kind, Scope


@dataclass(frozen=True)
class Text:
    """A finding in words."""

    title: str
    text: str


def of(finding: Finding) -> Text:
    """Title and text of a finding."""
    title, *sentences = _WRITERS[finding.kind](finding)
    failures = f"{_plural(finding.scope.failed, 'run')} failed." if finding.scope.failed else ""
    text = " ".join(filter(None, [*sentences, "" if finding.kind in _COUNT_FAILURES else failures]))
    return Text(title, text)


def _plural(count: float, noun: str) -> str:
    return f"{count:,.0f} {noun}{'' if count == 1 else 's'}"


def _label(metric: str) -> str:
    """The label of a metric inside a sentence."""
    label = METRICS[metric].label
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _first(words: str) -> str:
    """Words at the start of a sentence. A name, such as that of a loader or a flag, stays as it is."""
    return _capital(words) if " " in words and words.partition(" ")[0].isalpha() else words


def factor(ratio: float) -> str:
    """A change of a rate: "14 times fewer", "25% more"."""
    fewer = ratio < 1
    larger = 1 / ratio if fewer else ratio
    direction = "fewer" if fewer else "more"
    if larger >= 2:
        return f"{larger:,.3g} times {direction}"
    return f"{percent(abs(1 - ratio))} {direction}"


def _is_rate(effect: Effect) -> bool:
    """Whether the effect is best written as a factor of speed."""
    metric = METRICS[effect.metric]
    return metric.direction == "higher" and not math.isnan(effect.ratio) and "/" in metric.unit


def _change(effect: Effect, before: str, after: str, *, ordered: bool) -> str:
    """The change of a metric in one clause. Ordered sides, such as two releases, read "from ... to ..."."""
    metric = METRICS[effect.metric]
    if effect.metric == FAILED:
        counts = [f"{value * effect.n:.0f} of {effect.n}" for value in (effect.candidate, effect.baseline)]
        return f"{metric.label}: {counts[0]} with {after}, {counts[1]} with {before}"
    if not ordered and _is_rate(effect):
        return f"{_first(after)}: {factor(effect.ratio)} {_label(effect.metric)} than {before}"
    verb = "fell" if effect.candidate < effect.baseline else "rose"
    named = metric.unit != "bytes" and metric.unit in metric.label.lower()
    write = digits if named else amount
    sides = [write(value, metric.unit) for value in (effect.baseline, effect.candidate)]
    if ordered:
        return f"{metric.label} {verb} from {sides[0]} ({before}) to {sides[1]} ({after})"
    return f"{metric.label}: {sides[1]} with {after}, {sides[0]} with {before}"


def _certainty(effect: Effect, sides: str = "") -> str:
    """The ratio or difference of an effect, with its interval and n. With `sides`, written as the start of a
    sentence."""
    unit = METRICS[effect.metric].unit
    if math.isnan(effect.ratio):
        middle = f"{'Difference: ' if sides else ''}{amount(effect.difference, unit, signed=True)}"
        ends = f"{digits(effect.low, unit, signed=True)} to {digits(effect.high, unit, signed=True)}"
    else:
        middle = f"{f'Ratio of {sides}:' if sides else 'ratio'} {effect.ratio:,.3g}"
        ends = f"{effect.low:,.3g} to {effect.high:,.3g}"
    interval = "" if math.isnan(effect.low) else "the same in every repeat, " if effect.exact else f"95 % {ends}, "
    return f"{middle} ({interval}n = {effect.n})"


def _both_sides(effect: Effect, names: Sequence[str], setting: Iterable[str] = ()) -> str:
    """A metric on both sides with its certainty, as a sentence, then its setting."""
    unit, (before, after) = METRICS[effect.metric].unit, names
    verb = "fell" if effect.candidate < effect.baseline else "rose"
    sides = f"from {digits(effect.baseline, unit)} ({before}) to {amount(effect.candidate, unit)} ({after})"
    return f"{METRICS[effect.metric].label} {verb} {sides}: {_certainty(effect)}.{_setting(setting)}"


def _setting(conditions: Iterable[str]) -> str:
    words = ", ".join(conditions)
    return f" Setting: {words}." if words else ""


def _elsewhere(effect: Effect, first: Effect) -> list[str]:
    """The setting of an effect that is not from the cell of the first one; empty for the same cell."""
    if (effect.experiment, effect.conditions) == (first.experiment, first.conditions):
        return []
    return [*([f"experiment {effect.experiment}"] if effect.experiment != first.experiment else []), *effect.conditions]


# A finding with more conditions than this names its experiment instead.
_MOST_CONDITIONS = 3


def _limited_to(scope: Scope) -> str:
    """The settings that a finding is limited to, in a few words; empty if it has no limits."""
    if len(scope.conditions) > _MOST_CONDITIONS:
        return f"experiment {scope.experiment}"
    return ", ".join(scope.conditions)


Sentences = Sequence[str]
"""The title, then the sentences of the text; empty ones are dropped."""


def _difference(finding: Finding) -> Sentences:
    first, *others = finding.effects
    scope, facts = finding.scope, finding.facts
    ordered = facts["axis"] == "stack"
    settings = "setting" if scope.compared == 1 else "settings"
    title = _change(first, finding.baseline, finding.subject, ordered=ordered)
    limited = _limited_to(scope)
    names = finding.baseline, finding.subject
    packages = packages_in_words(facts["packages"])
    undecided = [
        f"{_capital(_label(effect.metric))}: {_certainty(effect)}{_other_setting(effect, first)}"
        for effect in facts["undecided"]
    ]
    return (
        title + (limited and (f", {limited}" if title.endswith(")") else f" ({limited})")),
        _both_sides(first, names)
        if _is_rate(first) and not ordered
        else ""
        if first.metric == FAILED
        else f"{_certainty(first, f'{finding.subject} to {finding.baseline}')}.",
        _setting(first.conditions).strip(),
        *(_both_sides(effect, names, _elsewhere(effect, first)) for effect in others),
        _wall_clock(finding),
        f"Undecided: {'; '.join(undecided)}." if undecided else "",
        f"{_capital(_label(first.metric))}: confirmed in {scope.confirmed} of {scope.compared} {settings}"
        + (f"; {_plural(scope.failed, 'run')} failed." if scope.failed else "."),
        f"Packages that differ: {packages}." if packages else "",
    )


def _other_setting(effect: Effect, first: Effect) -> str:
    """What an effect's setting has that the first one's has not."""
    other = [words for words in _elsewhere(effect, first) if words not in first.conditions]
    return f", with {', '.join(other)}" if other else ""


def _wall_clock(finding: Finding) -> str:
    """The wall clock beside CPU time, which may change the other way."""
    wall_s = finding.facts["wall_s"]
    if wall_s is None or not any("cpu" in effect.metric for effect in finding.effects):
        return ""
    sides = zip(wall_s, (finding.baseline, finding.subject), strict=True)
    before, after = (f"{seconds:.3g} s ({name})" for seconds, name in sides)
    return f"Median wall clock of a whole run, not tested: {before} and {after}."


def detectable(ratios: Sequence[float]) -> str:
    """The change that most of the undecided comparisons of ratios more likely miss than confirm, as a sentence."""
    if not len(ratios):
        return ""
    ratio = sorted(ratios)[(len(ratios) - 1) // 2]
    if ratio >= ABSURD:
        them = "It has" if len(ratios) == 1 else "Most of them have"
        return f"{them} too few runs for the noise to see a change of {ABSURD} times."
    change = f"{100 * (ratio - 1):.2g} %" if ratio < 1.99 else f"{float(f'{ratio:.2g}'):g} times"
    them = "it" if len(ratios) == 1 else "most of them"
    return f"In {them}, a change of less than {change} is more likely missed than confirmed."


def _regrowth(finding: Finding) -> Sentences:
    line = finding.facts["line"]
    slope, low, high = (line[f"slope_bytes{end}"] / MB for end in ("", "_low", "_high"))
    return (
        f"Memory grows with every epoch: {', '.join([finding.subject, *finding.scope.conditions])}",
        f"{slope:,.2f} MB per epoch over the later half of {line['epochs_read']:.0f} epochs (95 % {low:,.2f} to "
        f"{high:,.2f}, n = {line['n']:.0f} runs); each epoch reads the same {line['epoch_input_bytes'] / MB:,.0f} MB.",
    )


def _rows(finding: Finding) -> Sentences:
    facts, scope = finding.facts, finding.scope
    return (
        f"{finding.subject} does not deliver every row exactly once: {facts['account']}",
        f"It delivered {facts['rows_delivered']:,.0f} rows of {facts['rows_expected']:,.0f} "
        f"({', '.join(scope.conditions)}, n = {facts['n']:.0f}). Rows are missing, repeated or wrong in "
        f"{scope.confirmed} of {_plural(scope.compared, 'cell')}.",
    )


_ENDS = {"killed_at_limit": "killed at the memory limit", "timed_out": "not done in time"}


def _outcomes(finding: Finding) -> Sentences:
    facts, conditions = finding.facts, ", ".join(finding.scope.conditions)
    of = f"{facts['ended']} of {_plural(facts['ended'], 'run')}"
    return (
        f"{_first(finding.subject)}: {_ENDS[facts['outcome']]} in {of}; {finding.baseline}: completed in "
        f"{facts['completed']} of {facts['completed']}",
        f"Experiment {finding.experiment}{f', {conditions}' if conditions else ''}.",
    )


_WRITERS: Mapping[Kind, Callable[[Finding], Sentences]] = {
    "difference": _difference,
    "regrowth": _regrowth,
    "rows": _rows,
    "outcomes": _outcomes,
}
# Kinds whose sentences already give the number of failed runs.
_COUNT_FAILURES = ("difference", "outcomes")
