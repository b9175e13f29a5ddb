"""Ended at random moments and called again, the workflow comes to the tables of one that was left alone.

`KILLS=20 KILL_ROUNDS=3` makes it sixty times; `KILL_SEED` is that of the first round.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from beyond_ram.experiment import AXES
from beyond_ram.watch import procfs

from .conftest import link_stack

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end]

KILLS, ROUNDS = int(os.environ.get("KILLS", 4)), int(os.environ.get("KILL_ROUNDS", 1))
SEED = int(os.environ.get("KILL_SEED", 1))
STACKS = ("corpora", "current", "stream-current")
# The word that only the command line of such a process has; the workflow is the process itself.
KINDS = {
    "workflow": "",
    "watcher": "beyond-ram\0weigh",
    "guard": "guard.main()",
    "workload": "scripts/workloads/",
    "endpoint": "beyond_ram.hub",
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TABLES = ("runs", "shards", "streaming")
# What is counted and not measured.
COUNTS = {"experiment", "rep", "outcome", "completed_work", "asked", "finished", "failed", "why", "shard", "from_cache"}
COUNTS |= {"rows", "rows_expected", "rows_delivered", "rows_twice", "rows_missing", "bytes_in", "token_count"}
COUNTS |= {"ids_sha256", "ids_agree", "lock_sha256"}
CONFIG = {
    "defaults": "none",
    "corpora": {
        "words": {
            "source": "synthetic",
            "documents": 6,
            "document_characters": [20000, 60000],
            "vocabulary": 500,
            "tokenizer": {"train": "byte-level", "entries": 600},
        }
    },
    "repositories": {
        "few": {"source": "parquet", "files": 4, "rows_per_file": 64, "row_group_rows": 32, "row_bytes": 100}
    },
    "experiments": {
        "growth": {
            "workload": "tokenize",
            "repeats": 1,
            "matrix": {"stack": ["current"], "corpus": ["words"], "mode": ["basic"], "num_files": [1, 2]},
        },
        "staircase": {
            "workload": "tokenize",
            "repeats": 1,
            "matrix": {
                "stack": ["current"],
                "corpus": ["words"],
                "mode": ["shard"],
                "shards": [3],
                "num_files": [6],
                "cache": ["interrupted", "rerun"],
                "stop_after": [2],
            },
        },
        "requests": {
            "workload": "stream",
            "repeats": 1,
            "matrix": {"stack": ["stream-current"], "repository": ["few"], "workers": [0]},
        },
    },
}


@pytest.fixture(scope="module")
def project(clone: Path) -> Path:
    """A checkout with its environments."""
    for stack in STACKS:
        link_stack(stack, clone)
    return clone


class Workflow:
    """The workflow of a results folder, as a user calls it in a terminal: a process group of its own."""

    def __init__(self, project: Path, results: str) -> None:
        self.project, self.results = project, project / results
        (project / f"{results}.yaml").write_text(yaml.safe_dump(CONFIG | {"results": results}))
        targets = [f"{results}/tables/{name}.csv" for name in TABLES]
        self.command = [sys.executable, "-m", "snakemake", *targets, "--cores", "2"]
        self.command += ["--configfile", f"{results}.yaml"]
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(project),
        }
        self.log = project / f"{results}.log"

    def start(self) -> "subprocess.Popen[bytes]":
        subprocess.run([*self.command, "--unlock"], cwd=self.project, env=self.environment, capture_output=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                cwd=self.project,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log_end(self) -> str:
        return self.log.read_text(errors="replace")[-6000:]

    def living(self) -> list[str]:
        """What still works in the project."""
        command_lines = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and Path(entry, "cwd").readlink().is_relative_to(self.project):
                    command_lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return [words for words in command_lines if words]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Of every table the lines and what is counted in them; of what is measured whether it is there."""
        tables = {}
        for path in sorted((self.results / "tables").glob("*.csv")):
            table = pd.read_csv(path, low_memory=False)
            exact = [column for column in table if column in COUNTS or column in AXES]
            made = table[exact].sort_values(exact).reset_index(drop=True) if exact else pd.DataFrame()
            made.attrs["columns"] = list(table)
            tables[path.stem] = made
        return tables

    def left(self) -> list[str]:
        """Half files, and folders that are private to a job."""
        names = [path for path in self.results.rglob("*") if path.name.startswith((".partial-", "private"))]
        names += list(self.results.rglob(".*making-*"))
        return [str(path) for path in names]


@pytest.fixture(scope="module")
def alone(project: Path) -> tuple[Workflow, float]:
    """Results of a workflow that nobody has disturbed, and how long it took in seconds."""
    workflow, begun = Workflow(project, "results-alone"), time.monotonic()
    assert workflow.start().wait() == 0, workflow.log_end()
    return workflow, time.monotonic() - begun


def victims(main: int, kind: str) -> list[int]:
    if kind == "workflow":
        return [main]
    word = KINDS[kind].encode()
    return [pid for pid in procfs.descendants(main) if word in (procfs.read(pid, "cmdline") or b"")]


def kill(process: "subprocess.Popen[bytes]", kind: str, number: signal.Signals, after_s: float) -> bool:
    """End something of a workflow after some time, or as soon as it is there; whether it was there before the end."""
    at = time.monotonic() + after_s
    while process.poll() is None:
        if time.monotonic() >= at and (pids := victims(process.pid, kind)):
            if kind == "workflow" and number == signal.SIGINT:  # Ctrl-C reaches all that is in the foreground
                os.killpg(process.pid, number)
            else:
                os.kill(pids[0], number)
            return True
        time.sleep(0.002)
    return False


def plan(seed: int) -> Iterator[tuple[str, signal.Signals, random.Random]]:
    """Every kind with every signal in turn, in an order of its own."""
    chance = random.Random(seed)
    while True:
        every = [(kind, number) for kind in KINDS for number in SIGNALS]
        chance.shuffle(every)
        yield from ((*one, chance) for one in every)


def compared(tables: dict[str, pd.DataFrame], wanted: dict[str, pd.DataFrame]) -> None:
    assert tables.keys() == wanted.keys()
    for name, table in wanted.items():
        assert tables[name].attrs["columns"] == table.attrs["columns"], name
        pd.testing.assert_frame_equal(tables[name], table, obj=name)


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_the_tables_are_those_of_one_left_alone(project: Path, alone: tuple[Workflow, float], seed: int) -> None:
    whole, longest = alone
    workflow = Workflow(project, f"results-killed-{seed}")
    killed, finished = Counter[str](), 0
    for kind, number, chance in plan(seed):
        if killed.total() == KILLS:
            break
        process = workflow.start()
        hit = kill(process, kind, number, chance.uniform(0, longest / 3))
        try:
            status = process.wait(timeout=longest + 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            pytest.fail(f"seed {seed}, {dict(killed)}: hangs after {number.name} to the {kind}: {workflow.log_end()}")
        if hit:
            killed[f"{kind} {number.name}"] += 1
        message = f"seed {seed}, {dict(killed)}: {number.name} to the {kind}, status {status}: {workflow.log_end()}"
        until = time.monotonic() + 10
        while (living := workflow.living()) and time.monotonic() < until:
            time.sleep(0.05)
        assert not living, f"{living} still run; {message}"
        assert "Directory cannot be locked" not in workflow.log_end(), message
        if status == 0:
            compared(workflow.tables(), whole.tables())
            assert not workflow.left(), message
            finished += 1
            for again in ("runs", "collected", "tables"):
                shutil.rmtree(workflow.results / again)
        else:
            assert hit, message
    assert workflow.start().wait() == 0, workflow.log_end()
    compared(workflow.tables(), whole.tables())
    assert not workflow.left()
    print(f"seed {seed}: {killed.total()} killed ({dict(killed)}), {finished + 1} finished, the same tables each time")
