"""The cells of a matrix."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from beyond_ram.experiment import load


@pytest.fixture
def config(root: Path) -> dict[str, Any]:
    return copy.deepcopy(yaml.safe_load((root / "config.yaml").read_text()))


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


def test_the_matrix_is_checked(root: Path) -> None:
    config = {"corpora": {}, "experiments": {"d": {"workload": "dedup", "matrix": {"stack": ["current"]}}}}
    assert len(load(config, root=root).cells("d")) == 2
