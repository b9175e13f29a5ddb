"""Runs, tables and figures to damage or to plant text in, and the workflow's scripts that read them."""

import runpy
import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from beyond_ram.analysis.runs import runs
from beyond_ram.experiment import Cell
from beyond_ram.records import collected, tables
from beyond_ram.workflow import chapters

from ..records.test_cell_runs import run_once

AXES = {"stack": "current", "corpus": "binaries", "mode": "basic", "shards": 1, "batch_size": 100}
AXES |= {"writer_batch_size": 100, "num_proc": 0, "cache": "cold"}


class Inputs(dict[str, Any]):
    """The inputs of a rule, by key and by attribute, as in Snakemake."""

    __getattr__ = dict.__getitem__


def drawing(root, name, **inputs):
    """What the rule of a figure passes to `figure.py`, except its folder and outputs."""
    path = root / "scripts" / "figures" / f"{name}.py"
    params = SimpleNamespace(needs=chapters.parameters(path, "plot"), pairs=[], questions=[])
    return {"params": params, "script": str(path), **inputs}


@pytest.fixture(scope="session")
def script(root):
    """Run a script of the workflow as a rule of Snakemake does."""

    def run(name, folder, output, params=None, **inputs):
        snakemake = SimpleNamespace(log=[str(folder / "log")], input=Inputs(**inputs), output=output, params=params)
        runpy.run_path(str(root / "scripts" / f"{name}.py"), init_globals={"snakemake": snakemake})

    return run


@pytest.fixture(scope="session")
def report(script):
    """The report of tables and runs: the text of the page that the rule's script makes."""

    def make(folder, tokenised, extra, **more):
        written = extra if "runs" in extra else extra | {"runs": runs(tables.read_runs(tokenised))}
        for name, table in written.items():
            tables.write(table, folder / f"{name}.csv", folder / f"{name}.parquet")
        params = {"figures": [], "left_out": [], "configfiles": [], "folder": None, "budget_min": None, "lost": []}
        svg, files = more.pop("svg", []), more.pop("files", None) or gathered(folder, tokenised)
        collected, samples = files.values()
        script(
            "report",
            folder,
            SimpleNamespace(page=str(folder / "report.html"), brief=str(folder / "summary.txt")),
            SimpleNamespace(**params | more),
            tables=[str(folder / f"{name}.parquet") for name in written],
            svg=svg,
            **{"runs": collected, "samples": samples},
        )
        return (folder / "report.html").read_text()

    return make


def gathered(folder, run_jsons):
    """Runs and samples, collected, as inputs of a table or figure."""
    files = {kind: str(folder / f"{kind}.parquet") for kind in ("collected", "samples")}
    collected.collect(run_jsons, **{"runs": files["collected"], "samples": files["samples"]})
    return {kind: [file] for kind, file in files.items()}


def figure(folder, name):
    """The outputs of a figure's rule."""
    files = chapters.FILES_OF_FIGURE.items()
    return SimpleNamespace(**{kind: str(folder / f"{name}.{ending}") for kind, ending in files})


@pytest.fixture(scope="session")
def measured_once(tmp_path_factory):
    runs = tmp_path_factory.mktemp("measured")
    for number in (1, 2):
        cell = Cell("growth", tuple({**AXES, "num_files": number}.items()), 1)
        run_once(runs, cell, work={"bytes_in": number * 10_000_000})
    return runs


@pytest.fixture
def tokenised(measured_once, tmp_path):
    """run.json of two runs with different inputs that seem to have tokenised; a copy that a test may damage."""
    shutil.copytree(measured_once, tmp_path / "runs")
    return sorted((tmp_path / "runs").rglob("run.json"))
