"""Pages of HTML, from a template: whole or not at all."""

from pathlib import Path
from typing import Any

import jinja2

from .files import whole


def write(template: str, page: str, **values: Any) -> None:
    """Fill the template in a file and write the page. Raises jinja2.UndefinedError where a value is missing."""
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, autoescape=True
    )
    text = environment.from_string(Path(template).read_text(encoding="utf-8")).render(**values)
    with whole(page) as partial:
        partial.write_text(text, encoding="utf-8")
