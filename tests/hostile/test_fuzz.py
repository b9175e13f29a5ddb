"""Every reader of our own formats on random input: it returns usable data, or raises one of our errors in one line.

A longer run: `BEYOND_RAM_FUZZ=100000 pytest tests/hostile/test_fuzz.py`, with that many new examples per test.
"""

import contextlib
import json
import os
import re
import sys
import time

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from beyond_ram import experiment
from beyond_ram.analysis.runs import runs
from beyond_ram.experiment import Cell, ConfigError, Job, merge
from beyond_ram.files import DamagedError
from beyond_ram.gate import cells
from beyond_ram.measure import cell as measuring
from beyond_ram.measure import served
from beyond_ram.records import cell_runs, collected, tables
from beyond_ram.stacks import differences, locks, scripts, torch, variants
from beyond_ram.stacks.locks import StackError
from beyond_ram.watch import watch, write_record
from beyond_ram.workflow import job_memory

from ..conftest import ROOT
from . import spoiled

LONG = os.environ.get("BEYOND_RAM_FUZZ")
LONGEST_S = 20.0
"""For one example on a busy machine; most take milliseconds."""
FUZZED = settings(
    phases=(Phase.generate, Phase.shrink), report_multiple_bugs=False, print_blob=False,
    max_examples=int(LONG or 25), deadline=None, derandomize=not LONG, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
OURS = (DamagedError, ConfigError, StackError)


@contextlib.contextmanager
def allow_one_line_error(names=""):
    """Check that the block works, or raises one of our errors whose first line names the file."""
    start = time.monotonic()
    try:
        yield
    except OURS as error:
        lines = str(error).splitlines()
        assert str(names) in lines[0]
        assert isinstance(error, StackError | ConfigError) or len(lines) == 1
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(error))
        assert len(lines[0]) < 2000
    assert time.monotonic() - start < LONGEST_S


PROGRAM = """
import json, os, time
def mark(event, **fields):
    with open(os.environ["BEYOND_RAM_EVENTS"], "a") as file:
        file.write(json.dumps({"monotonic_s": time.monotonic(), "event": event, "pid": os.getpid(), **fields}) + "\\n")
mark("provenance", versions={"python": "3.11"}, clock_s=time.monotonic())
mark("phase", phase="work")
mark("imported", hwm_bytes=1, rss_bytes=1, anon_bytes=1)
mark("baseline", rss_bytes=1, anon_bytes=1, opened_s=0.1)
mark("worker", worker=0)
mark("resolved", duration_s=0.01)
mark("first_batch", duration_s=0.01)
mark("epoch", epoch=0, duration_s=0.1, cpu_s=0.1, rows_delivered=9, rows_per_worker={"0": 9}, finished=True)
mark("shard", shard=0, from_cache=False, rows=9, tokenizer_calls=1, cache_bytes_written=9)
mark("samples", samples=9, samples_twice=0, samples_wrong=0, payload_bytes=9, duration_s=0.1, median_sample_s=0.1)
mark("work", rows=9, bytes_in=99, tokens=9, duration_s=0.1, cpu_s=0.1)
"""
CELL = Cell("growth", (("stack", "current"), ("mode", "basic"), ("num_files", 2)), 1)
REQUEST = {
    "t_s": 0.1, "monotonic_s": 100.1, "duration_s": 0.2, "injected_s": 0.0, "method": "GET", "endpoint": "resolve",
    "repo": "datasets/a/b", "path": "/datasets/a/b/resolve/main/a.parquet", "range": "", "status": 200,
    "bytes_sent": 9, "in_flight": 1, "client": "127.0.0.1:9", "pid": 7, "fault": "", "user_agent": "x",
    "before": {"cpu_s": 0.1, "busy_s": 0.1, "injected_s": 0.0},
    "after": {"cpu_s": 0.2, "busy_s": 0.2, "injected_s": 0.0},
}  # fmt: skip
WORK = {
    "rows": 9, "tokens": 9, "ids_sha256": "0" * 64, "requests": {"data": {"main": 4}}, "requests_failed": 0,
    "bytes_received": 9, "in_flight_max": 1, "rows_per_worker": {"0": 9},
    "endpoint": {"duration_s": 0.1, "cpu_s": 0.1, "busy_s": 0.1},
}  # fmt: skip
LIMIT = {
    "request_bytes": 9,
    "completed_at_bytes": 9,
    "probes": [{"limit_bytes": 9, "outcome": "completed", "cpu_s": 0.1}],
}
# Events of a run, to whose clock the requests are tied.
TIED = [{"event": "provenance", "t_s": 0.0, "clock_s": 100.0}, {"event": "first_batch", "t_s": 1.0, "duration_s": 0.5}]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a real run of a program with many kinds of events."""
    folder = tmp_path_factory.mktemp("fuzz") / "runs" / CELL.path
    record = watch([sys.executable, "-S", "-c", PROGRAM], folder)
    record |= {"cell": CELL.parameters(), "work": WORK, "workload": "load", "limit": LIMIT, "reason": "none"}
    record |= {"page_cache": {"input_bytes": 9, "resident_before_bytes": 0}}
    record["provenance"] |= {"lock_sha256": "0" * 64}
    write_record(record, folder)
    return folder


@pytest.fixture
def sound(run):
    """The run, restored afterwards."""
    before = {path: path.read_bytes() for path in run.iterdir()}
    yield run
    for path, content in before.items():
        path.write_bytes(content)


def read_all(folder):
    """Read all that tables and figures read from a run."""
    cell_runs.samples(folder)
    files = [folder.parent / name for name in ("runs.parquet", "samples.parquet")]
    collected.collect([folder / "run.json"], *files)
    collected_runs = collected.Runs(files[:1])
    assert len(collected.Samples(files[1:], collected_runs).lists(0)["t_s"]) == len(cell_runs.samples(folder)["t_s"])
    collected_runs.outcomes()
    return runs(collected_runs)


@pytest.mark.slow
def test_run_is_sound_before_it_is_spoiled(run):
    assert read_all(run)["outcome"].tolist() == ["completed"]
    assert len(cell_runs.events(run)) > 12


@contextlib.contextmanager
def holding(path, content):
    """Give a file other content and restore it, so that each example starts with the sound run."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


@pytest.mark.slow
@FUZZED
@given(data=st.data())
def test_run_json(sound, data):
    path = sound / "run.json"
    with holding(path, data.draw(spoiled.json_of(json.loads(path.read_bytes())))):
        with allow_one_line_error(sound):  # if run.json and samples.csv differ, either may be damaged
            read_all(sound)
        job_memory.request_mb(sound.parents[4], Cell(CELL.experiment, CELL.axes, rep=2), 4000)


@pytest.mark.slow
@FUZZED
@given(data=st.data())
def test_events(sound, data):
    path = sound / "events.jsonl"
    events = [json.loads(line) for line in path.read_bytes().splitlines()]
    with holding(path, data.draw(spoiled.json_lines_of(events))), allow_one_line_error(path):
        read_all(sound)


@FUZZED
@given(data=st.data())
def test_samples(sound, data):
    path = sound / "samples.csv"
    with holding(path, data.draw(spoiled.bytes_of(path.read_bytes()))), allow_one_line_error(path):
        read_all(sound)


@FUZZED
@given(data=st.data())
def test_the_path_of_a_run(data):
    path = data.draw(spoiled.bytes_of(CELL.path.encode())).decode(errors="replace")
    with contextlib.suppress(ValueError):
        cell = experiment.parse(path)
        assert experiment.parse(cell.path) == cell
        assert ".." not in cell.path.split("/")


@FUZZED
@given(data=st.data())
def test_the_parquet_file_of_a_table(tmp_path, data):
    path = tmp_path / "growth.parquet"
    if not (tmp_path / "sound").exists():
        tables.write(pd.DataFrame({"a": [1, 2], "b": ["x", None]}), tmp_path / "growth.csv", path)
        path.rename(tmp_path / "sound")
    path.write_bytes(data.draw(spoiled.bytes_of((tmp_path / "sound").read_bytes())))
    with allow_one_line_error(path):
        tables.read(path)


MANIFEST = {"name": "a", "files": [{"path": "files/000000.jsonl", "documents": 1, "text_bytes": 9}], "documents": 1}
TOKENS = {"rows": 9, "width": 4, "bytes": 144}


@FUZZED
@given(data=st.data())
def test_manifests(tmp_path, data):
    path = tmp_path / data.draw(st.sampled_from(["manifest.json", "tokens.json"]))
    path.write_bytes(data.draw(spoiled.json_of(MANIFEST if path.name == "manifest.json" else TOKENS)))
    folder = str(tmp_path)
    job = Job(path=CELL.path, workload="load", program="x.py", corpus=folder)
    if path.name == "tokens.json":
        job = job.but(corpus=None, tokens=folder, limit_percent=50)
    with allow_one_line_error(path):
        measuring._inputs(job)
        assert measuring._limit_bytes(job) is None or job.tokens


@FUZZED
@given(data=st.data())
def test_the_log_of_requests(tmp_path, data):
    path = tmp_path / "requests.jsonl"
    path.write_bytes(data.draw(spoiled.json_lines_of([REQUEST, REQUEST | {"monotonic_s": 100.3}])))
    with allow_one_line_error(path):
        requests = served.Endpoint({}, path, lambda: True).requests()
        served.summary(requests, 7, TIED)
        served.write_csv(served.joined(requests, 7, TIED), tmp_path / "requests.csv")


STACK_FILES = {
    "pins": lambda folder, name: locks.has_package(locks.lock_of(name, folder), "numpy"),
    "reason": lambda folder, name: variants.reason(locks.lock_of(name, folder)),
    "moved": lambda folder, name: scripts.moved(locks.lock_of(name, folder)),
    "between": lambda folder, name: differences.packages_in_words(locks.between(name, "other", folder.parent)),
    "torch": lambda folder, name: torch.split(torch.left_bare(locks.text_of(locks.lock_of(name, folder)))),
}
LOCK = f"# moved: numpy 1 to 2\nnumpy==2.0 \\\n    --hash=sha256:{'0' * 64}\ntorch==2.13.0\ntriton==3.0\n"


@FUZZED
@given(data=st.data())
def test_files_of_stacks(tmp_path, data):
    envs = tmp_path / "envs"
    envs.mkdir(exist_ok=True)
    (envs / "other.txt").write_text("numpy==1.0\n")
    spoils = data.draw(st.sampled_from(["mine.txt", "mine.in"]))
    for name, sound in (("mine.txt", LOCK), ("mine.in", "numpy>=1,<3\n--pre\ntorch[x] # y\n")):
        content = sound.encode()
        (envs / name).write_bytes(data.draw(spoiled.bytes_of(content)) if name == spoils else content)
    with allow_one_line_error(envs / "mine"):
        for read in STACK_FILES.values():
            read(envs, "mine")


def use_config(config):
    """Ask an accepted config for all that the rules need."""
    for name in config.run():
        for cell in config.cells(name)[:3]:
            config.job(cell).model_dump_json()
            assert experiment.parse(cell.path) == cell
    config.running_ladders()


DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
SMALL = {
    "defaults": "none",
    "corpora": {"mine": {"source": "files", "glob": "*.x", "tokenizer": {"train": "byte-level", "entries": 600}}},
    "tokens": {"few": {"rows": 10, "width": 4}, "own": {"path": "a.npy"}},
    "loaders": {"own": {"module": "a.py", "data": "a.npy"}},
    "repositories": {"far": {"source": "hub", "id": "a/b"}},
    "experiments": {
        "growth": {"workload": "tokenize", "matrix": {"stack": ["current"], "corpus": ["mine"], "num_files": [1]}},
        "load": {"workload": "load", "matrix": {"stack": ["loaders"], "loader": ["own", "threads"], "tokens": ["few"]}},
    },
    "comparisons": {"all": {"baselines": ["current"], "candidates": ["loaders"]}},
    "ladders": {"x": {"package": "numpy", "experiment": "growth", "metric": "peak_anon_bytes", "versions": ["1.0"]}},
    "only": ["growth"],
}


@pytest.mark.slow
@FUZZED
@given(data=st.data())
def test_a_config(tmp_path, data):
    """Spoiled as values; merged over the default config or alone, as by the rules."""
    file = tmp_path / "mine.yaml"
    content = data.draw(spoiled.value_of(data.draw(st.sampled_from([SMALL, DEFAULT]))))
    file.write_text(json.dumps(content))
    with contextlib.chdir(ROOT), allow_one_line_error():
        merged, files = merge.read([ROOT / "config.yaml"], [file], {}, experiment.content_of)
        use_config(experiment.load(merged, files, ROOT))


@pytest.mark.slow
@FUZZED
@given(data=st.data())
def test_the_cells_of_a_gate(tmp_path, data):
    """Spoiled as YAML text."""
    file = tmp_path / "cells.yaml"
    file.write_bytes(data.draw(spoiled.bytes_of(yaml.safe_dump(SMALL).encode())))
    with allow_one_line_error():
        cells.choose([str(file)], {"datasets"}, tmp_path / "out", ROOT, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"cells.yaml", "out"}
