"""A version ladder has the versions of the present config, not of an earlier one."""

import csv
from pathlib import Path

import pytest
import yaml

from ..conftest import Run

pytestmark = pytest.mark.slow
NEIGHBOURS, LATER = ["0.20.2", "0.20.3"], ["0.20.3", "0.21.0"]


def config(clone: Path, versions: list[str]) -> str:
    (clone / "varied.py").write_text("held = bytearray(b'x' * 2_000_000)\n")
    content = {
        "defaults": "none",
        "results": "results-varied",
        "scripts": {"held": {"file": "varied.py"}},
        "experiments": {
            "alone": {
                "workload": "script",
                "repeats": 1,
                "matrix": {"stack": ["tokenizers-alone"], "script": ["held"]},
            }
        },
        "ladders": {
            "words": {
                "experiment": "alone",
                "package": "tokenizers",
                "metrics": ["end_kept_bytes"],
                "versions": versions,
            }
        },
    }
    file = clone / "varied.yaml"
    file.write_text(yaml.safe_dump(content))
    return str(file)


@pytest.mark.end_to_end
def test_only_a_ladder_of_other_versions_is_made_again(clone: Path, run_in: Run) -> None:
    words = ("snakemake", "--cores", "2", "results-varied/tables/ladders.csv", "--configfile")

    def versions() -> set[str]:
        table = (clone / "results-varied" / "tables" / "ladders.csv").read_text().splitlines()
        return {line[name] for line in csv.DictReader(table) for name in ("from_version", "to_version")}

    first = run_in(*words, config(clone, NEIGHBOURS))
    assert first.returncode == 0, first.stderr[-3000:]
    assert versions() == set(NEIGHBOURS)
    again = run_in(*words, config(clone, NEIGHBOURS))
    assert "Nothing to be done" in again.stderr + again.stdout
    changed = run_in(*words, config(clone, LATER))
    assert changed.returncode == 0, changed.stderr[-3000:]
    assert versions() == set(LATER)
