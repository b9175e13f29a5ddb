"""The holders of a script's memory, found beside a run of the workflow."""

from types import SimpleNamespace

import pytest

from beyond_ram.analysis.holders import holders
from beyond_ram.experiment.scripts import Script
from beyond_ram.experiment.workloads.script import ScriptExperiment
from beyond_ram.measure.cell import measure
from beyond_ram.measure.why import add_why
from beyond_ram.records import cell_runs

from ..conftest import ROOT
from .conftest import setting_of


def record_with_why(folder, text):
    """Return the record of the first run of a script."""
    (folder / "case.py").write_text(text)
    settings = {"workload": "script", "why": True, "matrix": {"stack": ["current"], "script": ["case"]}}
    experiment = ScriptExperiment.model_validate(settings)
    first, second = experiment.cells("scripts", 2)
    places = SimpleNamespace(scripts={"case": Script(file=str(folder / "case.py"))})
    job, other = (experiment.job(cell, places) for cell in (first, second))
    assert job.why and not other.why
    job = job.but(program=str(ROOT / job.program))
    setting = setting_of(job, folder)
    measure(setting, folder / "runs")
    before = (folder / "runs" / job.path / "samples.csv").read_bytes()
    add_why(setting, folder / "runs")
    assert (folder / "runs" / job.path / "samples.csv").read_bytes() == before, "the first run was replaced"
    assert not (folder / "private").exists()
    record = dict(cell_runs.record(folder / "runs" / job.path))
    assert 0 < record["why"]["measuring_s"] < record["measuring_s"]
    return record


@pytest.mark.slow
def test_holder_of_a_scripts_memory_is_in_the_table(tmp_path):
    record = record_with_why(tmp_path, "rows = [bytes(1000) for _ in range(60_000)]\n")
    table = holders([(record, [])])
    line = table[table["kind"] == "name"].iloc[0]
    assert line["holder"] == "rows" and abs(line["released_bytes"] - 60e6) < 8e6
    assert table["share"].sum() == pytest.approx(1) and line["share"] > 0.8


@pytest.mark.slow
def test_script_that_aborts_has_a_reason_in_the_table(tmp_path):
    record = record_with_why(tmp_path, "import sys\nif 'ast' in sys.modules:\n    import os\n    os.abort()\n")
    (line,) = holders([(record, [])]).to_dict("records")
    assert record["completed_work"] and "SIGABRT" in line["not_run"] and not line["holder"]
