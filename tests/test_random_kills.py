"""A workflow that is killed at random moments and called again makes the tables of an undisturbed one.

`KILLS=20 KILL_ROUNDS=3` kills it sixty times; `KILL_SEED` is the seed of the first round.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from beyond_ram.experiment import AXES
from beyond_ram.watch import procfs

from .conftest import link_stack
from .rules.conftest import environment

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

KILLS, ROUNDS = int(os.environ.get("KILLS", 4)), int(os.environ.get("KILL_ROUNDS", 1))
SEED = int(os.environ.get("KILL_SEED", 1))
STACKS = ("corpora", "current", "stream-current")
# A word that identifies the command line of a process. The workflow is the started process.
KINDS = {
    "workflow": "",
    "watcher": "beyond-ram\0measure",
    "guard": "guard.main()",
    "workload": "scripts/workloads/",
    "endpoint": "beyond_ram.hub",
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TABLES = ("runs", "shards", "streaming")
# Columns that are counted, not measured.
COUNTS = {"experiment", "rep", "outcome", "completed_work", "runs", "finished", "failed", "why", "shard", "from_cache"}
COUNTS |= {"rows", "rows_expected", "rows_delivered", "rows_twice", "rows_missing", "bytes_in", "token_count"}
COUNTS |= {"ids_sha256", "ids_agree", "lock_sha256"}
CONFIG = """
defaults: none
corpora:
  words:
    source: synthetic
    documents: 6
    document_characters: [20000, 60000]
    vocabulary: 500
    tokenizer: {train: byte-level, entries: 600}
repositories:
  few: {source: parquet, files: 4, rows_per_file: 64, row_group_rows: 32, row_bytes: 100}
experiments:
  growth:
    workload: tokenize
    repeats: 1
    matrix: {stack: [current], corpus: [words], mode: [basic], num_files: [1]}
  staircase:
    workload: tokenize
    repeats: 1
    matrix:
      stack: [current]
      corpus: [words]
      mode: [shard]
      shards: [3]
      num_files: [6]
      cache: [interrupted, rerun]
      stop_after: [2]
  requests:
    workload: stream
    repeats: 1
    matrix: {stack: [stream-current], repository: [few], workers: [0]}
"""


@pytest.fixture(scope="module")
def project(clone):
    """Return a checkout with its environments."""
    for stack in STACKS:
        link_stack(stack, clone)
    return clone


def processes_in(folder):
    """Return the command lines of processes that work in a folder."""
    command_lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(folder):
                command_lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [words for words in command_lines if words]


class Workflow:
    """The workflow of a results folder, in a process group of its own, as in a user's terminal."""

    def __init__(self, project, results):
        self.project, self.results = project, project / results
        (project / f"{results}.yaml").write_text(f"{CONFIG}results: {results}\n")
        targets = [f"{results}/tables/{name}.csv" for name in TABLES]
        self.command = [sys.executable, "-m", "snakemake", *targets, "--cores", "2"]
        self.command += ["--configfile", f"{results}.yaml"]
        self.environment = environment(project)
        self.log = project / f"{results}.log"

    def start(self):
        if any((self.project / ".snakemake" / "locks").glob("*")):
            subprocess.run([*self.command, "--unlock"], cwd=self.project, env=self.environment, capture_output=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command, cwd=self.project, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def log_end(self):
        return self.log.read_text(errors="replace")[-6000:]

    def tables(self):
        """Return the counts of each line of every table, and the names of all columns."""
        tables = {}
        for path in sorted((self.results / "tables").glob("*.csv")):
            table = pd.read_csv(path, low_memory=False)
            exact = [column for column in table if column in COUNTS or column in AXES]
            exact_table = table[exact].sort_values(exact).reset_index(drop=True) if exact else pd.DataFrame()
            exact_table.attrs["columns"] = list(table)
            tables[path.stem] = exact_table
        return tables

    def left(self):
        """Return private folders of jobs, and folders that they filled."""
        names = [path for path in self.results.rglob("*") if path.name.startswith("private")]
        names += list(self.results.rglob(".*making-*"))
        return [str(path) for path in names]


@pytest.fixture(scope="module")
def alone(project):
    """Run an undisturbed workflow, and return it with its duration in seconds."""
    workflow, begun = Workflow(project, "results-alone"), time.monotonic()
    assert workflow.start().wait() == 0, workflow.log_end()
    return workflow, time.monotonic() - begun


def victims(main, kind):
    if kind == "workflow":
        return [main]
    word = KINDS[kind].encode()
    return [pid for pid in procfs.descendants(main) if word in (procfs.read(pid, "cmdline") or b"")]


def kill(process, kind, number, after_s):
    """Kill a process of a workflow after some time, or as soon as it exists; return whether it existed."""
    at = time.monotonic() + after_s
    while process.poll() is None:
        if time.monotonic() >= at and (pids := victims(process.pid, kind)):
            if kind == "workflow" and number == signal.SIGINT:  # Ctrl-C reaches all processes in the foreground
                os.killpg(process.pid, number)
            else:
                os.kill(pids[0], number)
            return True
        time.sleep(0.002)
    return False


def plan(seed):
    """Yield every kind with every signal, in random order."""
    chance = random.Random(seed)
    while True:
        every = [(kind, number) for kind in KINDS for number in SIGNALS]
        chance.shuffle(every)
        yield from ((*one, chance) for one in every)


def assert_equal_tables(tables, wanted):
    assert tables.keys() == wanted.keys()
    for name, table in wanted.items():
        assert tables[name].attrs["columns"] == table.attrs["columns"], name
        pd.testing.assert_frame_equal(tables[name], table, obj=name)


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_tables_of_a_killed_workflow_equal_undisturbed_ones(project, alone, seed):
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
        while (living := processes_in(project)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not living, f"{living} still run; {message}"
        assert "Directory cannot be locked" not in workflow.log_end(), message
        if status == 0:
            assert_equal_tables(workflow.tables(), whole.tables())
            assert not workflow.left(), message
            finished += 1
            for folder in ("runs", "collected", "tables"):
                shutil.rmtree(workflow.results / folder)
        else:
            assert hit, message
    assert workflow.start().wait() == 0, workflow.log_end()
    assert_equal_tables(workflow.tables(), whole.tables())
    assert not workflow.left()
    print(f"seed {seed}: {killed.total()} killed ({dict(killed)}), {finished + 1} finished, the same tables each time")
