"""The result of a search: lines for the terminal, bisect.json, and a text for an issue."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .. import mask_secrets
from ..analysis.changes import in_unit
from ..analysis.rule import same_in_words
from ..measure.campaign import SPENT
from ..measure.plan import COMPLETED
from ..measure.screen import ANSWER, OUTCOME, Step
from ..measure.scripts import missing_package
from ..measure.searched import Searched, name_of, shortened
from ..metrics import METRICS
from ..metrics.reported import is_reported
from ..stacks.locks import PYTHON
from ..text import first_of

_MOST_MOVED = 3
REQUIRED = tuple(name for name, metric in METRICS.items() if metric.required)
# A script of more lines is named in the text for an issue, and not quoted.
_QUOTED_LINES = 60


@dataclass(frozen=True)
class SearchResult(Searched):
    """The answer of `bisect`."""

    needed: Sequence[str] = REQUIRED
    """The metrics that have to be known of each completed run to say that nothing changed."""

    @property
    def status(self) -> int:
        """Exit status: 0 after a step or a clear "no step", 2 if undecided."""
        return 0 if not self.never_completed and (self.steps or self._is_no_step) else 2

    @property
    def _is_no_step(self) -> bool:
        known = self.search.same()[0] and not self.search.open()
        return bool(known and not self.unknown() and not self.ladder.never_imported)

    def unknown(self) -> dict[str, int]:
        """The metrics that completed runs should have and have not, with the number of these runs."""
        completed = [run for runs in self.runs.values() for run in runs if run.outcome == COMPLETED]
        names = [name for name in self.search.metrics if name in self.needed or is_reported(name)]
        missing = {name: sum(name not in run.values for run in completed) for name in names}
        return {name: number for name, number in missing.items() if number}

    @property
    def tried(self) -> int:
        """How many of the releases ran."""
        return len([one for one in self.ladder.releases.versions if one in self.runs])

    @property
    def never_completed(self) -> bool:
        return not any(run.outcome == COMPLETED for group in self.runs.values() for run in group)

    @property
    def answers_agree(self) -> bool:
        """Whether the runs of each release give the same answer; else answers cannot be compared."""
        return all(len(self.answers(version)) < 2 for version in self.runs)

    # The terminal.

    def lines(self) -> list[str]:
        """The result in short lines."""
        lines = list(self._step_lines())
        if not self.steps or self.never_completed:
            lines.append(self._no_step())
        lines += [f"not narrowed down: {name_of(one.metric)}, {self.package} {one.first} → {one.second}"
                  for one in self.search.open()]  # fmt: skip
        lines += self.notes()
        return [*lines, self._last_line()]

    def _step_lines(self) -> Iterator[str]:
        for (first, second), group in groupby(self.steps, lambda one: (one.interval.first, one.interval.second)):
            steps = list(group)
            dates = " → ".join(self.ladder.releases.release(version).date for version in (first, second))
            yanked = [version for version in (first, second) if self.ladder.releases.release(version).yanked]
            also = f"; {' and '.join(yanked)} yanked" if yanked else ""
            yield f"{self.package} {first} → {second}  ({dates}{also})"
            for step in steps:
                yield f"  {self.sentence(step)}"
            if moved := self.moved_between(first, second):
                yield f"  also differs: {moved}"

    def _no_step(self) -> str:
        first, last = self.ladder.releases.versions[0], self.ladder.releases.versions[-1]
        between = f"{self.package} {first} and {last}"
        if self.never_completed:
            return f"cannot say: the script completed with no release; {self._reasons()}"
        if self.ladder.never_imported:
            return (
                f"cannot say: {self.ladder.script.name} never imported {self.package}, so its releases were not tried"
            )
        if self.search.open():
            return f"cannot say: no step was confirmed between {between}"
        if self.ladder.campaign.out_of_budget:
            return f"cannot say: the budget was used up before the releases between {between} were compared"
        if self.unknown():
            return f"cannot say: no step between {between} in what is known"
        if not self._is_no_step:
            names = f" in {', '.join(map(name_of, undecided))}" if (undecided := self.search.undecided()) else ""
            return f"cannot say: it was not decided whether {between} are the same{names}"
        return f"no step between {between}: {same_in_words(*self.search.same())}"

    def _reasons(self) -> str:
        ended = [(version, one) for version, runs in self.runs.items() for one in runs if one.outcome != COMPLETED]
        reasons = dict.fromkeys(f"{version}: {one.reason or one.outcome}" for version, one in ended[:3])
        return "; ".join(reasons) + next(filter(None, (missing_package(one.reason) for _, one in ended)), "")

    def notes(self) -> list[str]:
        """What the reader has to know beside the steps."""
        notes = list[str]()
        if self.steps and self.ladder.never_imported:
            notes.append(f"its own process never imported {self.package}: only what it starts can be the cause")
        if skipped := self.ladder.releases.skipped:
            notes.append("skipped: " + "; ".join(f"{one.text} {one.missing}" for one in skipped))
        notes += [f"skipped: {one} cannot be installed: {reason}" for one, reason in self.search.skipped.items()]
        if varying := [version for version in self.runs if " or " in self.outcome(version)]:
            ends = "; ".join(f"{version}: {self.outcome(version)}" for version in varying[:3])
            notes.append(f"the outcome of {len(varying)} of {self.tried} releases differs from run to run: {ends}")
        notes += [f"{name_of(name)}: not seen in {number} of {self._count} runs, which may hide a step"
                  for name, number in self.unknown().items()]  # fmt: skip
        if not self.answers_agree:
            notes.append("the script's answer differs from run to run: only how often it gives each can have a step")
        if untested := len(self.ladder.releases.versions) - self.tried:
            notes.append(f"not run: {untested} of the releases; a change that came and went among them is not seen")
        moved = dict.fromkeys(filter(None, (lock.moved for lock in self.ladder.locks.values())))
        return notes + ([f"had to move: {first_of([f'({one})' for one in moved], _MOST_MOVED)}"] if moved else [])

    def _last_line(self) -> str:
        used = f"{self.ladder.campaign.used_s / 60:.1f} of {self.ladder.budget_s / 60:g} min"
        total = len(self.ladder.releases.releases)
        more = f"; {SPENT}" if self.ladder.campaign.out_of_budget else ""
        return f"{self._count} runs of {self.tried} of {total} releases in {used}{more}"

    @property
    def _count(self) -> int:
        """Runs so far."""
        return sum(map(len, self.runs.values()))

    def sentence(self, step: Step) -> str:
        """A step in a line: from, to, size, interval, n."""
        name = name_of(step.interval.metric)
        if isinstance(step.first, str) or isinstance(step.second, str):
            first, second = (shortened(str(one)) for one in (step.first, step.second))
            return f"{name}: {first} → {second}, n = {step.n}"
        metric, size = step.interval.metric, step.ratio
        values = f"{in_unit(metric, step.first)} → {in_unit(metric, step.second)}"
        if size["ratio"] is None:
            change, low, high = (in_unit(metric, number - step.first, signed=True)
                                 for number in (step.second, step.low, step.high))  # fmt: skip
            size_text = f"{change} ({low} to {high})"
        else:
            size_text = f"{size['ratio']:.3g} times ({size['low']:.3g} to {size['high']:.3g})"
        return f"{name}: {values}, {size_text}, n = {step.n}"

    # Files.

    def as_json(self) -> dict[str, Any]:
        """bisect.json."""
        releases = self.ladder.releases
        return {
            "result": "cannot say" if self.status else "step" if self.steps else "no step",
            "package": self.package,
            "script": self.ladder.script.name,
            "steps": [self._step(step) for step in self.steps],
            "open": [vars(one) for one in self.search.open()],
            "releases": [self._release(version) for version in releases.versions],
            "skipped": {one.text: one.missing for one in releases.skipped} | dict(self.search.skipped),
            "metrics": list(self.search.metrics),
            "answers_compared": self.answers_agree,
            "exclude_newer": self.ladder.release_locks.until,
            "memory_limit_bytes": self.ladder.memory_limit_bytes,
            "same": dict(zip(("metrics", "n"), self.search.same(), strict=True)),
            "runs": self._count,
            "used_s": round(self.ladder.campaign.used_s, 1),
            "budget_s": self.ladder.budget_s,
            "notes": self.notes(),
        }

    def _step(self, step: Step) -> dict[str, Any]:
        first, second = step.interval.first, step.interval.second
        release = self.ladder.releases.release
        return step.line | {
            "from_date": release(first).date, "to_date": release(second).date,
            "from_yanked": release(first).yanked, "to_yanked": release(second).yanked,
            "also_differs": self.moved_between(first, second) or None,
        }  # fmt: skip

    def _release(self, version: str) -> dict[str, Any]:
        release, runs = self.ladder.releases.release(version), self.runs.get(version, [])
        return {
            "version": version, "date": release.date, "yanked": release.yanked, "runs": len(runs),
            "outcome": self.outcome(version) if runs else None,
            "answer": next(iter(self.answers(version)), None), "values": self.values(version),
        }  # fmt: skip

    def markdown(self) -> str:
        """A text for an issue, with the commands that reproduce it."""
        steps = self.steps
        clear = steps and not self.never_completed
        head = f"### {self.package}: {self.sentence(steps[0])}" if clear else f"### {self._no_step()}"
        lines = [head, ""]
        lines += [f"- {line.strip()}" for line in self._step_lines()]
        lines += ["", *self._script_lines(), "", *self._commands(), "", *self._table()]
        lines += ["", *(f"- {note}" for note in self.notes()), f"- {self._last_line()}"]
        return "\n".join(lines) + "\n"

    def _script_lines(self) -> list[str]:
        text = self.ladder.script.read_text(encoding="utf-8", errors="replace").rstrip()
        if text.count("\n") >= _QUOTED_LINES:
            return [f"The script is `{self.ladder.script.name}`."]
        return [f"`{self.ladder.script.name}`:", "", "```python", mask_secrets.in_text(text), "```"]

    def _commands(self) -> list[str]:
        """A command for each side of the first step, with every version pinned."""
        step = self.steps[0].interval if self.steps else None
        versions = [step.first, step.second] if step else self.ladder.releases.versions[:1]
        lines = ["Each side, with all versions that it ran with:", "", "```sh"]
        for version in versions:
            pins = self.ladder.locks[version].pins if version in self.ladder.locks else {}
            options = [word for name, pin in pins.items() for word in ("--with", f"{name}=={pin}")]
            words = ["python", self.ladder.script.name, *self.ladder.words]
            words = ["uv", "run", "--no-project", "--python", PYTHON, *options, *words]
            lines.append(shlex.join(mask_secrets.in_command(["beyond-ram", "watch", "--", *words])))
        return [*lines, "```"]

    def _table(self) -> list[str]:
        named = list(dict.fromkeys(step.interval.metric for step in self.steps)) or list(self.search.metrics)[:2]
        numbers = [metric for metric in named if metric not in (OUTCOME, ANSWER)]
        head = [self.package, "date", "runs", "outcome", *map(name_of, numbers)]
        lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for one in map(self._release, self.runs):
            values = [in_unit(name, one["values"][name]) if name in one["values"] else "" for name in numbers]
            version = one["version"] + (" (yanked)" if one["yanked"] else "")
            lines.append(f"| {' | '.join([version, one['date'], str(one['runs']), one['outcome'], *values])} |")
        return lines
