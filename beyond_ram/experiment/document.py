"""Generates what is said about the config, events and columns from what knows them: the JSON schema, tables of docs.

    python -m beyond_ram.experiment.document

A test fails when any differs from what this writes.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..metrics import registry
from . import events
from .model import Config

SCHEMA = Path("schemas/config.schema.json")
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"


def schema() -> str:
    """The JSON schema of the config."""
    described = Config.model_json_schema()
    # What is merged over the default config need not be whole, so several sources may fit a part of a corpus.
    for node in (described, *described["$defs"].values()):
        node.pop("required", None)
    for name in ("corpora", "repositories", "experiments"):
        branches = next(iter(described["properties"][name]["patternProperties"].values()))
        branches = next((branch for branch in branches.get("anyOf", []) if "oneOf" in branch), branches)
        branches["anyOf"] = branches.pop("oneOf")
        branches.pop("discriminator")
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}
    return json.dumps(described, indent=2) + "\n"


def keys() -> str:
    """A Markdown table of keys for every part of the config."""
    described = Config.model_json_schema()
    parts = {"Config": described, **described["$defs"]}
    return "\n".join(_part(name, part) for name, part in parts.items())


def _part(name: str, part: dict[str, Any]) -> str:
    lines = [
        f"### {name}",
        "",
        part.get("description", ""),
        "",
        "| key | type | default | meaning |",
        "|---|---|---|---|",
    ]
    for key, field in part["properties"].items():
        default = "required" if key in part.get("required", ()) else f"`{json.dumps(field.get('default'))}`"
        if "const" in field:
            default = f"`{field['const']}`"
        lines.append(f"| `{key}` | {_kind(field)} | {default} | {field.get('description', '')} |")
    return "\n".join([*lines, ""])


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "const" in field:
        return "that word"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(dict.fromkeys(_kind(option) for option in field[several]))
    if "prefixItems" in field:
        return "pair of " + _kind(field["prefixItems"][0])
    if field.get("type") == "array":
        return "list of " + _kind(field["items"])
    if field.get("type") == "object":
        values = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties", {}))
        return "map from name to " + _kind(values)
    lowest = field.get("minimum", field.get("exclusiveMinimum", -1) + 1 if "exclusiveMinimum" in field else None)
    highest = field.get("maximum")
    bounds = f" from {lowest}" if lowest is not None else ""
    return str(field.get("type")) + bounds + (f" to {highest:,}" if highest is not None else "")


PAGES: Mapping[Path, Callable[[], str]] = {
    Path("docs/configuration.md"): keys,
    Path("docs/events.md"): events.table,
    Path("docs/columns.md"): registry.table,
}
"""Pages with a generated part, and what generates it."""


def page(path: Path, text: str) -> str:
    """A docs page with its generated part renewed. Raises ValueError where the marks are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: the marks of the generated part are missing")
    return f"{before}{BEGIN}\n{PAGES[path]()}\n{END}{after}"


def main() -> None:
    SCHEMA.write_text(schema(), encoding="utf-8")
    for path in PAGES:
        path.write_text(page(path, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
