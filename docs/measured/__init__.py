"""The tables that the pages quote, and the functions that print blocks of the pages from them.

A folder here is a set of tables (CSV); its provenance.yaml says what was run, when and where.
`docs/renew.py` copies tables from a results folder and runs cog, which calls these functions.
"""

import functools
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from beyond_ram.analysis import claims as published
from beyond_ram.analysis.findings import Finding, findings
from beyond_ram.stacks.differences import pins

FOLDER = Path(__file__).parent
WIDE = 124
_TIMES = {"k": 1e3, "M": 1e6, "G": 1e9}
_UNBROKEN = {"break_long_words": False, "break_on_hyphens": False}


def read(path: Path) -> pd.DataFrame:
    """Read a table of a set. Only an empty field is missing: a stack or a remedy may be called `none`."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read all tables of a set, by name."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.csv"))}


@functools.cache
def _findings(folder: Path) -> list[Finding]:
    return findings(tables(folder))


def provenance(name: str) -> dict[str, str]:
    """Return what was run for a set, when and where."""
    content: dict[str, str] = yaml.safe_load((FOLDER / name / "provenance.yaml").read_text(encoding="utf-8"))
    return content


class _Value(float):
    """A number of a table: a missing one is a dash; `{peak_bytes:M.1f}` writes it in millions (k, G)."""

    def __format__(self, spec: str) -> str:
        if self != self:
            return "-"
        if spec[:1] in _TIMES:
            return format(self / _TIMES[spec[0]], spec[1:])
        return super().__format__(spec or (",.0f" if self.is_integer() else ",.4g"))


def _line(values: Mapping[str, Any]) -> Mapping[str, Any]:
    is_number = {key: isinstance(value, int | float) and not isinstance(value, bool) for key, value in values.items()}
    return {key: _Value(value) if is_number[key] else value for key, value in values.items()}


def _lines(name: str, where: str, order: str) -> list[Mapping[str, Any]]:
    table = read(FOLDER / f"{name}.csv")
    if where:
        table = table.query(where)
    if order:
        table = table.sort_values(order.lstrip("-"), ascending=order[0] != "-", kind="stable")
    if table.empty:
        raise SystemExit(f"docs/measured/{name}.csv: no line where {where}")
    return [_line(values) for values in table.to_dict("records")]


def _show(*paragraphs: str) -> None:
    for paragraph in paragraphs:
        code_whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), paragraph)
        lines = textwrap.fill(code_whole, WIDE, subsequent_indent="  " * paragraph.startswith("- "), **_UNBROKEN)
        print(lines.replace("\0", " "))


def table(name: str, columns: Mapping[str, str] | None = None, *, where: str = "", order: str = "") -> None:
    """Print lines of a table: for each column its heading and format, as in "{n} of {rows:,.0f}".

    Without `columns`, print all columns under their own names.
    """
    lines = _lines(name, where, order)
    shown = columns or {key: f"{{{key}}}" for key in lines[0]}
    rows = [[_cell(form.format_map(line)) for form in shown.values()] for line in lines]
    aligned = [
        "--:" if all(re.match(r"-?\d|-$", cell) for cell in column) else "---" for column in zip(*rows, strict=True)
    ]
    print(*(f"| {' | '.join(row)} |" for row in [list(shown), aligned, *rows]), sep="\n")


def _cell(text: str) -> str:
    return re.sub(r" \(- to -\)", "", text).replace("|", "\\|")


def atlas_coverage() -> None:
    """Print for each library of the atlas what ran: cases, releases, runs, and cells that did not run."""
    cells = read(FOLDER / "atlas" / "cells.csv")
    print("| library | cases | releases | from | to | runs | cells that ran | cells not run |")
    print("| --- | --: | --: | --- | --- | --: | --: | --: |")
    for library, own in cells.groupby("library"):
        real = own[own["date"].notna()]
        dates = real["date"].sort_values()
        numbers = [own["case"].nunique(), real["version"].nunique(), dates.iloc[0], dates.iloc[-1]]
        numbers += [own["runs"].sum(), (real["runs"] > 0).sum(), (real["runs"] == 0).sum()]
        print(f"| {library} | {' | '.join(map(str, numbers))} |")


def measured(name: str) -> None:
    """Print when, where and by what command a set was measured."""
    made = provenance(name)
    took = f", in {made['minutes']} minutes" if "minutes" in made else ""
    note = f" {made['note']}" if "note" in made else ""
    _show(
        f"*Measured on {made['date']} with commit {_commit(made['commit'])} ({made['machine']}){took}: "
        f"`{made['command']}`.{note}*"
    )


def _commit(commits: str) -> str:
    """Shorten commits to seven letters, and say if the code differed from the commit."""
    return re.sub(r"([0-9a-f]{7})[0-9a-f]*(-dirty)?", lambda one: one[1] + " and changes to it" * bool(one[2]), commits)


def show_findings(name: str, *experiments: str) -> None:
    """Print the findings of a set, or of some of its experiments: title and confirmed effects of each."""
    shown = [
        one for one in _findings(FOLDER / name) if (one.experiment in experiments if experiments else not one.small)
    ]
    _show(*map(_item, shown) if shown else ["No finding is confirmed."])


def _item(finding: Finding) -> str:
    effects = re.split(r" Undecided: | [^.]*: confirmed in ", finding.text)[0]
    return f"- **{finding.title}.** {effects}"


def claims(name: str) -> None:
    """Print the measured factors of each published claim, the lowest and the highest."""
    locks = (FOLDER.parents[1] / "envs").glob("stream-*.txt")
    datasets = {path.stem: pins(path.read_text(encoding="utf-8"))["datasets"] for path in locks}
    lines = pd.DataFrame(published.claims(read(FOLDER / name / "comparisons.csv"), datasets))
    for claim, of in lines.groupby("claim", sort=False):
        factors = f"{of['measured'].min():.3g} to {of['measured'].max():.3g}"
        _show(f"- **{claim}**: {factors} times, under {len(of)} conditions (n = {of['n'].max():.0f})")
