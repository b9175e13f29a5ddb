"""Section `tokenise`: which of its keys decide ids, faults, and whether the command's records are as copied."""

import argparse
import copy
import json

import pytest

from beyond_ram.cli import tokenize
from beyond_ram.experiment import ConfigError, load
from beyond_ram.experiment.own_files import Tokenise

from ..conftest import ROOT

SECTION = {"inputs": ["data"], "out": "ids", "shards": 2}
EVERY = {"format": "bin", "text_column": "body", "append": "<s>", "no_special_tokens": True, "stack": "encoder"}


@pytest.fixture
def section(tmp_path):
    (tmp_path / "tokenizer.json").touch()
    return {**copy.deepcopy(SECTION), "tokenizer": str(tmp_path)}


def parsed(words):
    """What `beyond-ram tokenize` understands."""
    parser = argparse.ArgumentParser()
    tokenize.add_to(parser.add_subparsers())
    return vars(parser.parse_args(["tokenize", *words, "--", "data"]))


def test_options_are_those_of_the_command(section):
    given = Tokenise.model_validate(section | EVERY | {"verify_share": 0, "sha256": True})
    of_shard, joining = parsed(given.options()), parsed(given.options(joining=True))
    assert EVERY.items() <= of_shard.items()
    assert (of_shard["tokenizer"], of_shard["out"]) == (section["tokenizer"], "ids")
    assert (of_shard["verify_share"], of_shard["sha256"]) == (0, False)
    assert joining == of_shard | {"verify_share": None, "sha256": True}
    default = parsed(["--tokenizer=t", "--out=o"])
    alone = parsed(Tokenise.model_validate(section).options())
    assert alone | {"tokenizer": "t", "out": "o"} == default


def test_config_needs_no_experiments_beside_the_section(section):
    config = load({"tokenise": section}, [], ROOT)
    assert config.run() == {}
    assert config.tokenise
    with pytest.raises(ConfigError, match="none is left to run"):
        load({"results": "results"}, [], ROOT)


def test_copy_is_as_recorded_while_all_files_have_their_sizes(section, tmp_path):
    own = Tokenise.model_validate(section | {"out": str(tmp_path / "ids")})
    record, other, file = tmp_path / "record", tmp_path / "copy", tmp_path / "ids" / "tokens.bin"

    def write(text, question="question"):
        record.write_text(text)
        other.write_text(f"{question}\n{text}")

    def is_recorded():
        return own.is_recorded(str(record), str(other), "question")

    file.parent.mkdir()
    assert not is_recorded()
    of_shard, of_all = json.dumps({"files": {file.name: [3, "digest"]}}), json.dumps({"files": [file.name]})
    write(of_shard)
    assert not is_recorded()
    file.write_bytes(b"ids")
    assert is_recorded()
    write(of_shard, "another")
    assert not is_recorded()
    write(of_shard)
    file.write_bytes(b"id")
    assert not is_recorded()
    write(of_all)
    assert is_recorded()
    other.write_text(f"question\n{of_shard}")
    assert not is_recorded()
    for damaged in ("", "[]", '{"files": {"tokens.bin": 3}}'):
        write(damaged)
        assert not is_recorded()
