"""The report of the workflow: all findings, figures and cells in one file."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import markupsafe
import pandas as pd

import beyond_ram

from ..analysis import changes
from ..analysis.claims import POST
from ..analysis.findings import Finding, unchanged, undecided
from ..analysis.frame import key
from ..analysis.thresholds import SMALLEST_SHARE
from ..figures import NOT_DRAWN
from ..records.collected import Runs, Samples
from ..shipped import PACKAGE
from ..text import plain
from ..units import percent
from ..workflow.chapters import SHIPPED_SPREAD
from . import page as pages_of
from . import sections
from .cells import Cells
from .cells import named as named_once
from .drawing import address, caption

STRONGEST = 3
# In the terminal summary: maximum number of sentences about undecided questions, and of characters per line and answer.
_OPEN, _WIDE, _SHORT = 2, 600, 300
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Drawn:
    """A figure of the workflow: file, title, chapter and experiments."""

    svg: Path
    title: str
    chapter: str
    experiments: Sequence[str]
    question: str = ""
    """What it answers on the first screen."""

    @property
    def name(self) -> str:
        return self.svg.stem

    def caption(self) -> list[markupsafe.Markup]:
        """The paragraphs of the caption as HTML."""
        return caption(self.svg.with_suffix(".txt"))

    def answer(self) -> str:
        """The first paragraph of the caption; empty if nothing is drawn."""
        text = self.caption()[0].striptags()
        return "" if text.startswith(NOT_DRAWN) else text


@dataclass(frozen=True)
class Again:
    """The commands that reproduce parts of a report."""

    configfiles: Sequence[str]
    folder: str | None
    budget_min: float | None = None

    @property
    def _own(self) -> str:
        """The option that names the config files."""
        return f" --configfile {shlex.join(self.configfiles)}" if self.configfiles else ""

    def longer(self) -> str:
        """The command that gives undecided comparisons further runs."""
        return f"uv run snakemake --cores 4{self._own} --config budget_min={2 * (self.budget_min or 5):g}"

    def _only(self, target: str, *experiments: str) -> str:
        """A command that makes the runs of some experiments in a separate results folder."""
        only = f"--config results=alone 'only=[{','.join(experiments)}]'"
        if self.folder:
            only += f" folder={shlex.quote(self.folder)}"
        return f"uv run snakemake {shlex.quote(f'alone/{target}')} --cores 4{self._own} {only}"

    def run(self, experiment: str, path: str) -> str | None:
        """The command that measures a run again; None if no rule makes it (a version ladder)."""
        stack = next(level for level in path.split("/") if level.startswith("stack~"))
        return None if "+" in stack else self._only(f"runs/{path}/run.json", experiment)

    def finding(self, finding: Finding) -> str:
        """The command that makes a report of a finding's experiments. A figure alone decides nothing."""
        return self._only("report.html", *dict.fromkeys(str(line["experiment"]) for line in finding.seen))


def in_brief(tables: Tables, figures: Iterable[Drawn], all_findings: Sequence[Finding], page: Path) -> list[str]:
    """The answers, or without any the strongest findings, and the path of the report: at most ten lines, for a
    terminal."""
    runs = sections.machine(tables["runs"])
    counts = (
        f"{runs[key]} {noun}{'' if runs[key] == 1 else 's'}" for key, noun in (("runs", "run"), ("cells", "setting"))
    )
    lines = [f"{' of '.join(counts)}."]
    failed = tables["runs"][tables["runs"]["outcome"] == "failed"]
    if len(failed):
        noun = "run" if len(failed) == 1 else "runs"
        first = failed.iloc[0]
        logs = page.parent / "logs" / str(first["experiment"])
        lines += [
            f"{len(failed)} {noun} failed, the first in experiment {first['experiment']}: {first['reason']} ({logs})"
        ]
    answers = [f"{one.title}: {_opening(text)}" for one in figures if one.question and (text := one.answer())]
    findings = [] if answers else [one for one in all_findings if not one.small][:STRONGEST]
    for number, finding in enumerate(findings, 1):
        lines += [f"{number}. {finding.title}", *([f"   {_opening(finding.text)}"] if finding.text else [])]
    lines += answers or ([] if findings else ["No finding."])
    lines += [f"Undecided: {sentence}" for sentence in undecided(tables)[: _OPEN - bool(len(failed) or answers)]]
    return [*(plain(line, _WIDE) for line in lines), f"All of it: {page}"]


def _opening(answer: str) -> str:
    """The first sentences of an answer that fit into a terminal, and at least one."""
    first, *others = re.split(r"(?<=\.) (?=[A-Z])", answer)
    while others and len(first) + 1 + len(others[0]) <= _SHORT:
        first = f"{first} {others.pop(0)}"
    return first


def report(
    page: Path,
    tables: Tables,
    all_findings: Sequence[Finding],
    figures: Iterable[Drawn],
    measured: Runs,
    samples: Samples,
    left_out: Sequence[str],
    again: Again,
) -> None:
    """Write the report. Raises DamagedError if an input is damaged."""
    runs = tables["runs"]
    settings = sections.settings(runs)
    cells = Cells(page, tables, settings, again.run)
    cells.read(measured, samples)
    shown, empty = _figures(figures, runs)
    pages_of.write(
        "workflow.html.jinja",
        page,
        version=beyond_ram.__version__,
        machine=sections.machine(runs),
        stacks=list(sections.stacks(runs)),
        packages=sections.packages(runs),
        failures=list(sections.failures(runs)),
        **_findings(all_findings, tables, cells, again),
        share=percent(SMALLEST_SHARE),
        without_findings=_without_findings(all_findings, tables),
        bumps=list(sections.bumps(tables.get("changes"), tables.get("stack_differences"))),
        longer=again.longer(),
        undecided=[*undecided(tables), *tables.get("comparisons", runs).attrs.get("warnings", ())],
        unchanged=unchanged(tables),
        sessions=sections.sessions(pd.read_csv(PACKAGE / SHIPPED_SPREAD), tables.get("comparisons")),
        left_out=[*left_out, *empty],
        named=sections.named(sections.stacks(runs)),
        answers=sorted(
            (figure for _, group in shown for figure in group if figure["question"]), key=lambda one: one["place"]
        ),
        chapters=shown,
        ladders=len(tables.get("ladders", ())) > 0,
        **_table_sections(tables),
        cells=cells.lines,
        tables=sorted(tables),
        pack_of=pages_of.packed({line["path"]: line["pack"] for line in cells.lines}),
        packs=cells.packs,
    )


def _without_findings(all_findings: Sequence[Finding], tables: Tables) -> str:
    """Why there is no finding, or only small ones."""
    if not len(tables.get("comparisons", ())):
        of_scripts = "Of a script, stacks and the values of axis `side` are compared."
        return f"Nothing was compared: table `comparisons` has no line. {of_scripts}"
    return f"No difference is larger than {f'noise and {percent(SMALLEST_SHARE)}' if all_findings else 'noise'}."


def _findings(all_findings: Sequence[Finding], tables: Tables, cells: Cells, again: Again) -> dict[str, Any]:
    """The template values of the findings."""
    large = [finding for finding in all_findings if not finding.small]
    rows = [_finding(finding, tables, cells, again) for finding in large]
    return {
        "strongest": rows[:STRONGEST],
        "findings": rows,
        "smaller": [_finding(finding, tables, cells, again) for finding in all_findings if finding.small],
    }


def _table_sections(tables: Tables) -> dict[str, Any]:
    """The template values of the sections that show a table; empty for a table that was not made."""
    changed = tables.get("changes")
    return {
        "claims": sections.claims(tables["comparisons"], tables["runs"]) if "comparisons" in tables else [],
        "post": POST,
        "holders": list(sections.holders(tables["holders"])) if "holders" in tables else [],
        "changes": [] if changed is None else changes.in_words(changed),
        "changed": "" if changed is None else changes.counts(changed),
        "differences": [] if changed is None else sections.differences(changed, tables.get("stack_differences")),
    }


def _figures(figures: Iterable[Drawn], runs: pd.DataFrame) -> tuple[list[tuple[str, list[dict[str, Any]]]], list[str]]:
    """The figures of each chapter, and the titles of empty figures with the reason."""
    shown: dict[str, list[dict[str, Any]]] = {}
    empty = []
    for place, figure in enumerate(figures):
        caption = figure.caption()
        if (text := caption[0].striptags()).startswith(NOT_DRAWN):
            empty.append(f"{figure.title} ({text.removeprefix(NOT_DRAWN).rstrip('.')})")
            continue
        own = runs[runs["experiment"].isin(figure.experiments)]
        shown.setdefault(figure.chapter, []).append(
            {
                "name": figure.name,
                "place": place,
                "title": figure.title,
                "question": figure.question,
                "svg": address(figure.svg),
                "caption": caption,
                "stacks": list(dict.fromkeys(own["stack"])),
            }
        )
    return [*shown.items()], empty


def _finding(finding: Finding, tables: Tables, cells: Cells, again: Again) -> dict[str, Any]:
    """A finding with its cells, for the template."""
    seen = [cells.of[cell] for cell in dict.fromkeys(map(key, finding.seen)) if cell in cells.of]
    return {
        "title": finding.title,
        "text": finding.text,
        "cells": [
            (line["path"], ", ".join(named_once(line["experiment"], line["stack"], line["setting"]))) for line in seen
        ],
        "command": again.finding(finding),
    }
