"""The memory that a job asks for."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from beyond_ram.experiment import Cell, ConfigError, load, memory


@pytest.fixture
def config(root: Path) -> dict[str, Any]:
    return copy.deepcopy(yaml.safe_load((root / "config.yaml").read_text()))


def faults(config: dict[str, Any], root: Path) -> str:
    with pytest.raises(ConfigError) as error:
        load(config, [root / "config.yaml"], root)
    return str(error.value)


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


def test_without_a_measured_peak_a_memory_request_is_the_estimate_and_doubles_with_each_attempt(tmp_path: Path) -> None:
    cell = Cell("growth", (("stack", "current"),), 2)
    assert memory.request_mb(tmp_path, cell, 4000) == 4000
    assert memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000
