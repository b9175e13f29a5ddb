"""A time budget: the plan, the rounds, a kill and its continuation, an edited lock."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..conftest import Run, link_stack

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end]
RESULTS = "results-budget"
BUDGET_S = 24
STACKS = ["tokenizers-alone", "current"]


@pytest.fixture(scope="module")
def config(clone: Path) -> Path:
    """Two cells of a noisy question, whose stacks have the same tokenizers, and a cell without a question."""
    words = {"source": "synthetic", "documents": 2, "document_characters": [2000, 6000], "vocabulary": 50}
    soak = {"corpus": ["words"], "num_files": [1], "subject": ["tokenizers"], "epochs": [1]}
    content = {
        "defaults": "none",
        "results": RESULTS,
        "budget_min": BUDGET_S / 60,
        "corpora": {"words": words | {"tokenizer": {"train": "byte-level", "entries": 300}}},
        "experiments": {
            "noisy": {
                "workload": "soak",
                "questions": [{"metric": "tokens_per_cpu_s"}],
                "matrix": {"stack": STACKS} | soak,
            },
            "unasked": {"workload": "script", "matrix": {"stack": ["current"], "script": ["own"]}},
        },
        "scripts": {"own": {"file": "own.py"}},
    }
    for stack in ("corpora", *STACKS):
        link_stack(stack, clone)
    (clone / "own.py").touch()
    file = clone / "budget.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def records(clone: Path) -> dict[str, dict[str, Any]]:
    runs = clone / RESULTS / "runs"
    return {str(file.parent.relative_to(runs)): json.loads(file.read_text()) for file in runs.rglob("run.json")}


def rounds(clone: Path) -> list[dict[str, Any]]:
    files = sorted((clone / RESULTS / "rounds").rglob("round~*.json"))
    return [json.loads(file.read_text()) for file in files]


def planned(output: str) -> Counter[str]:
    """The stacks of the runs that a dry run plans."""
    return Counter(re.findall(r"output: \S+/runs/\w+/stack~([\w-]+)/", output))


def test_a_budget_from_the_plan_to_an_edited_lock(clone: Path, run_in: Run, config: Path) -> None:
    words = ("snakemake", "--cores", "1", f"{RESULTS}/tables/runs.csv", "--configfile", str(config))
    plan = run_in(*words, "-n")
    assert planned(plan.stdout + plan.stderr) == {"tokenizers-alone": 2, "current": 4}, plan.stderr[-3000:]

    killed = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 300
    while len(records(clone)) < 3:
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = records(clone)
    assert run_in(*words, "--unlock").returncode == 0

    run_in(*words, "--unlock")
    done = run_in(*words)
    assert done.returncode == 0, done.stderr[-3000:]
    after = records(clone)
    rerun = [run for run, record in before.items() if after[run]["started_at"] != record["started_at"]]
    assert len(rerun) <= 1, "only a run whose end Snakemake did not see may run again"
    repeats = Counter(run.rpartition("/rep~")[0] for run in after)
    (unasked,) = (count for run, count in repeats.items() if run.startswith("unasked"))
    first, second = (count for run, count in repeats.items() if run.startswith("noisy"))
    assert unasked == 2
    assert first == second >= 2
    last = rounds(clone)[-1]
    assert last["done"]
    assert last["used_s"] == pytest.approx(sum(record["weighing_s"] for record in after.values()), abs=0.1)
    # The runs of the last round may take longer than those before: other work on the machine slows them.
    slowest_s = 2 * max(record["weighing_s"] for record in after.values())
    assert first == 2 or last["used_s"] + last["deciding_s"] < BUDGET_S + slowest_s, "the last round did not fit"
    assert [one["deciding_s"] for one in rounds(clone)] == sorted({one["deciding_s"] for one in rounds(clone)})
    assert first > 2 or not last["undecided"] or last["used_s"] > BUDGET_S / 2, "time was left for undecided questions"
    assert "Nothing to be done" in run_in(*words).stderr

    more = run_in(*words, "-n", "--config", f"budget_min={BUDGET_S}")
    assert "checkpoint budget_round" in more.stdout + more.stderr, "a larger budget plans no round"
    assert not planned(more.stdout + more.stderr)

    lock = clone / "envs" / "tokenizers-alone.txt"
    sound = lock.read_text()
    lock.write_text(f"{sound}# another\n")
    try:
        plan = run_in(*words, "-n")
        assert {*planned(plan.stdout + plan.stderr)} == {"tokenizers-alone"}, (plan.stdout + plan.stderr)[-3000:]
    finally:
        lock.write_text(sound)
