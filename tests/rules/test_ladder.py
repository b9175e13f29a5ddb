"""A version ladder: its steps are bisected by one job, which uses again what is on disk."""

import csv
import shutil

import pytest
import yaml

from .changes import jobs_of, records_of

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end]
RESULTS, TABLE = "results-varied", "results-varied/tables/ladders.csv"
STEP = ("0.20.2", "0.20.3")
SCRIPT = """
import tokenizers
later = [int(part) for part in tokenizers.__version__.split(".")] >= [0, 20, 3]
held = bytearray(b"x" * (20_000_000 if later else 60_000_000))
"""


def words(clone, *versions):
    (clone / "varied.py").write_text(SCRIPT)
    matrix = {"stack": ["tokenizers-alone"], "script": ["held"]}
    ladder = {"experiment": "alone", "package": "tokenizers", "metrics": ["end_kept_bytes"], "versions": [*versions]}
    content = {
        "defaults": "none",
        "results": RESULTS,
        "scripts": {"held": {"file": "varied.py"}},
        "experiments": {"alone": {"workload": "script", "repeats": 1, "matrix": matrix}},
        "ladders": {"words": ladder},
    }
    (clone / "varied.yaml").write_text(yaml.safe_dump(content))
    return ("snakemake", "--cores", "2", TABLE, "--configfile", str(clone / "varied.yaml"))


def steps(clone):
    lines = csv.DictReader((clone / TABLE).read_text().splitlines())
    return [(line["from_version"], line["to_version"]) for line in lines]


def started(clone):
    """The start of the runs, by version."""
    records = records_of(clone / RESULTS)
    return {one["cell"]["stack"].rpartition("-")[2]: one["started_at"] for one in records}


def test_ladder_from_an_unknown_version_to_a_lost_run(clone, run_in):
    unknown = run_in(*words(clone, STEP[0], "0.20.99"))
    assert unknown.returncode != 0
    assert "the index has no tokenizers 0.20.99; it has " in unknown.stderr
    assert not (clone / RESULTS / "runs").exists()

    call = words(clone, STEP[0], "0.20.4")
    first = run_in(*call)
    assert first.returncode == 0, first.stderr[-3000:]
    assert STEP in steps(clone)
    before = started(clone)
    assert {*before} == {*STEP, "0.20.4"}
    again = run_in(*call)
    assert "Nothing to be done" in again.stderr + again.stdout

    shutil.rmtree(next((clone / RESULTS / "runs").rglob(f"stack~*-{STEP[0]}")))
    assert {*jobs_of(run_in(*call, "-n"))} == {"ladder", "total"}
    done = run_in(*call)
    assert done.returncode == 0, done.stderr[-3000:]
    after = started(clone)
    assert {version for version in before if after[version] != before[version]} == {STEP[0]}
    assert STEP in steps(clone)

    other = run_in(*words(clone, *STEP))
    assert other.returncode == 0, other.stderr[-3000:]
    assert steps(clone) == [STEP]
    assert {version for version in after if started(clone)[version] != after[version]} == set()
