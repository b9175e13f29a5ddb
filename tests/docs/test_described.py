"""Schema and page generated from the config's model, and shipped configs that follow it."""

import importlib
import json
import sys

import jsonschema
import pytest
import yaml

from ..conftest import ROOT

SCHEMA = ROOT / "schemas" / "config.schema.json"
SHIPPED = [ROOT / "config.yaml", *sorted((ROOT / "config").glob("*.yaml"))]


@pytest.fixture
def described(monkeypatch):
    """docs/described.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield importlib.import_module("described")
    sys.modules.pop("described")


def test_schema_is_up_to_date(described):
    assert SCHEMA.read_text() == described.schema(), "run `uv run python docs/renew.py`"


@pytest.mark.slow
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configs_follow_the_schema_and_name_it(path):
    text = path.read_text()
    header = text.splitlines()[0]
    assert header.startswith("# yaml-language-server: $schema=")
    schema = path.parent / header.partition("$schema=")[2]
    jsonschema.validate(yaml.safe_load(text), json.loads(schema.read_text()))


def test_every_key_has_a_description():
    described = json.loads(SCHEMA.read_text())
    undescribed = [
        f"{name}.{key}"
        for name, part in {"Config": described, **described["$defs"]}.items()
        for key, field in part["properties"].items()
        if "description" not in field and "const" not in field
    ]
    assert not undescribed


def sections(page):
    """The lines of the tables below each heading, by key."""
    by_heading = {}
    for part in page.split("\n### ")[1:]:
        heading, _, rest = part.partition("\n")
        by_heading[heading] = {line.split("`")[1]: line for line in rest.splitlines() if line.startswith("| `")}
    return by_heading


@pytest.mark.parametrize(
    ("every", "heading", "kind", "ending"),
    [
        ("Every corpus", "Corpus", "source", "Corpus"),
        ("Every repository", "Repository", "source", "Repository"),
        ("Every experiment", "Workload", "workload", "Experiment"),
    ],
)
def test_common_keys_are_described_once_and_others_with_their_kind(every, heading, kind, ending, described):
    tables, parts = sections("\n" + described.keys()), json.loads(SCHEMA.read_text())["$defs"]
    members = [part for name, part in parts.items() if name.endswith(ending)]
    assert len(members) > 2
    common = tables.get(every, {})
    for member in members:
        fields = member["properties"]
        matrix = fields.get("matrix", {}).get("$ref", "").rpartition("/")[2]
        fields |= parts[matrix]["properties"] if matrix else {}
        own = tables[f"{heading} `{fields[kind]['const']}`"]
        assert not {*own.values()} & {*common.values()}, "described twice"
        lines = common | own
        assert {*lines} == {*fields} - {kind, "matrix"}
        for key, line in lines.items():
            assert line.endswith(f" {fields[key]['description']} |")
            assert f"| `{json.dumps(fields[key].get('default'))}` |" in line or "| required |" in line


def test_every_shipped_stack_is_described():
    page = (ROOT / "docs" / "stacks.md").read_text(encoding="utf-8")
    rows = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert [path.stem for path in (ROOT / "envs").glob("*.in") if f"`{path.stem}`" not in rows] == []
