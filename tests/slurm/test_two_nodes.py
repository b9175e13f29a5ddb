"""Two nodes and `sacct`: draining one and losing the other; groups and arrays; each cell is measured alone."""

from __future__ import annotations

import itertools
import json
import sys
import time
from typing import NamedTuple

import pandas as pd
import pytest
import yaml

from beyond_ram.records import cell_runs

from .conftest import REPOSITORY, SNAKEMAKE, Run, until

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

CONFIG = {
    "results": "results-nodes",
    "experiments": {
        "growth": {
            "repeats": 1,
            "matrix": {"stack": ["current"], "corpus": ["words"], "mode": ["basic"], "num_files": [2, 3, 5, 6]},
        }
    },
    "only": ["growth"],
}
# Cells of one second. Each writes the node that it ran on.
SHORT = """
rule all:
    input: expand("{kind}/{number}/run.json", kind=config["kind"], number=range(int(config["cells"])))

rule measure:
    output: "{kind}/{number}/run.json", "{kind}/{number}/node"
    resources: slots=100, mem_mb=500
    shell:
        "echo $SLURMD_NODENAME $SLURM_JOB_ID > {output[1]}; "
        "beyond-ram watch --out {wildcards.kind}/{wildcards.number} -- sleep 1"
"""


class CellRun(NamedTuple):
    """The node and time of a cell's run."""

    node: str
    started_s: float
    ended_s: float


def cell_run(node, record):
    return CellRun(node, record["started_at"], record["started_at"] + record["duration_s"])


def overlapping(cells):
    """Return pairs of cells that ran on one node at the same time."""
    return [
        (one, other)
        for one, other in itertools.combinations(cells, 2)
        if one.node == other.node and one.started_s < other.ended_s and other.started_s < one.ended_s
    ]


def restart(slurm, node):
    """Start a lost node after the controller has noticed the loss, and wait until all nodes are idle."""
    until(lambda: slurm.nodes()[node].startswith("down"), f"{node} down")
    slurm.cluster("start", node)
    until(lambda: set(slurm.nodes().values()) == {"idle"}, "all nodes back")


class Accounts(NamedTuple):
    """A line of `sacct`. A requeued job has several."""

    job: str
    state: str
    node: str
    start: str


def accounts(slurm, *options):
    shown = slurm.call("sacct", "-X", "-n", "-P", "-D", "--format=JobIDRaw,State,NodeList,Start", *options)
    return [Accounts(*line.split("|")) for line in shown.splitlines()]


class Events(NamedTuple):
    """The events of the run: times and jobs."""

    run: Run
    drained_at: str
    drained: str
    """The job on the drained node."""
    back_at: str
    lost: str
    """The job on the lost node."""


@pytest.fixture(scope="module")
def events(accounted, clone, run_in):
    """Run four cells on two nodes. Node 1 is drained during a run, and resumed; then node 2 is lost."""
    slurm = accounted
    micro = yaml.safe_load((REPOSITORY / "tests" / "micro.yaml").read_text())
    (clone / "nodes.yaml").write_text(yaml.safe_dump(CONFIG | {"corpora": micro["corpora"]}))
    config = ("--configfile", "nodes.yaml")
    corpus = [f"results-nodes/corpora/words/{name}" for name in ("manifest.json", "tokenizer")]
    local = run_in("snakemake", *corpus, ".stacks/current/beyond-ram.lock", "--cores", "2", *config)
    assert local.returncode == 0, local.stderr[-4000:]
    moments = {}

    def now():
        return time.strftime("%Y-%m-%dT%H:%M:%S")

    def meanwhile():
        first = until(lambda: slurm.running_on("node2"), "a cell on node 2")
        moments["drained"] = until(lambda: slurm.running_on("node1"), "a cell on node 1")
        slurm.call("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=test")
        moments["drained_at"] = now()
        moments["lost"] = until(lambda: (job := slurm.running_on("node2")) != first and job, "a second cell on node 2")
        until(lambda: not slurm.running_on("node1"), "node 1 empty")
        time.sleep(2)  # without draining, the node would get the next cell
        moments["back_at"] = now()
        slurm.call("scontrol", "update", "NodeName=node1", "State=RESUME")
        # At once, before the cell on node 2 ends.
        until((clone / "results-nodes" / "private").exists, "the cell on node 2 that is being measured")
        assert slurm.running_on("node2") == moments["lost"], "its cell has ended before it was lost"
        slurm.cluster("lose", "node2", "--jobs")

    try:
        target = "results-nodes/tables/runs.csv"
        run = slurm.snakemake(target, *config, cwd=clone, timeout=600, status="sacct", meanwhile=meanwhile)
    finally:
        if slurm.nodes()["node1"].startswith("drain"):
            slurm.call("scontrol", "update", "NodeName=node1", "State=RESUME")
        restart(slurm, "node2")
    return Events(run, **moments)


def test_workflow_finishes_despite_the_lost_node(events, clone):
    runs = pd.read_csv(clone / "results-nodes" / "tables" / "runs.csv")
    assert sorted(runs["num_files"]) == [2, 3, 5, 6]
    assert set(runs["outcome"]) == {"completed"}
    assert not (clone / "results-nodes" / "private").exists(), "the lost run left its private folder"


def test_job_of_a_lost_node_is_submitted_again(events, slurm):
    states = [(job["JobId"] == events.lost, job["JobState"]) for job in events.run.jobs_of("measure")]
    assert sorted(states) == [(False, "COMPLETED")] * 4 + [(True, "NODE_FAIL")]
    (lost,) = accounts(slurm, "-j", events.lost)
    assert (lost.state, lost.node) == ("NODE_FAIL", "node2"), "Slurm requeued it too"
    again = events.run.jobs_of("measure")[-1]
    assert (again["ExcNodeList"], again["NodeList"]) == ("node2", "node1")


def test_drained_node_finishes_its_job_and_gets_no_other(events, slurm):
    (job,) = accounts(slurm, "-j", events.drained)
    assert (job.state, job.node) == ("COMPLETED", "node1")
    ours = {job["JobId"] for job in events.run.jobs}
    started = [line.start for line in accounts(slurm) if line.job in ours and line.node == "node1"]
    assert [start for start in started if events.drained_at < start < events.back_at] == []
    assert [start for start in started if start >= events.back_at], "it got no job after it was resumed"


def test_no_two_cells_run_on_a_node_at_once(events, clone):
    cells = []
    for job in events.run.jobs_of("measure"):
        if job["JobId"] == events.lost:
            continue
        (number,) = (part for part in job["Comment"].split("_") if part.startswith("files~"))
        (path,) = (clone / "results-nodes" / "runs").rglob(f"num_{number}/**/run.json")
        cells.append(cell_run(job["NodeList"], cell_runs.record(path.parent)))
    assert len(cells) == 4
    assert {cell.node for cell in cells} == {"node1", "node2"}
    assert overlapping(cells) == []


@pytest.mark.parametrize(
    ("kind", "cells", "options", "jobs"),
    [
        ("groups", 4, ("--groups", "measure=cells", "--group-components", "cells=2"), 2),
        ("arrays", 2, ("--slurm-array-jobs=measure",), 2),
    ],
)
def test_cells_of_groups_and_arrays_run_alone(accounted, tmp_path, kind, cells, options, jobs):
    (tmp_path / "Snakefile").write_text(SHORT)
    accounted.snakemake(*options, "--config", f"kind={kind}", f"cells={cells}", cwd=tmp_path, status="sacct")
    assert_alone(tmp_path / kind, cells, jobs)


def assert_alone(folder, cells, jobs):
    cell_runs, ids = [], set()
    for number in range(cells):
        node, job = (folder / str(number) / "node").read_text().split()
        cell_runs.append(cell_run(node, json.loads((folder / str(number) / "run.json").read_text())))
        ids.add(job)
    assert len(ids) == jobs
    assert overlapping(cell_runs) == []
    assert {cell.node for cell in cell_runs} == {"node1", "node2"}


def test_generic_profile_works_with_sbatch(accounted, tmp_path):
    (tmp_path / "Snakefile").write_text(SHORT)
    profile = REPOSITORY / "profiles" / "generic"
    command = [sys.executable, "-c", SNAKEMAKE, "--config", "kind=generic", "cells=2", f"--workflow-profile={profile}"]
    command += [f"--cluster-generic-status-cmd={profile / 'status'}", "--latency-wait=10"]
    accounted.run(command, tmp_path, 120)
    assert_alone(tmp_path / "generic", 2, 2)
