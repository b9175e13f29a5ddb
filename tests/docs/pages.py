"""Pages and their code blocks. Indented code is shell; a fence names its language.

A comment above a block, `<!-- KEY: VALUE -->`, is invisible to readers:

    not run    why its commands are not run
    planned    why its calls of snakemake are dry runs
    slow       why it takes long
    until      output of a command that does not end, once it is ready; it is interrupted then
    given      Python that runs before a block of Python
    stack      the stack whose interpreter runs a block of Python
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from ..conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "config" / "README.md", *sorted(ROOT.glob("docs/*.md"))]
NOTES = ("not run", "planned", "slow", "until", "given", "stack")
_NOTE = re.compile(r"<!-- ([\w ]+): (.*?) -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code."""

    page: Path
    line: int
    language: str
    """`sh` if indented; empty if a fence names no language."""
    text: str
    notes: tuple[tuple[str, str], ...] = ()

    def note(self, key):
        return dict(self.notes).get(key)

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page, text=None):
    """The blocks of a page, in its order."""
    notes = ()
    for token in MarkdownIt().disable("inline").parse(page.read_text() if text is None else text):
        if token.type in ("code_block", "fence") and token.map:
            language = "sh" if token.type == "code_block" else token.info.strip()
            yield Block(page, token.map[0] + 1, language, token.content, notes)
        notes = (*notes, *_NOTE.findall(token.content)) if token.type == "html_block" else ()


def spans(page):
    """Inline code in the text of a page."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        yield from (child.content for child in token.children or () if child.type == "code_inline")


def links(page):
    """The targets of the links of a page."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        for child in token.children or ():
            if child.type == "link_open":
                yield str(child.attrs["href"])


def anchors(page):
    """The anchors of the headings of a page, as GitHub and MyST name them."""
    tokens = MarkdownIt().parse(page.read_text())
    titles = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
