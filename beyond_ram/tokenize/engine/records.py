"""Small files of JSON, whole or not at all. Standard library only."""

import hashlib
import json
from pathlib import Path


def write_json(path, value):
    partial = Path(f"{path}.partial")
    partial.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def write_record(path, value):
    """Write an object with a digest of itself, so that a damaged record is not believed."""
    write_json(path, {**value, "record_sha256": _digest(value)})


def read_record(path):
    """What `write_record` wrote; None where it is missing or damaged."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
        return value if value.pop("record_sha256") == _digest(value) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
