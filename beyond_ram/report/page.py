"""Fill a template and write the page atomically, with everything inside."""

import functools
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from ..files import whole
from ..text import plain
from .packed import datatables, packed_json, plotly

TEMPLATES = Path(str(resources.files(__package__).joinpath("templates")))
_MOST = 5000


def sources() -> list[Path]:
    """The templates, styles and scripts of pages."""
    return sorted(path for path in TEMPLATES.iterdir() if path.is_file())


def write(template: str, page: Path | str, *, into_streams: bool = False, **values: Any) -> None:
    """Fill a template and write the page, like `files.whole`.

    Raises jinja2.UndefinedError if a value is missing, OSError.
    """
    script, style = datatables()
    inlined = {
        name: markupsafe.Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js")
    }
    text = render(template, bundles={"plotly": plotly(), "datatables": script, "style": style}, own=inlined, **values)
    with whole(page, into_streams=into_streams) as partial:
        partial.write_text(text, encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """The text of a template. Every value is escaped, shortened, and without control characters."""
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, autoescape=True, finalize=_shown,
    )  # fmt: skip
    environment.filters |= {"number": number, "packed": packed_json}
    return environment


def _shown(value: Any) -> Any:
    return plain(value, _MOST) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value


def number(value: float | None, form: str = "{:,.0f}") -> str:
    """A number for a table; empty if unknown."""
    return "" if value is None or value != value else form.format(value)
