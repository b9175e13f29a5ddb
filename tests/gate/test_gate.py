"""The whole gate on wheels with a known fault: it finds the metric, the cell and the size."""

import json

import pytest
import yaml

from beyond_ram.cli import main
from beyond_ram.folders import mark
from beyond_ram.measure import gate as policy
from beyond_ram.metrics import METRICS

from ..conftest import ROOT, lend_bytecode
from .patched import patched

RELEASE = "5.2.0"
BUDGET_MIN = 20  # enough for the repeats on a busy machine


def gate(fault, cells, stack, folder):
    """Compare a wheel with a fault with the release; return the exit status and gate.json."""
    sides = {name: patched(name, RELEASE, folder / name) for name in ("none", fault)}
    lend_bytecode(stack, folder / "out" / "stacks")
    mark(folder / "out")
    words = ["--baseline", sides["none"], "--candidate", sides[fault], "--cells", cells, "--budget", BUDGET_MIN]
    status = main(["gate", *map(str, words), "--out", str(folder / "out")])
    return status, json.loads((folder / "out" / "gate.json").read_text())


@pytest.mark.slow
@pytest.mark.end_to_end
def test_slow_leak_is_found_with_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "LOOKS", (4,))  # few repeats show it; other metrics need many
    batches, leaked = 500, 5e7
    cells = yaml.safe_load((ROOT / "config/gate/tokenize.yaml").read_text()) | {"only": ["gate-batches"]}
    cells["corpora"]["gate-rows"] |= {"documents": batches, "documents_per_file": batches}
    (tmp_path / "batches.yaml").write_text(yaml.safe_dump(cells))
    status, result = gate("100 kB a batch", str(tmp_path / "batches.yaml"), "current", tmp_path)
    assert (status, result["result"]) == (1, "worse")
    worse = {(line["cell"], line["metric"]): line for line in result["changes"] if line["result"] == "worse"}
    line = worse["gate-batches", "grown_anon_bytes"]
    assert line["candidate"] - line["baseline"] == pytest.approx(leaked, rel=0.1)


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end
def test_lost_row_is_found_in_its_cell(tmp_path, capsys):
    status, result = gate("row", "stream", "stream-current", tmp_path)
    assert (status, result["result"]) == (1, "worse")
    (line,) = [line for line in result["changes"] if line["result"] == "worse"]
    assert (line["cell"], line["metric"]) == ("gate-stream", "rows_at_fault")
    assert (line["baseline"], line["candidate"], line["n"]) == (0, 1, 4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 11, "with the place of the files"
    assert METRICS["rows_at_fault"].label in lines[1]
    hashes = [digest["sha256"] for digest in result["requirements"]]
    assert len(set(hashes)) == 2
    assert all(len(digest) == 64 for digest in hashes)


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end
def test_leaks_and_requests_of_workers_are_found_with_their_size(tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "LOOKS", (4, 6, 8))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    status, result = gate("leak and request", "stream", "stream-current", tmp_path)
    assert (status, result["result"]) == (1, "worse")
    worse = {line["metric"]: line for line in result["changes"] if line["result"] == "worse"}
    assert {"worker_grown_anon_bytes", "requests_metadata"} <= set(worse)
    assert {line["cell"] for line in worse.values()} == {"gate-stream"}
    leak, requests = worse["worker_grown_anon_bytes"], worse["requests_metadata"]
    assert 45e6 < leak["candidate"] - leak["baseline"] < 60e6
    assert requests["candidate"] - requests["baseline"] == pytest.approx(2), "each of two workers sends one"
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "out" / "gate.md").read_text()
