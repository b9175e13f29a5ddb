"""A real Slurm ends a measurement in each of its phases: no process or partial run is left, and a retry completes.

tests/measure/test_ends_with_parent.py tests the same with signals.
"""

import shlex

import pytest

from beyond_ram.records import cell_runs

from ..measure.hanging import PHASES, cell, environment, logs, make, measure
from ..test_random_kills import processes_in
from .conftest import until

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

STEP_MB = 300
ENDED = {"CANCELLED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY", "COMPLETED", "NODE_FAIL"}


def submit(slurm, folder):
    """Submit a job with simultaneous steps, one for each phase, and return its id."""
    steps = [
        f"srun --overlap -n1 --mem={STEP_MB} {shlex.join(measure(phase))} 2> {phase}.log; echo $? > {phase}.status"
        for phase in PHASES
    ]
    script = f"export PATH={shlex.quote(environment(folder)['PATH'])} PYTHONPATH={environment(folder)['PYTHONPATH']}\n"
    script += "".join(f"({step}) &\n" for step in steps) + "wait\n"
    (folder / "job.sh").write_text(f"#!/bin/sh\n{script}")
    options = ["--parsable", "-n1", "--overcommit", f"--mem={STEP_MB * len(PHASES)}", "--time=5"]
    return slurm.call("sbatch", *options, f"--output={folder}/job.out", f"--chdir={folder}", folder / "job.sh").strip()


def wait_until_reached(folder, describe):
    for phase in PHASES:
        until((folder / f"{phase}.reached").exists, describe, 180)


@pytest.fixture(scope="module")
def out_of_time(slurm, tmp_path_factory):
    """Start a job whose time ends as soon as it is in every phase. Slurm checks every 30 s, during the other tests."""
    folder = tmp_path_factory.mktemp("time")
    make(folder)
    (folder / "hang").write_text("sleep")
    job = submit(slurm, folder)
    wait_until_reached(folder, lambda: f"job {slurm.state(job)}, {processes_in(folder)}, {logs(folder)}")
    slurm.call("scontrol", "update", f"JobId={job}", "EndTime=now+1")
    return folder, job


@pytest.mark.parametrize("how", ["cancelled", "memory", "time"])
def test_job_ended_in_any_phase_leaves_nothing_and_can_be_retried(slurm, tmp_path, out_of_time, how):
    folder, job = (tmp_path, "") if how != "time" else out_of_time
    if how != "time":
        make(folder)
        (folder / "hang").write_text("eat" if how == "memory" else "sleep")
        job = submit(slurm, folder)

    def describe():
        return f"{how}: job {slurm.state(job)}, {processes_in(folder)}, {logs(folder)}"

    wait_until_reached(folder, describe)
    if how == "cancelled":
        slurm.call("scancel", job)
    until(lambda: slurm.state(job) in ENDED, describe, 300)
    until(lambda: not processes_in(folder), describe, 60)
    assert not list((folder / "runs").rglob("run.json")), describe()
    if how == "memory":
        assert [(folder / f"{phase}.status").read_text().strip() != "0" for phase in PHASES] == [True] * len(PHASES)
        assert not (folder / "private").exists(), "the measuring process was not killed, and left its private folder"
    assert slurm.state(job) in {"cancelled": {"CANCELLED"}, "time": {"TIMEOUT"}}.get(how, ENDED)
    (folder / "hang").unlink()
    again = submit(slurm, folder)
    until(lambda: slurm.state(again) in ENDED, describe, 300)
    for phase in PHASES:
        record, events = cell_runs.run(folder / "runs" / cell(phase))
        assert (record["outcome"], record["work"]["rows"], events[-1]["event"]) == ("completed", 1, "end"), describe()
    assert not (folder / "private").exists()
    assert not [path for path in (folder / "runs").rglob(".*") if "partial" in path.name]
