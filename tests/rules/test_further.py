"""Further repeats: one job makes them and uses again what is on disk; what is lost or changed is made again."""

import contextlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from .changes import edited, jobs_of, records_of, removed
from .conftest import Snakemake

# measure/test_further.py has quicker tests: simulated runs, kills and failures.
pytestmark = pytest.mark.slow
# What it holds follows from its argument and its repeat, so that two sides differ after four repeats, and not before.
# It also runs the code of a file that is not one of its inputs.
SCRIPT = """
import os, re, sys
(rep,) = {*re.findall(r"rep~(\\d+)", open("/proc/self/cmdline").read())} or {"1"}
sizes = [92, 120, 92, 105] if sys.argv[1] == "b" else [30]
exec(open("besides").read() if os.path.exists("besides") else "")
held = bytearray(b"x" * int(1e6 * sizes[(int(rep) - 1) % len(sizes)]))
"""
FIRST = "runs/noisy/stack~current/script~mine/arguments~none/side~a/rep~3"
FURTHER = {("a", 3), ("a", 4), ("b", 3), ("b", 4)}
# Sides and repeats of the certain runs, by experiment.
CERTAIN = {"noisy": ("ab", 2), "unasked": ("c", 2), "once": ("c", 1)}


@dataclass(frozen=True)
class Place:
    """The results of a question that two repeats leave open, a cell without a question, and one with one repeat."""

    project: Path
    snakemake: Snakemake
    name: str

    @property
    def results(self):
        return self.project / f"results-{self.name}"

    @property
    def folders(self):
        return self.results, self.project

    def configure(self, argument="b", budget_min=10, **more):
        matrix = {"stack": ["current"], "script": ["mine"]}
        experiments = {
            name: {"workload": "script", "matrix": matrix | {"side": [*CERTAIN[name][0]]}} for name in CERTAIN
        }
        experiments["noisy"]["questions"] = [{"metric": "end_kept_bytes", "compare": "side"}]
        experiments["once"]["repeats"] = 1
        arguments = {"a": "a", "b": argument, "c": "c"}
        scripts = {"mine": {"file": f"{self.name}/mine.py", "arguments": arguments}}
        content = {"defaults": "none", "results": self.results.name, "budget_min": budget_min, "scripts": scripts}
        (self.project / f"{self.name}.yaml").write_text(yaml.safe_dump(content | {"experiments": experiments} | more))

    def words(self, *words):
        return [f"{self.results.name}/tables/runs.csv", *words, "--configfile", f"{self.name}.yaml"]

    def call(self, *words):
        return self.snakemake(*self.words(*words))

    def planned(self):
        return jobs_of(self.call("-n"))

    def records(self):
        axes = ("experiment", "side", "rep")
        return {tuple(one["cell"][axis] for axis in axes): one for one in records_of(self.results)}

    def listed(self):
        """Side and repeat of the further runs."""
        runs = json.loads((self.results / "further.json").read_text())["runs"]
        return {(run.rpartition("side~")[2][0], int(run.rpartition("~")[2])) for run in runs}

    def assert_right(self, further=FURTHER):
        """The table has the further runs, all of the same code, as they are on disk; a call has nothing to do."""
        assert self.listed() == further
        table = pd.read_csv(self.results / "tables/runs.csv").set_index(["experiment", "side", "rep"])
        certain = {
            (name, side, rep + 1) for name, (sides, most) in CERTAIN.items() for side in sides for rep in range(most)
        }
        records = self.records()
        assert {*table.index} == certain | {("noisy", *one) for one in further}
        assert dict(table["started_at"].dropna()) == {
            run: started for run in table.index if (started := records[run].get("started_at"))
        }
        assert table.groupby(["experiment", "side"])["code_sha256"].nunique().max() == 1
        assert "Nothing to be done" in self.call().stderr


def place_of(project, snakemake, name):
    place = Place(project, snakemake, name)
    (project / name).mkdir()
    (project / name / "mine.py").write_text(SCRIPT)
    place.configure()
    return place


@pytest.fixture(scope="module")
def place(project, current, snakemake):
    """A complete call."""
    place = place_of(project, snakemake, "further")
    assert place.planned() == {"measure": 7, "further": 1, "collect": 3, "table_runs": 1, "total": 12}
    done = place.call()
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(re.findall(r"run \d+: noisy, .*, further repeat \d; .* of 10 min", done.stderr)) == len(FURTHER)
    place.assert_right()
    return place


def recorded(**fields):
    """Change fields of the record of a further run."""

    @contextlib.contextmanager
    def change(place):
        file = place.results / FIRST / "run.json"
        record = json.loads(file.read_text())
        record["provenance"] |= fields.pop("provenance", {})
        file.write_text(json.dumps(record | fields))
        yield

    return change


@contextlib.contextmanager
def configured(place, **config):
    place.configure(**config)
    try:
        yield
    finally:
        place.configure()


@contextlib.contextmanager
def restored(place, at):
    """Restore the results after the block, and what Snakemake knows of them."""
    folders = [place.results, place.project / ".snakemake/metadata"]
    for folder in folders:
        shutil.copytree(folder, at / folder.name)
    try:
        yield
    finally:
        for folder in folders:
            shutil.rmtree(folder)
            shutil.copytree(at / folder.name, folder)


# How each change is planned: whether certain runs are made again; and how many further runs the call makes again.
CHANGES = {
    "other code": (recorded(provenance={"code_sha256": "0" * 64}), 0, 1),
    "no certain run": (removed(FIRST.replace("rep~3", "rep~1")), 1, 0),
    "argument": (lambda place: configured(place, argument="b 1"), 2, 2),
}
# records/test_cell_runs.py tests which of such runs count.
PLANNED = {
    "no run": removed(FIRST),
    "cut events": edited(f"{FIRST}/events.jsonl", '"event": "end"', '"event": "en'),
    "another record": recorded(measuring_s=7.0),
    "no stamps": removed("further.stamps.json"),
    "code of the rule": edited("beyond_ram/measure/further.py", "def run_of(", "X = 1\n\n\ndef run_of("),
}


@pytest.mark.parametrize(
    "change", [pytest.param(one, marks=[pytest.mark.end_to_end] * (one != "other code")) for one in CHANGES]
)
def test_call_after_a_loss_or_change_is_right(place, tmp_path, change):
    make, certain, again = CHANGES[change]
    with restored(place, tmp_path), make(place):
        before = {run: record["started_at"] for run, record in place.records().items()}
        plan = place.planned()
        assert (plan["further"], plan.get("measure", 0)) == (1, certain)
        done = place.call()
        assert done.returncode == 0, done.stderr[-3000:]
        place.assert_right()
        after = {run: record["started_at"] for run, record in place.records().items()}
        made = [run for run in after if after[run] != before.get(run)]
        assert len([run for run in made if run[2] > 2]) == again
        assert len(made) == again + certain


def test_lost_or_changed_runs_are_planned(place, tmp_path):
    for name, make in PLANNED.items():
        with restored(place, tmp_path / name), make(place):
            assert set(place.planned()) == {"further", "collect", "table_runs", "total"}, name
    assert "Nothing to be done" in place.call().stderr


def test_runs_of_an_earlier_call_count_with_a_smaller_budget(place, tmp_path):
    """Their time is spent."""
    with restored(place, tmp_path), configured(place, budget_min=0.1):
        assert place.call().returncode == 0
        place.assert_right()


@contextlib.contextmanager
def without_further_runs(place, at, besides=""):
    """Remove the further runs while the block runs, and let the script also run some code."""
    folders = [f"{FIRST.rpartition('side~')[0]}side~{side}/rep~{rep}" for side, rep in FURTHER]
    (place.project / place.name / "besides").write_text(besides)
    try:
        with restored(place, at), removed("further.json", "further.stamps.json", *folders)(place):
            yield
    finally:
        (place.project / place.name / "besides").unlink()


@pytest.mark.end_to_end
def test_program_that_fails_is_an_outcome_and_a_kill_is_none(place, tmp_path):
    with without_further_runs(place, tmp_path / "1", 'assert (sys.argv[1], rep) != ("b", "3"), "no third time"'):
        done = place.call()
        assert done.returncode == 0, done.stderr[-3000:]
        assert place.listed() >= FURTHER
        place.assert_right(place.listed())
        lines = pd.read_csv(place.results / "tables/runs.csv").itertuples()
        (line,) = [line for line in lines if line.outcome == "failed"]
        assert (line.side, line.rep, line.reason) == ("b", 3, "AssertionError: no third time")
    with without_further_runs(place, tmp_path / "2", 'os.kill(os.getpid(), 9 * ((sys.argv[1], rep) == ("b", "3")))'):
        done = place.call()
        assert done.returncode != 0
        assert "ended from outside, by SIGKILL" in done.stderr


@pytest.mark.end_to_end
def test_failing_cell_costs_no_further_runs_of_others(place, tmp_path):
    once = FIRST.replace("runs/noisy", "runs/once").replace("side~a/rep~3", "side~c/rep~1")
    with without_further_runs(place, tmp_path, 'assert sys.argv[1] != "c"'), removed(once)(place):
        done = place.call()
        assert done.returncode == 0, done.stderr[-3000:]
        assert place.listed() == FURTHER
        assert "failed" in {
            *pd.read_csv(place.results / "tables/runs.csv").set_index("experiment").loc[["once"], "outcome"]
        }
