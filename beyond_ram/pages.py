"""HTML pages from templates, written atomically."""

import re
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from .files import write as write_file
from .text import plain

# A word in backticks.
_CODE = re.compile(r"(?<!\S)`(\w[\w.+-]*)`(?=[\s.,;)]|$)")
_LONGEST = 5000


def write(template: str, page: str, **values: Any) -> None:
    """Fill the template in a file and write the page. Raises jinja2.UndefinedError if a value is missing."""
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, autoescape=True
    )
    text = environment.from_string(Path(template).read_text(encoding="utf-8")).render(**values)
    write_file(page, text)


def caption(path: Path | str) -> list[markupsafe.Markup]:
    """The paragraphs of a figure's caption, as HTML: literally, except single `words` in backticks."""
    paragraphs = Path(path).read_text(encoding="utf-8", errors="replace").split("\n\n")
    shown = (str(markupsafe.escape(plain(paragraph, _LONGEST))) for paragraph in paragraphs)
    return [markupsafe.Markup(_CODE.sub(r"<code>\1</code>", text)) for text in shown if text]
