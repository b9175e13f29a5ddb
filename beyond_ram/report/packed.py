"""Compressed text in a page, which the page unpacks on demand. Markup in the text cannot break out of it."""

import base64
import functools
import gzip
import json
from importlib import resources
from typing import Any

import markupsafe


def packed(text: str) -> markupsafe.Markup:
    """A text as gzip in base64. The result is always the same."""
    compressed = gzip.compress(text.encode("utf-8", "replace"), compresslevel=9, mtime=0)
    return markupsafe.Markup(base64.b64encode(compressed).decode())


def packed_json(value: Any) -> markupsafe.Markup:
    """A value as compressed JSON. Raises ValueError for NaN, which JSON does not have."""
    return packed(json.dumps(value, separators=(",", ":"), allow_nan=False))


@functools.cache
def plotly() -> markupsafe.Markup:
    """Plotly's JavaScript bundle."""
    return packed(resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8"))


@functools.cache
def datatables() -> tuple[markupsafe.Markup, markupsafe.Markup]:
    """DataTables' bundle from itables: a JavaScript module and its style sheet."""
    folder = resources.files("itables").joinpath("html")
    script, style = (folder.joinpath(f"dt_bundle.{ending}").read_text(encoding="utf-8") for ending in ("js", "css"))
    return packed(script), packed(style)
