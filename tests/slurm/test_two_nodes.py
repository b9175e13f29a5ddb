"""Two nodes and `sacct`: one drained and one lost on the way; groups and arrays; each cell is weighed alone."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml

from beyond_ram.experiment import records

from .conftest import REPOSITORY, SNAKEMAKE, Run, Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end]

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
# Cells that take a second; each says on which node it was.
SHORT = """
rule all:
    input: expand("{kind}/{number}/run.json", kind=config["kind"], number=range(int(config["cells"])))

rule weigh:
    output: "{kind}/{number}/run.json", "{kind}/{number}/node"
    resources: slots=100, mem_mb=500
    shell:
        "echo $SLURMD_NODENAME $SLURM_JOB_ID > {output[1]}; "
        "beyond-ram watch --out {wildcards.kind}/{wildcards.number} -- sleep 1"
"""


class Weighed(NamedTuple):
    """A cell: where and when it was weighed."""

    node: str
    started_s: float
    ended_s: float


def weighed(node: str, record: dict[str, Any]) -> Weighed:
    return Weighed(node, record["started_at"], record["started_at"] + record["duration_s"])


def together(cells: list[Weighed]) -> list[tuple[Weighed, Weighed]]:
    """Cells that were weighed on one node at one time."""
    return [
        (one, other)
        for one, other in itertools.combinations(cells, 2)
        if one.node == other.node and one.started_s < other.ended_s and other.started_s < one.ended_s
    ]


def until(true: Callable[[], Any], what: str, seconds: float = 240) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.3)
    return value


def start_again(slurm: Slurm, node: str) -> None:
    """Bring a node back that was lost, once the controller has seen that it is; then all are there."""
    until(lambda: slurm.nodes()[node].startswith("down"), f"{node} down")
    slurm.cluster("start", node)
    until(lambda: set(slurm.nodes().values()) == {"idle"}, "all nodes back")


class Accounts(NamedTuple):
    """A line of `sacct`; a job that was requeued has one for each time."""

    job: str
    state: str
    node: str
    start: str


def accounts(slurm: Slurm, *options: str) -> list[Accounts]:
    shown = slurm.call("sacct", "-X", "-n", "-P", "-D", "--format=JobIDRaw,State,NodeList,Start", *options)
    return [Accounts(*line.split("|")) for line in shown.splitlines()]


class Way(NamedTuple):
    """What happened on the way: a time, and jobs."""

    run: Run
    drained_at: str
    drained: str
    """The job that was on the node that was drained."""
    back_at: str
    lost: str
    """The job that was on the node that was lost."""


@pytest.fixture(scope="module")
def way(accounted: Slurm, clone: Path, run_in: Callable[..., Any]) -> Way:
    """Four cells over two nodes. Node 1 is drained while it weighs, and comes back; then node 2 goes off."""
    slurm = accounted
    micro = yaml.safe_load((REPOSITORY / "tests" / "micro.yaml").read_text())
    (clone / "nodes.yaml").write_text(yaml.safe_dump(CONFIG | {"corpora": micro["corpora"]}))
    config = ("--configfile", "nodes.yaml")
    corpus = [f"results-nodes/corpora/words/{name}" for name in ("manifest.json", "tokenizer")]
    local = run_in("snakemake", *corpus, ".stacks/current/beyond-ram.lock", "--cores", "2", *config)
    assert local.returncode == 0, local.stderr[-4000:]
    moments: dict[str, str] = {}

    def on(node: str) -> str:
        return slurm.call("squeue", "-h", "-t", "R", "-w", node, "-o", "%i").strip()

    def now() -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S")

    def meanwhile() -> None:
        first = until(lambda: on("node2"), "a cell on node 2")
        moments["drained"] = until(lambda: on("node1"), "a cell on node 1")
        slurm.call("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=test")
        moments["drained_at"] = now()
        moments["lost"] = until(lambda: (job := on("node2")) != first and job, "a second cell on node 2")
        until(lambda: not on("node1"), "node 1 empty")
        time.sleep(2)  # in which a node that is not drained would get the next cell
        moments["back_at"] = now()
        slurm.call("scontrol", "update", "NodeName=node1", "State=RESUME")
        # At once: a fast machine has weighed it before node 1 has a cell again.
        until((clone / "results-nodes" / "private").exists, "the cell on node 2 that is being weighed")
        assert on("node2") == moments["lost"], "its cell has ended before it was lost"
        slurm.cluster("lose", "node2", "--jobs")

    try:
        target = "results-nodes/tables/runs.csv"
        run = slurm.snakemake(target, *config, cwd=clone, timeout=600, status="sacct", meanwhile=meanwhile)
    finally:
        if slurm.nodes()["node1"].startswith("drain"):
            slurm.call("scontrol", "update", "NodeName=node1", "State=RESUME")
        start_again(slurm, "node2")
    return Way(run, **moments)


def test_the_workflow_finishes_and_every_cell_is_weighed(way: Way, clone: Path) -> None:
    runs = pd.read_csv(clone / "results-nodes" / "tables" / "runs.csv")
    assert sorted(runs["num_files"]) == [2, 3, 5, 6]
    assert set(runs["outcome"]) == {"completed"}
    assert not (clone / "results-nodes" / "private").exists(), "nothing of the lost run is left"


def test_the_job_of_a_lost_node_is_submitted_once_more(way: Way, slurm: Slurm) -> None:
    states = [(job["JobId"] == way.lost, job["JobState"]) for job in way.run.jobs_of("weigh")]
    assert sorted(states) == [(False, "COMPLETED")] * 4 + [(True, "NODE_FAIL")]
    (lost,) = accounts(slurm, "-j", way.lost)
    assert (lost.state, lost.node) == ("NODE_FAIL", "node2"), "and Slurm has not put it back into the queue beside that"
    again = way.run.jobs_of("weigh")[-1]
    assert (again["ExcNodeList"], again["NodeList"]) == ("node2", "node1")


def test_a_drained_node_ends_its_job_and_gets_no_other(way: Way, slurm: Slurm) -> None:
    (job,) = accounts(slurm, "-j", way.drained)
    assert (job.state, job.node) == ("COMPLETED", "node1")
    ours = {job["JobId"] for job in way.run.jobs}
    started = [line.start for line in accounts(slurm) if line.job in ours and line.node == "node1"]
    assert [start for start in started if way.drained_at < start < way.back_at] == []
    assert [start for start in started if start >= way.back_at], "until it was back"


def test_no_two_cells_are_weighed_together_on_a_node(way: Way, clone: Path) -> None:
    cells = []
    for job in way.run.jobs_of("weigh"):
        if job["JobId"] == way.lost:
            continue
        (number,) = (part for part in job["Comment"].split("_") if part.startswith("files~"))
        (path,) = (clone / "results-nodes" / "runs").rglob(f"num_{number}/**/run.json")
        cells.append(weighed(job["NodeList"], records.record(path.parent)))
    assert len(cells) == 4
    assert {cell.node for cell in cells} == {"node1", "node2"}
    assert together(cells) == []


@pytest.mark.parametrize(
    ("kind", "cells", "options", "jobs"),
    [
        ("groups", 4, ("--groups", "weigh=cells", "--group-components", "cells=2"), 2),
        ("arrays", 2, ("--slurm-array-jobs=weigh",), 2),
    ],
)
def test_groups_and_arrays_of_short_cells(
    accounted: Slurm, tmp_path: Path, kind: str, cells: int, options: tuple[str, ...], jobs: int
) -> None:
    (tmp_path / "Snakefile").write_text(SHORT)
    accounted.snakemake(*options, "--config", f"kind={kind}", f"cells={cells}", cwd=tmp_path, status="sacct")
    assert_alone(tmp_path / kind, cells, jobs)


def assert_alone(folder: Path, cells: int, jobs: int) -> None:
    weighed_cells, ids = [], set()
    for number in range(cells):
        node, job = (folder / str(number) / "node").read_text().split()
        weighed_cells.append(weighed(node, json.loads((folder / str(number) / "run.json").read_text())))
        ids.add(job)
    assert len(ids) == jobs
    assert together(weighed_cells) == []
    assert {cell.node for cell in weighed_cells} == {"node1", "node2"}


def test_the_generic_profile_through_sbatch(accounted: Slurm, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SHORT)
    profile = REPOSITORY / "profiles" / "generic"
    command = [sys.executable, "-c", SNAKEMAKE, "--config", "kind=generic", "cells=2", f"--workflow-profile={profile}"]
    command += [f"--cluster-generic-status-cmd={profile / 'status'}", "--latency-wait=10"]
    accounted.run(command, tmp_path, 120)
    assert_alone(tmp_path / "generic", 2, 2)
