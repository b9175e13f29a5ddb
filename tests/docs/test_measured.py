"""Measured numbers on the pages come from shipped tables, and no table changes unnoticed."""

import csv
import importlib
import json
import re
import sys

import pandas as pd
import pytest
import yaml

from beyond_ram.analysis.findings import SOURCES

from ..conftest import ROOT
from .pages import PAGES

DOCS = ROOT / "docs"
TABLES = sorted((DOCS / "measured").glob("*/*.csv"))
# What cog makes in a page, with the lines that say how.
BLOCK = re.compile(r"<!-- \[\[\[cog.*?\[\[\[end\]\]\] -->", re.S)

# Tables that findings and claims are made from.
FOUND = {*SOURCES, "stack_differences"}

# A line of table `runs`.
RUN = {"experiment": "scan", "stack": "current", "rep": 1, "outcome": "completed", "completed_work": True}
RUN |= {"cpu_count": 2, "machine_memory_bytes": 8e9, "kernel": "6.1", "architecture": "x86_64", "cgroup_version": 2}
RUN |= {"commit": "abc", "lock_sha256": "ab23456789", "started_at": 0.0, "duration_s": 1.5}


@pytest.fixture
def renew(monkeypatch):
    """Module docs/renew.py."""
    monkeypatch.syspath_prepend(str(DOCS))
    yield importlib.import_module("renew")
    for name in ("renew", "measured", "described"):
        sys.modules.pop(name, None)


def stale(renew, *pages):
    """Whether a page differs from its tables."""
    return bool(renew.pages("--check", files=pages))


@pytest.mark.slow
def test_pages_match_their_tables(renew):
    assert not stale(renew, *PAGES), "uv run python docs/renew.py"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_line_of_a_table_has_a_field_for_each_column(path):
    """A longer line would silently move all columns."""
    head, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert lines
    assert {len(line) for line in lines} == {len(head)}


def test_sets_have_provenance_and_are_small():
    for folder in {path.parent for path in TABLES}:
        provenance = yaml.safe_load((folder / "provenance.yaml").read_text())
        assert {"command", "commit", "date", "machine"} <= {*provenance}, folder.name
    assert sum(path.stat().st_size for path in TABLES) < 600_000


@pytest.mark.parametrize("path", [*TABLES, *(DOCS / "measured").glob("*/*.html")], ids=lambda path: path.name)
def test_shipped_files_name_no_folder_of_the_machine(path):
    assert re.findall(r"(?<![\w.~…-])/(?:tmp|root|home|work)/[^\s,]*", path.read_text()) == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_page_quotes_every_table(path):
    """Then a changed table is noticed: the page differs from it."""
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text())]
    folder, calls = path.parent.name, [f'"{path.parent.name}/{path.stem}"']
    calls += [f'{call}("{folder}"' for call in ("show_findings", "claims")] if path.stem in FOUND else []
    calls += ["atlas_coverage()"] if f"{folder}/{path.stem}" == "atlas/cells" else []
    assert any(call in block for block in blocks for call in calls)


def test_tables_are_taken_from_a_results_folder(renew, tmp_path, monkeypatch):
    results, taken = tmp_path / "results", tmp_path / "taken"
    (results / "tables").mkdir(parents=True)
    taken.mkdir()
    monkeypatch.setattr(renew.measured, "FOLDER", taken)
    monkeypatch.setattr(renew, "SETS", {"own": renew.Set("a command", ("limits",))})
    (results / "tables" / "limits.csv").write_text("experiment,size_mb,reason\nscan,200,\n")
    pd.DataFrame([RUN]).to_csv(results / "tables" / "runs.csv", index=False)
    assert renew.main(["own", str(results)]) == 0
    assert (taken / "own" / "limits.csv").read_text() == "experiment,size_mb\nscan,200\n", "empty columns are left out"
    assert yaml.safe_load((taken / "own" / "provenance.yaml").read_text()) == {
        "command": "a command",
        "commit": "abc",
        "date": "1970-01-01",
        "machine": "2 cores, 8 GB, Linux 6.1 x86_64, cgroup v2",
        "locks": {"current": "ab234567"},
    }


def test_results_of_gates_are_taken(renew, tmp_path, monkeypatch):
    gate, taken = tmp_path / "gates" / "one", tmp_path / "taken"
    gate.mkdir(parents=True)
    taken.mkdir()
    monkeypatch.setattr(renew.measured, "FOLDER", taken)
    sides = [
        {"side": side, "requirement": f"pyarrow=={version}"} for side, version in (("baseline", 20), ("candidate", 21))
    ]
    change = {"metric": "peak_anon_bytes", "baseline": 1e8, "candidate": 2e8, "n": 3, "low": 1.5, "high": 2.5}
    changes = [change | {"ratio": 2.0, "difference": None, "result": result} for result in ("worse", "same")]
    (gate / "gate.json").write_text(json.dumps({"requirements": sides, "changes": changes, "measuring_s": 90}))
    (gate / "runs.csv").write_text(f"{','.join(RUN)}\n{','.join(map(str, RUN.values()))}\n")
    assert renew.main(["gate", str(tmp_path / "gates")]) == 0
    [line] = pd.read_csv(taken / "gate" / "changes.csv").to_dict("records")
    assert (line["baseline"], line["baseline_value"], line["unit"], line["minutes"]) == ("pyarrow==20", 100, "MB", 1.5)
    assert (line["ratio"], line["ratio_low"], line["ratio_high"]) == (2.0, 1.5, 2.5)


def test_missing_results_get_one_line(renew, tmp_path, capsys):
    assert renew.main(["default", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert renew.main(["nonesuch", str(tmp_path)]) == 2
    assert "default" in capsys.readouterr().err
