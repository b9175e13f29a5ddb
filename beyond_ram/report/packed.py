"""Compressed text in a page, which the page unpacks on demand. Markup in the text cannot break out of it."""

import base64
import gzip
import json
from typing import Any

import markupsafe


def packed(text: str) -> markupsafe.Markup:
    """A text as gzip in base64. The result is always the same."""
    compressed = gzip.compress(text.encode("utf-8", "replace"), compresslevel=9, mtime=0)
    return markupsafe.Markup(base64.b64encode(compressed).decode())


def packed_json(value: Any) -> markupsafe.Markup:
    """A value as compressed JSON. Raises ValueError for NaN, which JSON does not have."""
    return packed(json.dumps(value, separators=(",", ":"), allow_nan=False))
