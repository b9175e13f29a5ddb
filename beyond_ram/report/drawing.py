"""Matplotlib drawings and their captions as parts of a page. Ids get a prefix; parts that nobody sees are removed."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import markupsafe

from ..files import DamagedError
from ..text import plain

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_TAGS = {"svg", "g", "path", "use", "text", "tspan", "title", "defs", "clipPath", "rect", "image", "pattern"}
_LEFT_OUT = {"metadata", "style"}
_LOCAL = re.compile(r"url\(#([^)]*)\)")
# A word in backticks.
_CODE = re.compile(r"(?<!\S)`(\w[\w.+-]*)`(?=[\s.,;)]|$)")
_LONGEST = 5000


def inline(svg: Path | str, name: str) -> markupsafe.Markup:
    """The SVG of a drawing for a page, with `name` as prefix of its ids. Raises DamagedError if we did not make the
    file."""
    try:
        root = ET.parse(svg).getroot()
    except (ET.ParseError, OSError):
        raise _refused(svg) from None
    if root.tag != f"{{{_SVG}}}svg":
        raise _refused(svg)
    _clean(root, name, svg)
    root.set("role", "img")
    root.set("aria-labelledby", f"title-{name}")
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return markupsafe.Markup(ET.tostring(root, encoding="unicode"))


def _clean(element: ET.Element, name: str, svg: Path | str) -> None:
    """Remove invisible parts, refuse elements that our drawings never have, and prefix ids."""
    for child in list(element):
        tag = str(child.tag).rpartition("}")[2]
        if tag in _LEFT_OUT:
            element.remove(child)
        elif tag not in _TAGS:
            raise _refused(svg)
        else:
            _clean(child, name, svg)
    for key, value in list(element.attrib.items()):
        bare = key.rpartition("}")[2]
        if bare.startswith("on") or (bare == "href" and not value.startswith(("#", "data:image/png;base64,"))):
            raise _refused(svg)
        if bare == "id":
            element.set(key, f"{name}-{value}")
        elif bare == "href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(" in value:
            element.set(key, _LOCAL.sub(rf"url(#{name}-\1)", value))


def _refused(svg: Path | str) -> DamagedError:
    return DamagedError(
        f"{svg}: no drawing, or holds what no drawing of ours has; delete it, and Snakemake makes it again"
    )


def caption(path: Path | str) -> list[markupsafe.Markup]:
    """The paragraphs of a figure's caption, as HTML: literally, except single `words` in backticks."""
    paragraphs = Path(path).read_text(encoding="utf-8", errors="replace").split("\n\n")
    shown = (str(markupsafe.escape(plain(paragraph, _LONGEST))) for paragraph in paragraphs)
    return [markupsafe.Markup(_CODE.sub(r"<code>\1</code>", text)) for text in shown if text]
