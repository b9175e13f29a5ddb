"""A stack is renewed, and its cells run again on two nodes, one of which is lost on the way; old stands beside new."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml

from .conftest import REPOSITORY, Run, Slurm
from .test_two_nodes import start_again, until

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end]

RESULTS = "results-upgraded"
PAGES = (f"{RESULTS}/changes.html", f"{RESULTS}/history.html")
# A tokenizer alone, whose environment is small; as many epochs as keep a cell busy until its node is lost.
CONFIG = {
    "results": RESULTS,
    "defaults": "none",
    "experiments": {
        "again": {
            "workload": "soak",
            "repeats": 2,
            "matrix": {
                "stack": ["tokenizers-alone", "renewed"],
                "corpus": ["words"],
                "num_files": [2, 3],
                "subject": ["tokenizers"],
                "epochs": [60],
            },
        }
    },
}


class Way(NamedTuple):
    """The second call, after the upgrade."""

    run: Run
    upgraded: str
    lost: str
    """The job that was on the node that was lost."""


@pytest.fixture(scope="module")
def way(accounted: Slurm, clone: Path, run_in: Callable[..., Any]) -> Way:
    """Both stacks here, then the renewed one through Slurm; node 2 goes off while it weighs."""
    slurm = accounted

    def done(*command: str) -> str:
        found = run_in(*command)
        assert found.returncode == 0, found.stderr[-4000:]
        return str(found.stdout)

    micro = yaml.safe_load((REPOSITORY / "tests" / "micro.yaml").read_text())
    (clone / "upgraded.yaml").write_text(yaml.safe_dump(CONFIG | {"corpora": micro["corpora"]}))
    config = ("--configfile", "upgraded.yaml")
    alone = [line for line in (clone / "envs/tokenizers-alone.in").read_text().splitlines() if not line.startswith("#")]
    others = [line for line in alone if line != "tokenizers"]
    done("beyond-ram", "stack", "add", "renewed", "tokenizers==0.22.2", *others)
    done("snakemake", f"{RESULTS}/tables/runs.csv", "--cores", "2", *config)
    (clone / "envs/renewed.in").write_text("\n".join(alone))
    upgraded = done("beyond-ram", "stack", "upgrade", "renewed", "tokenizers", "--results", RESULTS)
    done("snakemake", ".stacks/renewed/beyond-ram.lock", "--cores", "2", *config)
    lost: list[str] = []

    def on_node2() -> str:
        return slurm.call("squeue", "-h", "-t", "R", "-w", "node2", "-o", "%i").strip()

    def meanwhile() -> None:
        private = clone / RESULTS / "private"
        until(lambda: private.exists() and on_node2(), "a cell that is being weighed on node 2")
        lost.append(on_node2())
        slurm.cluster("lose", "node2", "--jobs")

    try:
        run = slurm.snakemake(*PAGES, *config, cwd=clone, timeout=600, status="sacct", meanwhile=meanwhile)
    finally:
        start_again(slurm, "node2")
    return Way(run, upgraded, *lost)


def test_only_the_cells_of_the_renewed_stack_run_and_the_lost_one_runs_again(way: Way) -> None:
    jobs = way.run.jobs_of("weigh")
    assert len(jobs) == 5
    assert all("stack~renewed" in job["Comment"] for job in jobs)
    states = [(job["JobId"] == way.lost, job["JobState"]) for job in jobs]
    assert sorted(states) == [(False, "COMPLETED")] * 4 + [(True, "NODE_FAIL")]


def test_old_stands_beside_new_on_both_pages(way: Way, clone: Path) -> None:
    moved = next(line for line in way.upgraded.splitlines() if line.startswith("tokenizers 0.22.2 to "))
    (name,) = re.findall(r"as stack (renewed@\w+)", way.upgraded)
    assert "4 runs of the old lock are kept" in way.upgraded
    changes, history = ((clone / page).read_text() for page in PAGES)
    assert f"{name} and renewed: 1 package: {moved}." in changes
    assert re.search(rf"<li>{name}, [\d-]+</li>\s*<li>renewed, [\d-]+: {moved}</li>", history)
    table = pd.read_csv(clone / RESULTS / "tables" / "history.csv")
    tokens = table[table["metric"] == "token_count"].sort_values(["num_files", "place"])
    assert tokens[["num_files", "stack", "n"]].to_numpy().tolist() == [
        [files, lock, 2] for files in (2, 3) for lock in (name, "renewed")
    ]
    assert tokens["result"].fillna("").tolist() == ["", "same"] * 2


def test_nothing_is_left_to_do(way: Way, run_in: Callable[..., Any]) -> None:
    again = run_in("snakemake", *PAGES, "--cores", "2", "--configfile", "upgraded.yaml")
    assert "Nothing to be done" in again.stderr
