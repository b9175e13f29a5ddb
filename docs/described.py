"""What docs/renew.py writes from the code: the schema of the config, and tables of its keys, events and columns."""

import ast
import inspect
import json
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_type_hints, is_typeddict

from beyond_ram.experiment.events import EVENTS, FIELDS, MEMORY
from beyond_ram.experiment.model import Config
from beyond_ram.metrics import COLUMNS, IDENTIFYING
from beyond_ram.records.run_json import RunRecord


def schema() -> str:
    """The JSON schema of the config."""
    described = Config.model_json_schema()
    # A config that is merged over the default one may be incomplete, so several sources may match part of a corpus.
    for node in (described, *described["$defs"].values()):
        node.pop("required", None)
    for name in _FAMILIES:
        branches = _branches(described["properties"][name])
        branches["anyOf"] = branches.pop("oneOf")
        branches.pop("discriminator")
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}
    return json.dumps(described, indent=2) + "\n"


# Maps of the config with entries of several kinds: the headings of all entries and of one, and the key with its kind.
_FAMILIES = {
    "corpora": ("Every corpus", "Corpus", "source"),
    "repositories": ("Every repository", "Repository", "source"),
    "experiments": ("Every experiment", "Workload", "workload"),
}
Fields = dict[str, dict[str, Any]]


def keys() -> str:
    """Markdown tables of keys. The common keys of a family come once, then each part's own keys."""
    described = Config.model_json_schema()
    parts = described["$defs"]
    documented, pages = set(), [_part("Config", described, _fields(described))]
    for family, (all_entries, word, kind) in _FAMILIES.items():
        members = _members(described["properties"][family], parts)
        # A matrix is described by its axes, the kind by the heading.
        fields = {name: _fields(part, kind, "matrix") for name, part in members.items()}
        axes = {name: _fields(parts.get(_matrix(part), {})) for name, part in members.items()}
        common, common_axes = _common(fields.values()), _common(axes.values())
        if common:
            every = {"description": f"Common keys. The other keys depend on `{kind}`."}
            pages.append(_part(all_entries, every, common, common_axes))
        for name, part in members.items():
            own, own_axes = _own(fields[name], common), _own(axes[name], common_axes)
            pages.append(_part(f"{word} `{part['properties'][kind]['const']}`", part, own, own_axes))
            documented |= {name, _matrix(part)}
    pages += [_part(name, part, _fields(part)) for name, part in parts.items() if name not in documented]
    return "\n".join(pages)


def _fields(part: dict[str, Any], *but: str) -> Fields:
    """The keys of a part except some, each with whether it is required."""
    required = part.get("required", ())
    return {
        key: {**field, "required": key in required}
        for key, field in part.get("properties", {}).items()
        if key not in but
    }


def _members(family: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """The possible parts of an entry of a map, by name."""
    names = (option["$ref"].rpartition("/")[2] for option in _branches(family)["oneOf"])
    return {name: parts[name] for name in names}


def _branches(family: dict[str, Any]) -> dict[str, Any]:
    """The node of an entry of a map that lists its kinds as `oneOf`."""
    entry = next(iter(family["patternProperties"].values()))
    return next((branch for branch in entry.get("anyOf", []) if "oneOf" in branch), entry)


def _matrix(part: dict[str, Any]) -> str:
    """The name of the part with the axes; empty without axes."""
    return str(part["properties"].get("matrix", {}).get("$ref", "")).rpartition("/")[2]


def _common(several: Iterable[Fields]) -> Fields:
    """The keys that all parts have, each in its most frequent form."""
    first, *others = every = list(several)
    keys = [key for key in first if all(key in other for other in others)]
    return {key: max((fields[key] for fields in every), key=[other[key] for other in every].count) for key in keys}


def _own(fields: Fields, common: Fields) -> Fields:
    """The keys of a part that differ from the common ones."""
    return {key: field for key, field in fields.items() if common.get(key) != field}


def _part(name: str, part: dict[str, Any], fields: Fields, axes: Fields | None = None) -> str:
    lines = [f"### {name}", "", part.get("description", ""), ""]
    for heading, own_fields in (("", fields), ("Axes, lists below `matrix`:", axes or {})):
        if own_fields:
            lines += [heading, ""] if heading else []
            lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
            lines += [_line(key, field) for key, field in own_fields.items()]
            lines.append("")
    return "\n".join(lines)


def _line(key: str, field: dict[str, Any]) -> str:
    default = "required" if field["required"] else f"`{json.dumps(field.get('default'))}`"
    return f"| `{key}` | {_kind(field)} | {default} | {field.get('description', '')} |"


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "discriminator" in field:
        return f"one of the kinds below, by its `{field['discriminator']['propertyName']}`"
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


def events() -> str:
    """Markdown tables of all events, and of their fields."""
    lines = ["| event | meaning | fields | fields of some workloads |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {event.meaning} | {_listed(event.fields)} | {_listed(event.optional)} |"
        for name, event in EVENTS.items()
    ]
    lines += ["", "| field | unit | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {field.unit} | {field.meaning} |" for name, field in FIELDS.items()]
    return "\n".join(lines) + "\n"


def _listed(names: tuple[str, ...]) -> str:
    memory = set(MEMORY) <= set(names)
    listed = [f"`{name}`" for name in names if not (memory and name in MEMORY)]
    return ", ".join([*listed, *(["memory of the process"] if memory else [])])


def columns() -> str:
    """Markdown tables of the measured columns and of the others."""
    lines = ["| column | in tables | meaning | unit | better | derivation | trust |", "|---|---|---|---|---|---|---|"]
    for column in COLUMNS:
        cells = (column.label, column.unit, column.direction, column.derivation, column.trust)
        lines.append(f"| `{column.key}` | {', '.join(column.tables)} | {' | '.join(cells)} |")
    lines += ["", "| column | meaning |", "|---|---|"]
    lines += [f"| `{name}{'…' if name.endswith('_') else ''}` | {meaning} |" for name, meaning in IDENTIFYING.items()]
    return "\n".join(lines) + "\n"


def record() -> str:
    """A Markdown table of the objects in run.json: where they are, and their keys with what stands below each field."""
    places: dict[Any, list[str]] = {}
    for kind, place in _objects(RunRecord, ""):
        places.setdefault(kind, []).append(f"`{place}`" if place else "")
    lines = ["| object | keys |", "|---|---|"]
    lines += [f"| {_where(at)}{_what(kind)} | {'; '.join(_keys_of(kind))} |" for kind, at in places.items()]
    return "\n".join(lines) + "\n"


def _objects(kind: Any, place: str) -> Iterator[tuple[Any, str]]:
    if is_typeddict(kind):
        yield kind, place
        for name, one in get_type_hints(kind).items():
            yield from _objects(one, f"{place}.{name}".lstrip("."))
    for one in get_args(kind):
        yield from _objects(one, place)


def _where(places: list[str]) -> str:
    return f"{', '.join(places)}: " if any(places) else ""


def _what(kind: Any) -> str:
    text = str(kind.__doc__).rstrip(".")
    return f"{text[0].lower()}{text[1:]}"


def _keys_of(kind: Any) -> Iterator[str]:
    name, texts = "", dict.fromkeys(get_type_hints(kind), "")
    for node in ast.parse(inspect.getsource(kind)).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign):
            name = ast.unparse(node.target)
        elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts[name] = " ".join(str(node.value.value).rstrip(".").split())
    for name, text in texts.items():
        yield f"`{name}` ({text[0].lower()}{text[1:]})" if text else f"`{name}`"
