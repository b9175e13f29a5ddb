"""A user's config over the default one: an experiment with its workload inherits nothing."""

import contextlib
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from beyond_ram.experiment import load, merge

from ..conftest import ROOT

DEFAULT = ROOT / "config.yaml"


def content(file):
    return yaml.safe_load(Path(file).read_text())


def read(tmp_path, text, overrides=None):
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    return merge.read([DEFAULT], [mine], overrides or {}, content)


MINE = """
experiments:
  growth: {workload: tokenize, matrix: {stack: [current], corpus: [binaries], num_files: [1, 2]}}
  batches: {repeats: 3, matrix: {num_files: [1]}}
"""


def test_an_experiment_with_its_workload_inherits_nothing(tmp_path):
    config, files = read(tmp_path, MINE)
    assert config["experiments"]["growth"] == yaml.safe_load(MINE)["experiments"]["growth"]
    assert {cell["writer_batch_size"] for cell in load(config, files, ROOT).cells("growth")} == {1000}


def test_experiment_without_its_workload_changes_the_default_one(tmp_path):
    default = content(DEFAULT)["experiments"]["batches"]
    config, _ = read(tmp_path, MINE)
    changed = {"repeats": 3, "matrix": default["matrix"] | {"num_files": [1]}}
    assert config["experiments"]["batches"] == default | changed


def test_a_token_dataset_with_its_origin_inherits_nothing(tmp_path):
    config, _ = read(tmp_path, "tokens: {few: {path: train.npy}, beyond: {width: 2048}}")
    assert config["tokens"]["few"] == {"path": "train.npy"}
    assert config["tokens"]["beyond"] == {"rows": 500000, "width": 2048}


def test_defaults_none_leaves_out_the_default_config(tmp_path):
    text = f"defaults: none\ncorpora: {{binaries: {content(DEFAULT)['corpora']['binaries']}}}\n{MINE}"
    config, files = read(tmp_path, text.replace("  batches: {repeats: 3, matrix: {num_files: [1]}}\n", ""))
    assert files == [tmp_path / "mine.yaml"]
    assert set(config) == {"defaults", "corpora", "experiments", "results"}
    assert config["results"] == "results-mine"
    assert list(load(config, files, ROOT).run()) == ["growth"]


def test_defaults_none_leaves_out_only_the_default_file(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("results: mine\ntokens: {one: {rows: 1}}")
    second.write_text("defaults: none\ntokens: {two: {rows: 2}}")
    config, _ = merge.read([DEFAULT], [first, second], {"budget_min": 3}, content)
    assert config == {
        "results": "mine", "defaults": "none", "budget_min": 3, "tokens": {"one": {"rows": 1}, "two": {"rows": 2}},
    }  # fmt: skip


@pytest.mark.parametrize("file", sorted((ROOT / "config").glob("*.yaml")), ids=lambda file: file.name)
def test_shipped_configs_merge_as_snakemake_merges_them(file):
    """They do not depend on how files are merged."""
    by_snakemake = content(DEFAULT)
    update_config(by_snakemake, content(file))
    assert merge.merged([content(DEFAULT), content(file)]) == by_snakemake


def test_relative_paths_begin_in_the_folder(tmp_path):
    (tmp_path / "a[b] c").mkdir()
    folder = tmp_path / "a[b] c"
    (folder / "one.jsonl").write_text('{"text": "a"}\n')
    (folder / "tokenizer").mkdir()
    (folder / "tokenizer" / "tokenizer.json").write_text("{}")
    config = {
        "folder": str(folder),
        "results": "results-mine",
        "corpora": {"mine": {"source": "files", "glob": "*.jsonl", "tokenizer": {"path": "tokenizer"}}},
        "experiments": {
            "x": {"workload": "tokenize", "matrix": {"stack": ["current"], "corpus": ["mine"], "num_files": [1]}}
        },
    }
    checked = load(config, [], ROOT)
    assert checked.results == str(folder / "results-mine")
    assert checked.corpora["mine"].tokenizer.path == str(folder / "tokenizer")
    del config["folder"]
    with contextlib.chdir(folder):
        assert load(config, [], ROOT).results == "results-mine"
