"""Files that are lost or changed between two calls: the second call is right, or fails and leaves no report."""

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
import yaml

from ..conftest import lend_bytecode
from .changes import A_YEAR_S, edited, jobs_of, make_older, records_of, removed
from .conftest import Snakemake, environment

pytestmark = pytest.mark.slow
RESULTS = "results-losses"
RUN = "runs/own/stack~current/script~mine/arguments~none/side~none/rep~1"


@dataclass(frozen=True)
class Place:
    """The results of two cells of a small script, which imports a module beside it and prints."""

    project: Path
    folder: Path
    """The folder of the script and the config."""
    snakemake: Snakemake
    codes: set[str] = field(default_factory=set)
    """The digests of the code of all runs so far, with their locks."""

    @property
    def results(self):
        return self.project / RESULTS

    @property
    def folders(self):
        return self.folder, self.project

    def call(self, *words):
        return self.snakemake(*words, "--cores", "2", "--configfile", str(self.folder / "losses.yaml"))

    def planned(self, *words):
        """The rules of a dry run, without those of all other tables."""
        return set(jobs_of(self.call("-n", *words))) & ALL

    def configure(self, letter):
        """Write the config, with an argument of one of the cells."""
        matrix = {"stack": ["current"], "script": ["mine"], "arguments": ["none", "given"]}
        config = {
            "defaults": "none",
            "results": RESULTS,
            "scripts": {"mine": {"file": str(self.folder / "mine.py"), "arguments": {"given": letter}}},
            "experiments": {"own": {"workload": "script", "repeats": 1, "matrix": matrix}},
        }
        (self.folder / "losses.yaml").write_text(yaml.safe_dump(config))

    def files(self):
        """The files of the results that users read."""
        files = (path.relative_to(self.results).as_posix() for path in self.results.rglob("*") if path.is_file())
        return {file for file in files if not file.startswith(("logs/", "specs/", "collected/"))}

    def records(self):
        """The records of the runs on disk, by argument."""
        return {record["cell"]["arguments"]: record for record in records_of(self.results)}

    def code(self):
        """The digests of the code of the runs, with their locks."""
        return {record["provenance"]["code_sha256"] for record in self.records().values()}

    def answers(self):
        """The digests of what the script prints now, by argument."""
        given = yaml.safe_load((self.folder / "losses.yaml").read_text())["scripts"]["mine"]["arguments"]["given"]
        answers = {}
        for name, words in {"none": [], "given": [given]}.items():
            done = subprocess.run([sys.executable, "mine.py", *words], cwd=self.folder, capture_output=True, check=True)
            answers[name] = hashlib.sha256(b"\0" + done.stdout).hexdigest()
        return answers

    def assert_right(self):
        """The runs are those of the script as it is, tables and report those of the runs; a call has nothing to do."""
        records, runs = self.records(), pd.read_csv(self.results / "tables/runs.csv").set_index("arguments")
        assert {name: record["work"]["answer_sha256"] for name, record in records.items()} == self.answers()
        assert dict(runs["answer_sha256"]) == self.answers()
        assert dict(runs["started_at"]) == {name: record["started_at"] for name, record in records.items()}
        made_of = [path for name in ("tables", "figures") for path in (self.results / name).iterdir()]
        assert max(path.stat().st_mtime for path in made_of) <= (self.results / "report.html").stat().st_mtime
        assert not list(self.results.glob("*out-of-date*"))
        assert "Nothing to be done" in self.call().stderr


@pytest.fixture(scope="module")
def place(project, current, snakemake, tmp_path_factory):
    """A complete call."""
    place = Place(project, tmp_path_factory.mktemp("script"), snakemake)
    (place.folder / "mine.py").write_text(
        "import sys\nimport helper\nsys.path.append('lib')\nimport kept.apart\n"
        "print(helper.WORD, kept.apart.WORD, *sys.argv[1:])\n"
    )
    (place.folder / "lib/kept").mkdir(parents=True)
    (place.folder / "lib/kept/apart.py").write_text("WORD = 'first'\n")
    (place.folder / "helper.py").write_text("WORD = 'first'\n")
    place.configure("b")
    done = place.call()
    assert done.returncode == 0, done.stderr[-3000:]
    place.assert_right()
    place.codes.update(place.code())
    return place


@contextlib.contextmanager
def older_run(place):
    """Replace the record of a run by that of an earlier one of the same cell, with its old time."""
    file = place.results / RUN / "run.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"started_at": record["started_at"] - A_YEAR_S}))
    make_older(file)
    yield


@contextlib.contextmanager
def other_samples(place):
    """Put other readings into the samples of a run, with their old time."""
    file = place.results / RUN / "samples.csv"
    head, *lines = file.read_text().splitlines()
    file.write_text("\n".join([head, *lines[:-1], lines[-2], ""]))
    make_older(file)
    yield


@contextlib.contextmanager
def run_of_older_code(place):
    """Put back the record of a run that an earlier program had made."""
    file = place.results / RUN / "run.json"
    record = json.loads(file.read_text())
    record["provenance"]["code_sha256"] = "0" * 64
    file.write_text(json.dumps(record))
    yield


@contextlib.contextmanager
def other_argument(place):
    place.configure("c")
    try:
        yield
    finally:
        place.configure("b")


FROM_TABLES = {"table_runs", "table_reported", "figure_reported", "report"}
FROM_RUNS = {"collect", *FROM_TABLES}
FROM_SCRIPT = {"measure", *FROM_RUNS}
FIGURE = {"figure_reported", "report"}
ALL = {"stack", *FROM_SCRIPT}
CHANGES = {
    "script": (edited("mine.py", "print(", "print('edited', "), FROM_SCRIPT),
    "module that the script imports": (edited("helper.py", "first", "second"), FROM_SCRIPT),
    "module at a path that the script adds": (edited("lib/kept/apart.py", "first", "second"), FROM_SCRIPT),
    "program that runs the script": (
        edited("scripts/workloads/script.py", "def main(", "X = 1\n\n\ndef main("),
        FROM_SCRIPT,
    ),
    "argument in the config": (other_argument, FROM_SCRIPT),
    "lock": (edited("envs/current.txt", "", "# edited\n"), {"stack", *FROM_SCRIPT}),
    "record of a run": (older_run, FROM_RUNS),
    "record of a run of older code": (run_of_older_code, FROM_SCRIPT),
    "no samples of a run": (removed(f"{RUN}/samples.csv"), FROM_SCRIPT),
    "only the report": (removed("runs", "collected", "tables", "figures"), FROM_SCRIPT),
    "no collected runs": (removed("collected"), FROM_RUNS),
    "samples of a run": (other_samples, FROM_RUNS),
    "no table": (removed("tables/runs.parquet"), FROM_TABLES),
    "no caption": (removed("figures/reported.txt"), FIGURE),
    "code of a table": (
        edited("beyond_ram/analysis/reported.py", "def reported(", "X = 1\n\n\ndef reported("),
        {"table_reported", *FIGURE},
    ),
    "code of a figure": (edited("scripts/figures/reported.py", "def plot(", "X = 1\n\n\ndef plot("), FIGURE),
    "template of the report": (
        edited("beyond_ram/report/templates/base.html.jinja", "</title>", " again</title>"),
        {"report"},
    ),
    "no summary": (removed("summary.txt"), {"report"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_lost_or_changed_is_planned(place, tmp_path, change):
    make, rules = CHANGES[change]
    shutil.copytree(place.results, tmp_path / "before")
    try:
        with make(place):
            assert place.planned() == rules
    finally:
        shutil.rmtree(place.results)
        shutil.copytree(tmp_path / "before", place.results)


@pytest.fixture(scope="module")
def lent(project):
    """Bytecode for the stack that a rule builds after its lock was edited."""
    lend_bytecode("current", project / ".stacks")


# Changes whose runs on disk differ, and one of a table: equal plans run the same jobs. The last one makes all anew.
CALLED = (
    "module that the script imports", "module at a path that the script adds", "lock", "code of a table",
    "record of a run", "record of a run of older code", "only the report",
)  # fmt: skip
OTHER_CODE = ("module that the script imports", "lock")


@pytest.mark.end_to_end
@pytest.mark.usefixtures("lent")
@pytest.mark.parametrize("change", CALLED)
def test_call_after_a_loss_or_change_is_right(place, change):
    before = place.files()
    with CHANGES[change][0](place):
        done = place.call()
        assert done.returncode == 0, done.stderr[-3000:]
        place.assert_right()
        assert place.files() == before
        assert change not in OTHER_CODE or place.code().isdisjoint(place.codes)
        place.codes.update(place.code())


def test_record_names_its_arguments_by_a_digest(place):
    """So a run of another config is as a run of older code."""
    assert len(place.code()) == 2


def test_times_alone_change_nothing(place):
    make_older(*place.results.rglob("*"), *place.folder.iterdir())
    make_older(*(place.project / "scripts").glob("*.py"), by_s=2 * A_YEAR_S)  # Snakemake compares these by time
    assert place.planned() == set()
    for file in ("mine.py", "helper.py"):
        (place.folder / file).touch()
    (place.project / "scripts/workloads/script.py").touch()
    (place.results / RUN / "run.json").touch()
    assert place.planned() == set()


@pytest.mark.parametrize("without", ["nothing", "stamps", "collected"])
def test_run_of_other_code_is_noticed_without_the_records_of_snakemake(place, tmp_path, without):
    shutil.copytree(place.results, tmp_path / "copied")
    if without != "nothing":
        collected = tmp_path / "copied/collected"
        shutil.rmtree(collected) if without == "collected" else (collected / "own.stamps.json").unlink()
    with edited("helper.py", "first", "second")(place):
        assert "measure" in place.planned("--config", f"results={tmp_path / 'copied'}"), "other results"


@pytest.mark.parametrize("program", ["snakemake", pytest.param("beyond-ram", marks=pytest.mark.end_to_end)])
def test_killed_script_leaves_no_report(place, path, program):
    def run():
        if program == "snakemake":
            return place.call()
        command = ["beyond-ram", "run", "--configfile", "losses.yaml", "--config", f"results={place.results}"]
        return subprocess.run(
            command, cwd=place.folder, env=environment(place.project, path), capture_output=True, text=True, check=False
        )

    report = place.results / "report.html"
    earlier = report.read_bytes()
    with edited(
        "mine.py", "print(", "sys.argv[1:] and __import__('os').kill(__import__('os').getpid(), 9) or print('edited', "
    )(place):
        for _ in range(2 if program == "snakemake" else 1):
            done = run()
            assert done.returncode != 0
            assert not report.exists()
            assert not (place.results / "summary.txt").exists()
            assert (place.results / "report-out-of-date.html").read_bytes() == earlier
            assert "report-out-of-date.html" in done.stderr
    done = place.call()
    assert done.returncode == 0, done.stderr[-3000:]
    place.assert_right()
