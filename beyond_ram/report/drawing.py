"""Matplotlib drawings and their captions as parts of a page."""

import base64
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import markupsafe

from ..files import DamagedError
from ..text import plain

# A word in backticks.
_CODE = re.compile(r"(?<!\S)`(\w[\w.+-]*)`(?=[\s.,;)]|$)")
_LONGEST = 5000


def address(svg: Path | str) -> markupsafe.Markup:
    """A drawing as the address of an image, in which no browser runs scripts. Raises DamagedError if the file is no
    drawing."""
    try:
        tag = ET.parse(svg).getroot().tag
    except (ET.ParseError, OSError):
        tag = ""
    if tag != "{http://www.w3.org/2000/svg}svg":
        raise DamagedError(f"{svg}: no drawing; delete it, and Snakemake makes it again")
    return markupsafe.Markup(f"data:image/svg+xml;base64,{base64.b64encode(Path(svg).read_bytes()).decode()}")


def caption(path: Path | str) -> list[markupsafe.Markup]:
    """The paragraphs of a figure's caption, as HTML: literally, except single `words` in backticks."""
    paragraphs = Path(path).read_text(encoding="utf-8", errors="replace").split("\n\n")
    shown = (str(markupsafe.escape(plain(paragraph, _LONGEST))) for paragraph in paragraphs)
    return [markupsafe.Markup(_CODE.sub(r"<code>\1</code>", text)) for text in shown if text]
