"""Runs, tables and figures to damage and to plant things in, and the workflow's own scripts to read them."""

import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beyond_ram import outputs
from beyond_ram.experiment import Cell

from ..experiment.test_records import weighed

AXES = {"stack": "current", "corpus": "binaries", "mode": "basic", "shards": 1, "batch_size": 100}
AXES |= {"writer_batch_size": 100, "num_proc": 0, "cache": "cold"}
Script = Callable[..., Any]


class Given(dict[str, Any]):
    """The inputs of a rule, by name, in both ways that Snakemake gives them."""

    __getattr__ = dict.__getitem__


def drawing(root: Path, name: str, **given: Any) -> dict[str, Any]:
    """What the rule of a figure gives `figure.py`, beside its folder and outputs."""
    path = root / "scripts" / "figures" / f"{name}.py"
    params = SimpleNamespace(needs=outputs.parameters(path, "plot"), pairs=[], claimed=[])
    return {"params": params, "script": str(path), **given}


@pytest.fixture(scope="session")
def script(root: Path) -> Script:
    """Run a script of the workflow as Snakemake does, with what a rule gives it."""

    def run(name: str, folder: Path, output: Any, params: Any = None, **given: Any) -> None:
        snakemake = SimpleNamespace(log=[str(folder / "log")], input=Given(**given), output=output, params=params)
        runpy.run_path(str(root / "scripts" / f"{name}.py"), init_globals={"snakemake": snakemake})

    return run


def figure(folder: Path, name: str) -> SimpleNamespace:
    """The outputs of a figure's rule."""
    files = {"svg": "svg", "png": "png", "caption": "rst"}
    return SimpleNamespace(**{kind: str(folder / f"{name}.{ending}") for kind, ending in files.items()})


@pytest.fixture(scope="session")
def weighed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("weighed")
    for number in (1, 2):
        cell = Cell("growth", tuple({**AXES, "num_files": number}.items()), 1)
        weighed(runs, cell, work={"bytes_in": number * 10_000_000})
    return runs


@pytest.fixture
def tokenised(weighed_once: Path, tmp_path: Path) -> list[Path]:
    """run.json of two runs of different input that look as if they had tokenised; a copy to damage."""
    shutil.copytree(weighed_once, tmp_path / "runs")
    return sorted((tmp_path / "runs").rglob("run.json"))
