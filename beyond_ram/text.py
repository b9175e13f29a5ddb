"""Make text from data (a reason, a version, a name) safe for figures and pages: it is shown as text, never as
markup. Also lists, tables and hints for a terminal."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from . import mask_secrets

NAME = r"[a-z0-9][a-z0-9._-]*"
"""A name of an experiment, stack, corpus, token dataset or repository, as a regular expression."""
# Control characters, characters that change the writing direction, line separators, lone surrogates.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]+")
# Commands to a terminal, such as colours and titles.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)(?=:|$)")
_LONGEST, _LONGEST_LINE = 10_000, 300


def plain(text: str, most: int) -> str:
    """One line without invisible characters, of about `most` characters at most."""
    left_out = f"… ({len(text):,} characters)" if len(text) > most else ""
    return _UNSEEN.sub(" ", text[:most]).strip() + left_out


def did_you_mean(wrong: str, names: Iterable[str], least: float = 0.6) -> str:
    """The end of a message about an unknown name: the most similar one; empty if none is at least so similar (0 to
    1)."""
    close = difflib.get_close_matches(wrong, list(names), 1, least)
    return f"; did you mean {close[0]!r}?" if close else ""


def first_of(names: Iterable[object], most: int) -> str:
    """Names in a line: the first few, and how many more there are."""
    listed = list(map(str, names))
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def in_columns(rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """A table for a terminal. The first `left` columns are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (word.ljust(width) if place < left else word.rjust(width)
                 for place, (word, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        yield "  ".join(cells).rstrip()


def last_line(text: str, otherwise: str) -> str:
    """The last line of a program's output that shows anything, as `foreign` shows it; `otherwise` without one."""
    # A secret may have begun lines before.
    every, lines = _TERMINAL.sub("", text), _shown(mask_secrets.in_text(_TERMINAL.sub("", text)))
    if len(lines) < len(_shown(every)):  # hidden with all that follows: of an error its kind is shown
        kind = _ERROR.match(_shown(every)[-1])
        return f"{kind[0]}: {mask_secrets.MASK}" if kind else mask_secrets.MASK
    if len(lines) > 1 and not mask_secrets.in_text(" ".join(lines[-2:])).endswith(lines[-1]):
        return mask_secrets.MASK  # its name stands at the end of the line before
    return lines[-1] if lines else otherwise


def _shown(text: str) -> list[str]:
    """The lines that show anything."""
    return [line for one in text.splitlines() if (line := plain(one[:_LONGEST_LINE], _LONGEST_LINE))]


def foreign(text: str) -> str:
    """A program's text in one line of 300 characters at most, without secrets, colours and control characters."""
    line = plain(mask_secrets.in_text(_TERMINAL.sub("", text[:_LONGEST]))[:_LONGEST_LINE], _LONGEST_LINE)
    return mask_secrets.in_text(line)  # a name and its value may have been in two lines
