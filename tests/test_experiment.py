"""The config's model, the path grammar, and the one clear line a fault."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from beyond_ram.experiment import Cell, ConfigError, interrupted_pattern, load, memory, parse, run_pattern


@pytest.fixture
def config(root: Path) -> dict[str, Any]:
    return copy.deepcopy(yaml.safe_load((root / "config.yaml").read_text()))


def faults(config: dict[str, Any], root: Path) -> str:
    with pytest.raises(ConfigError) as error:
        load(config, [root / "config.yaml"], root)
    return str(error.value)


def test_every_path_is_read_back_as_its_cell(config: dict[str, Any], root: Path) -> None:
    import re

    checked = load(config, root=root)
    cells = [cell for name in checked.experiments for cell in checked.cells(name)]
    assert len({cell.path for cell in cells}) == len(cells) > 10
    single = re.compile(run_pattern(checked.run()))
    both = re.compile("{head}/cache~(?:interrupted|rerun)/{tail}".format(**interrupted_pattern(checked.run())))
    for cell in cells:
        assert parse(cell.path) == cell
        assert bool(single.fullmatch(cell.path)) != bool(both.fullmatch(cell.path)), "one rule makes it, and only one"
        kept = cell.replace(stack=f"{cell['stack']}@0123abcd").path
        assert not single.fullmatch(kept)
        assert not both.fullmatch(kept)


@pytest.mark.parametrize(
    "path", ["", "growth", "growth/rep", "growth/stack~a~b/rep~1", "growth/stack~a", "growth/rep~x"]
)
def test_a_path_outside_the_grammar_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a run's folder"):
        parse(path)


def test_a_value_that_would_break_the_path_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot stand in a path"):
        _ = Cell("growth", (("stack", "a/b"),), 1).path


def test_only_some_experiments_are_run_and_their_version_sweeps(config: dict[str, Any], root: Path) -> None:
    config["only"] = ["growth"]
    checked = load(config, [root / "config.yaml"], root)
    assert list(checked.run()) == ["growth"]
    assert not checked.cells("sharded")
    assert not checked.sweeps()
    config["only"] = ["alone"]
    assert list(load(config, [root / "config.yaml"], root).sweeps()) == ["tokenizers"]
    config["only"] = ["grwth"]
    assert "only: no experiment 'grwth'; did you mean 'growth'?" in faults(config, root)


def test_a_version_sweep_names_an_experiment_and_a_metric(config: dict[str, Any], root: Path) -> None:
    config["ladders"]["tokenizers"] |= {"experiment": "alon", "metric": "grown_anon_byte"}
    said = faults(config, root)
    assert "ladders.tokenizers.experiment: no experiment 'alon'; did you mean 'alone'?" in said
    assert "ladders.tokenizers.metric: no metric 'grown_anon_byte'; did you mean 'grown_anon_bytes'?" in said


def test_combinations_that_mean_nothing_are_left_out(config: dict[str, Any], root: Path) -> None:
    config["ladders"] = {}
    config["experiments"] = {
        "x": {
            "workload": "tokenize",
            "repeats": 2,
            "matrix": {
                "stack": ["current"],
                "corpus": ["binaries"],
                "mode": ["basic", "shard"],
                "shards": [2, 4],
                "num_files": [3],
                "cache": ["cold", "interrupted"],
                "stop_after": [1],
            },
        }
    }
    cells = load(config, root=root).cells("x")
    points = {(cell["mode"], cell["shards"], cell["cache"], cell["stop_after"]) for cell in cells}
    assert points == {
        ("basic", 1, "cold", 0),
        ("shard", 2, "cold", 0),
        ("shard", 4, "cold", 0),
        ("shard", 2, "interrupted", 1),
        ("shard", 4, "interrupted", 1),
    }
    assert len(cells) == 2 * len(points)


Change = Callable[[dict[str, Any]], Any]
# ruff: noqa: E501
FAULTS: list[tuple[Change, str]] = [
    (lambda c: c.update(experimnts={}), "config.yaml: unknown key 'experimnts'; did you mean 'experiments'?"),
    (lambda c: c["corpora"]["binaries"].update(documnts=1), "corpora.binaries: unknown key 'documnts'; did you mean 'documents'?"),
    (lambda c: c["corpora"]["binaries"].update(source="bin"), "corpora.binaries.source: "),
    (lambda c: c["corpora"]["binaries"].update(documents="many"), "corpora.binaries.documents: "),
    (lambda c: c["corpora"]["binaries"]["tokenizer"].update(hub="a/b"), "exactly one of train, path and hub"),
    (lambda c: c["experiments"]["growth"].pop("matrix"), "experiments.growth: key 'matrix' is missing"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_fles=[1]), "unknown key 'num_fles'; did you mean 'num_files'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(stack=["curent"]), "no stack 'curent' in envs/; did you mean 'current'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(corpus=["binary"]), "no corpus 'binary'; did you mean 'binaries'?"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_files=[100_000]), "100000 files asked for, and corpus 'binaries' has"),
    (lambda c: c["experiments"]["growth"]["matrix"].update(num_files=[]), "experiments.growth.matrix.num_files: "),
    (lambda c: c["experiments"]["growth"]["matrix"].update(mode=["basic"], cache=["rerun"]), "need mode `shard`"),
    (lambda c: c["experiments"]["growth"].update(workload="lod"), "experiments.growth.workload: "),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_a_fault_is_one_line_that_names_file_and_key(
    config: dict[str, Any], root: Path, change: Change, words: str
) -> None:
    change(config)
    said = faults(config, root)
    assert words in said
    assert all("config.yaml" in line for line in said.splitlines())


def test_the_file_that_is_named_is_the_one_that_the_key_came_from(
    tmp_path: Path, config: dict[str, Any], root: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("experiments: {growth: {matrix: {stack: [curent]}}}")
    config["experiments"]["growth"]["matrix"]["stack"] = ["curent"]
    with pytest.raises(ConfigError, match=r"mine\.yaml, experiments\.growth\.matrix\.stack: "):
        load(config, [root / "config.yaml", mine], root)


def test_without_a_measured_peak_a_memory_request_is_the_estimate_and_doubles_with_each_attempt(tmp_path: Path) -> None:
    cell = Cell("growth", (("stack", "current"),), 2)
    assert memory.request_mb(tmp_path, cell, 4000) == 4000
    assert memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000
