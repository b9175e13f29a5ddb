"""What is generated from the model is what the model generates, and the shipped configs follow it."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from beyond_ram.experiment import document

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = [ROOT / "config.yaml", *sorted((ROOT / "config").glob("*.yaml"))]
RENEW = "run `python -m beyond_ram.experiment.document`"


def test_schema_is_up_to_date() -> None:
    assert (ROOT / document.SCHEMA).read_text() == document.schema(), RENEW


@pytest.mark.parametrize("path", document.PAGES, ids=str)
def test_docs_are_up_to_date(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert text == document.page(path, text), RENEW


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configs_follow_the_schema_and_name_it(path: Path) -> None:
    text = path.read_text()
    header = text.splitlines()[0]
    assert header.startswith("# yaml-language-server: $schema=")
    schema = path.parent / header.partition("$schema=")[2]
    jsonschema.validate(yaml.safe_load(text), json.loads(schema.read_text()))


def test_every_key_says_what_it_means() -> None:
    described = json.loads((ROOT / document.SCHEMA).read_text())
    silent = [
        f"{name}.{key}"
        for name, part in {"Config": described, **described["$defs"]}.items()
        for key, field in part["properties"].items()
        if "description" not in field and "const" not in field
    ]
    assert not silent
