"""HTML pages from templates, written atomically."""

from pathlib import Path
from typing import Any

import jinja2
import markupsafe
from docutils import nodes  # type: ignore[import-untyped]
from docutils.core import publish_doctree  # type: ignore[import-untyped]

from .files import DamagedError
from .files import write as write_file

_SETTINGS = {"file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True, "report_level": 5}
# Everything that a caption may contain.
_OF_CAPTIONS = (nodes.document, nodes.paragraph, nodes.Text, nodes.title_reference)
_AS = {nodes.Text: "{}", nodes.title_reference: "<code>{}</code>"}


def write(template: str, page: str, **values: Any) -> None:
    """Fill the template in a file and write the page. Raises jinja2.UndefinedError if a value is missing."""
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, autoescape=True
    )
    text = environment.from_string(Path(template).read_text(encoding="utf-8")).render(**values)
    write_file(page, text)


def caption(path: Path | str) -> list[markupsafe.Markup]:
    """The paragraphs of a figure's caption, as HTML. Raises DamagedError for a link, a directive or Jinja."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    document = publish_doctree(text, settings_overrides=_SETTINGS)
    foreign = [node for node in document.findall() if not isinstance(node, _OF_CAPTIONS)]
    # Snakemake's own report runs Jinja over it.
    if foreign or any(begin in text for begin in ("{{", "{%", "{#")):
        raise DamagedError(f"{path}: holds markup that no caption has; delete it, and Snakemake makes it again")
    return [
        markupsafe.Markup("").join(markupsafe.Markup(_AS[type(part)]).format(part.astext()) for part in paragraph)
        for paragraph in document.findall(nodes.paragraph)
    ]
