"""What the pages quote: small tables, and the blocks of the pages that cog makes of them.

A folder here is a set of tables (CSV) of one occasion; provenance.yaml beside them says what was run, when and where.
`docs/renew.py` takes tables from a results folder and makes the blocks again. Each function prints a block.
"""

import functools
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from beyond_ram.analysis.findings import Finding, findings, undecided
from beyond_ram.report import sections

FOLDER = Path(__file__).parent
WIDE = 124
_TIMES = {"k": 1e3, "M": 1e6, "G": 1e9}
_UNBROKEN = {"break_long_words": False, "break_on_hyphens": False}


def read(path: Path) -> pd.DataFrame:
    """A table of a set. Only what is empty is missing: a stack or a remedy may be called `none`."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """All tables of a set, by name."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.csv"))}


@functools.cache
def _findings(folder: Path) -> list[Finding]:
    return findings(tables(folder))


def provenance(name: str) -> dict[str, str]:
    """What was run for a set, when and where."""
    known: dict[str, str] = yaml.safe_load((FOLDER / name / "provenance.yaml").read_text(encoding="utf-8"))
    return known


class _Value(float):
    """A number of a table: one that is not there is a dash, and `{peak_bytes:M.1f}` writes millions of it (k, G)."""

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
        code_whole = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), paragraph)
        lines = textwrap.fill(code_whole, WIDE, subsequent_indent="  " * paragraph.startswith("- "), **_UNBROKEN)
        print(lines.replace("\0", " "))


def table(name: str, columns: Mapping[str, str] | None = None, *, where: str = "", order: str = "") -> None:
    """Lines of a table: of each column the heading, and how it is written, as in "{n} of {rows:,.0f}".

    Without columns all of them are shown, under their own names.
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


def measured(name: str) -> None:
    """When, where and by what command a set was measured."""
    known = provenance(name)
    took = f", in {known['minutes']} minutes" if "minutes" in known else ""
    note = f" {known['note']}" if "note" in known else ""
    _show(
        f"*Measured on {known['date']} with commit {_commit(known['commit'])} ({known['machine']}){took}: "
        f"`{known['command']}`.{note}*"
    )


def _commit(commits: str) -> str:
    """Commits as they are spoken of: in seven letters, and whether the code was as it was committed."""
    return re.sub(r"([0-9a-f]{7})[0-9a-f]*(-dirty)?", lambda one: one[1] + " and changes to it" * bool(one[2]), commits)


def found(name: str, *experiments: str) -> None:
    """The findings of a set, as its report has them: all that are not small, or all of some experiments."""
    told = [
        one for one in _findings(FOLDER / name) if (one.experiment in experiments if experiments else not one.small)
    ]
    _show(*map(_told, told) if told else ["Nothing was shown."])


def _told(finding: Finding) -> str:
    """A finding as an item of a list, without its evidence, which is the report's."""
    text = re.sub(r" Evidence: .*", "", finding.text)
    return f"- **{finding.title}.** {text}{' *' + finding.action + '*' if finding.action else ''}"


def in_brief(name: str, most: int = 3) -> None:
    """The strongest findings of a set, of each the first sentence, and what is not decided."""
    told = [one for one in _findings(FOLDER / name) if not one.small][:most]
    _show(
        *(f"- **{one.title}.** {re.split(r'(?<=[.]) (?=[A-Z])', one.text)[0]}" for one in told),
        *(f"- {sentence}" for sentence in undecided(tables(FOLDER / name))[:1]),
    )


def claims(name: str) -> None:
    """Under how many of the conditions that were run each published claim holds, as the report counts it."""
    told = sections.claims(read(FOLDER / name / "claims.csv"))
    _show(*(f"- **{one['claim']}**: {one['summary']}" for one in told))


def caption(name: str, figure: str, since: str = "") -> None:
    """The caption of a figure, as the workflow wrote it; all of it, or since a word."""
    text = (FOLDER / name / f"{figure}.rst").read_text(encoding="utf-8")
    without_escapes = re.sub(r"\\(.)", r"\1", " ".join(text.split()))
    _show(f"*{without_escapes[without_escapes.index(since) :].strip()}*")
