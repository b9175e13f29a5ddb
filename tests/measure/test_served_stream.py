"""Real clients, measured with an endpoint: every row comes once, and every request has the process that sent it."""

import csv
import json
from collections import Counter
from types import SimpleNamespace

import pytest

from beyond_ram.experiment import WORKLOADS
from beyond_ram.experiment.events import faults
from beyond_ram.hub import Hub
from beyond_ram.measure.cell import Setting, measure

from ..conftest import interpreter
from ..repositories.test_parquet import make

pytestmark = pytest.mark.slow

AXES = {"stack": ["stream-current"], "repository": ["n"], "workers": [2]}


@pytest.fixture(scope="module")
def python():
    return interpreter("stream-current")


def make_repository(root, tmp_path):
    make(root, tmp_path / "n", files=6, rows_per_file=50, row_group_rows=20, row_bytes=100)
    return tmp_path / "n"


def measure_stream(root, python, tmp_path, endpoint=None, **axes):
    matrix = AXES | {axis: [value] for axis, value in axes.items()}
    kind = WORKLOADS["stream"]
    experiment = kind.model_validate({"workload": "stream", "timeout_s": 120, "endpoint": endpoint, "matrix": matrix})
    (cell,) = experiment.cells("x")
    repository = tmp_path / "n" if endpoint else make_repository(root, tmp_path)
    job = experiment.job(cell, SimpleNamespace(of=lambda *_: str(repository)))
    job = job.but(program=str(root / job.program))
    measure(Setting(job, str(python), root / "envs" / "stream-current.txt", tmp_path / "private"), tmp_path / "runs")
    out = tmp_path / "runs" / cell.path
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    return json.loads((out / "run.json").read_text()), out


def test_two_workers_get_every_row_despite_faults_and_redirects(root, python, tmp_path):
    shuffled = {"shuffle_buffer": 10, "input_shards": 3, "epochs": 2}
    record, out = measure_stream(root, python, tmp_path, redirect="yes", fault="drop-every-4", **shuffled)
    work = record["work"]
    assert record["outcome"] == "completed"
    assert work["rows"] == 600
    counts = [work[f"rows_{what}"] for what in ("expected", "delivered", "twice", "missing", "wrong")]
    assert counts == [300, 300, 0, 0, 0]
    assert work["rows_per_worker"] == {"0": 150, "1": 150}
    assert work["requests"]["data"].keys() == {"main", "worker"}
    assert work["requests"]["redirect"]
    assert work["requests_failed"] > 0
    assert record["cell"]["workers"] == 2
    with (out / "requests.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(n for roles in work["requests"].values() for n in roles.values())
    assert sum(int(line["bytes_sent"]) for line in lines) == work["bytes_received"]
    roles = Counter(line["role"] for line in lines)
    # The process of a short connection may be missed.
    assert roles.pop("unknown", 0) <= 0.1 * len(lines), roles
    assert roles.keys() == {"main", "worker"}
    assert all(0 < float(line["t_s"]) < record["duration_s"] for line in lines)


@pytest.mark.end_to_end
def test_download_by_xet_gets_every_row(root, python, tmp_path):
    record, _ = measure_stream(root, python, tmp_path, mode="download", workers=0, xet="yes")
    work = record["work"]
    assert record["outcome"] == "completed"
    assert (work["rows_delivered"], work["rows_missing"], work["rows_wrong"]) == (300, 0, 0)
    assert work["requests"]["xorb"]
    assert "data" not in work["requests"]
    assert work["bytes_received"] > 0
    assert not (tmp_path / "n" / ".xet").exists(), "the repository, an input of other runs, was changed"


@pytest.mark.end_to_end
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_read_another_hub_and_write_no_token(start, root, python, tmp_path, monkeypatch):
    """A request without the relay's token gets status 401."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with Hub(make_repository(root, tmp_path)) as hub:
        record, out = measure_stream(root, python, tmp_path, endpoint=hub.url, start=start)
        assert hub.requests, "the other Hub got no request"
    work = record["work"]
    assert record["outcome"] == "completed"
    assert (work["rows_expected"], work["rows_delivered"], work["rows_missing"], work["rows_twice"]) == (300, 300, 0, 0)
    assert work["rows_per_worker"] == {"0": 150, "1": 150}
    with (out / "requests.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["role"] for line in lines if line["kind"] == "data"} >= {"worker"}
    assert not {"401", "403"} & {line["status"] for line in lines}
    assert not files_with_a_token(out)


def files_with_a_token(out):
    """Return the files of a run that contain the other Hub's token or the relay's."""
    texts = {path.name: path.read_text() for path in out.rglob("*") if path.is_file()}
    assert texts.keys() >= {"run.json", "events.jsonl", "samples.csv", "requests.csv"}
    return [name for name, text in texts.items() if "hf_secret" in text or "relay_" in text]
