"""One bad run never loses the others: with --keep-going there are tables and a report, which say what is missing."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
import yaml

from .conftest import Snakemake
from .test_terminal import assert_one_line_and_nothing_of_it_is_left, logs, on_terminal

pytestmark = pytest.mark.slow
BAD = "scan/stack~current/size_mb~2/rep~1"
RESULTS = "results-going"


@pytest.fixture(scope="module", autouse=True)
def program(project: Path) -> Iterator[None]:
    """A workload that fails where it is told to, by what is no input of it."""
    fails = '    assert not Path(f"fails-{args.size_mb}").exists()\n'
    with spoiled(
        project / "scripts/workloads/scan.py", "args = parser.parse_args()\n", f"args = parser.parse_args()\n{fails}"
    ):
        yield


@pytest.fixture(scope="module")
def config(project: Path, current: None) -> Path:
    """Four cells of the cheapest workload, in two experiments. What a test has made, the next need not make."""
    made = {
        name: {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": sizes}}
        for name, sizes in (("scan", [1, 2, 3]), ("other", [4]))
    }
    file = project / "going.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": RESULTS, "experiments": made}))
    return file


def lines(project: Path, table: str = "runs") -> pd.DataFrame:
    return pd.read_csv(project / RESULTS / "tables" / f"{table}.csv")


@contextmanager
def spoiled(path: Path, before: str, after: str) -> Iterator[None]:
    """A source with something else in a place, for as long as the block lasts."""
    sound = path.read_text()
    assert before in sound
    path.write_text(sound.replace(before, after))
    try:
        yield
    finally:
        path.write_text(sound)


@contextmanager
def failing(project: Path, *sizes: int) -> Iterator[None]:
    """The program fails with some sizes, for as long as the block lasts."""
    files = [project / f"fails-{size}" for size in sizes]
    for file in files:
        file.touch()
    yield
    for file in files:
        file.unlink()


def test_without_it_nothing_follows(project: Path, snakemake: Snakemake, config: Path) -> None:
    with failing(project, 2):
        done = snakemake("--configfile", str(config))
    assert done.returncode != 0
    assert "could not be made" not in done.stderr
    assert not (project / RESULTS / "report.html").exists()


@pytest.mark.end_to_end
def test_what_was_asked_for_by_name_is_not_tried_again(project: Path, snakemake: Snakemake, config: Path) -> None:
    bad, table = f"{RESULTS}/runs/{BAD}/run.json", f"{RESULTS}/tables/runs.csv"
    words = ("--keep-going", "--configfile", str(config))
    with failing(project, 2):
        first = snakemake(table, "--prioritize", f"./{bad}", *words)
        assert first.stderr.count("AssertionError") == 1
        assert len(lines(project)) == 3
        alone = snakemake(bad, *words)
    assert alone.returncode != 0
    assert alone.stderr.count("AssertionError") == 1
    assert not list((project / RESULTS / "figures").glob("*")), "what follows makes what nobody has asked for"


def test_a_run_that_fails_and_the_same_call_again_in_a_terminal(
    project: Path, snakemake: Snakemake, config: Path, path: str
) -> None:
    results = project / RESULTS
    with failing(project, 2):
        done = snakemake("--keep-going", "--configfile", str(config))
    assert done.returncode != 0, "whoever called it has to see that something is missing"
    assert f"1 could not be made: {RESULTS}/runs/{BAD}; the same call again makes only these" in done.stderr
    runs = lines(project)
    assert sorted(zip(runs["experiment"], runs["size_mb"], strict=True)) == [("other", 4), ("scan", 1), ("scan", 3)]
    page, brief = (results / "report.html").read_text(), (results / "summary.txt").read_text()
    assert f"<li>{BAD}</li>" in page
    assert f"Without 1 that could not be made: {BAD}." in brief
    assert list((results / "figures").glob("*.svg"))
    assert not (results / "specs/lost.json").exists()
    status, output = on_terminal(project, "all", "--configfile", str(config), snakemake=["snakemake"], path=path)
    assert status == 0, output[-4000:]
    weighing = r"weighed 3 of 4 runs, less than a minute left: scan: size 2 MB, repeat 1 \(\d s\)"
    assert_one_line_and_nothing_of_it_is_left(output, (results / "summary.txt").read_text().splitlines(), weighing)
    log = logs(project)[-1].read_text()
    assert "rule weigh:" in log, "what is not said is in no log"
    assert re.findall(r"^ +output: \S+/runs/(\S+)/run.json", log, re.MULTILINE) == [BAD]
    assert len(lines(project)) == 4
    assert BAD not in (results / "summary.txt").read_text()
    assert f"<li>{BAD}</li>" not in (results / "report.html").read_text()
    assert "Nothing to be done" in snakemake("--configfile", str(config)).stderr


@pytest.mark.end_to_end
def test_an_experiment_of_which_nothing_is_left_and_a_figure_that_fails(
    project: Path, snakemake: Snakemake, config: Path
) -> None:
    results = project / RESULTS
    shutil.rmtree(results, ignore_errors=True)
    figure = project / "scripts/figures/who_holds_it.py"
    with failing(project, 1, 2, 3), spoiled(figure, "def plot(", "1 / 0\n\n\ndef plot("):
        done = snakemake("--keep-going", "--configfile", str(config))
    assert done.returncode != 0
    assert lines(project)["experiment"].tolist() == ["other"]
    page = (results / "report.html").read_text()
    missing = [f"scan/stack~current/size_mb~{size}/rep~1" for size in (1, 2, 3)]
    missing.append(f"{RESULTS}/figures/who_holds_it")
    assert all(f"<li>{name}</li>" in page for name in missing), re.findall("<li>.*~.*</li>", page)
