"""Small files of JSON, whole or not at all. Standard library only."""

import json
from pathlib import Path


def write_json(path, value):
    partial = Path(f"{path}.partial")
    partial.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)
