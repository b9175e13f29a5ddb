"""Fill a template and write the page atomically, with everything inside."""

import base64
import functools
import gzip
import json
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from ..chart import SCRIPT, STYLE
from ..files import write as write_file
from ..text import plain

TEMPLATES = Path(str(resources.files(__package__).joinpath("templates")))
_MOST = 5000
MANY_LINES = 1000
"""A table with more lines is packed, and unpacked where it is shown."""


def sources() -> list[Path]:
    """The templates, styles and scripts of pages."""
    return [STYLE, SCRIPT, *sorted(path for path in TEMPLATES.iterdir() if path.is_file())]


def write(template: str, page: Path | str, **values: Any) -> None:
    """Fill a template and write the page, like `files.write`.

    Raises jinja2.UndefinedError if a value is missing, OSError.
    """
    files = {"page.css": [STYLE, TEMPLATES / "page.css"], "page.js": [SCRIPT, TEMPLATES / "page.js"]}
    own = {name: markupsafe.Markup("".join(one.read_text("utf-8") for one in ones)) for name, ones in files.items()}
    write_file(page, render(template, own=own, **values))


def render(template: str, **values: Any) -> str:
    """The text of a template. Every value is escaped, shortened, and without control characters."""
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, autoescape=True, finalize=_shown,
    )  # fmt: skip
    environment.filters |= {"number": number, "packed": packed}
    environment.tests["many"] = lambda lines: lines > MANY_LINES
    return environment


def _shown(value: Any) -> Any:
    return plain(value, _MOST) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


def packed(value: Any) -> markupsafe.Markup:
    """A value as JSON, compressed for a script of the page; the same for the same value. Raises ValueError for NaN."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return markupsafe.Markup(base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode())


def number(value: float | None, form: str = "{:,.0f}") -> str:
    """A number for a table; empty if unknown."""
    return "" if value is None or value != value else form.format(value)
