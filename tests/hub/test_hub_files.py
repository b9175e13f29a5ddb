"""Samples through HfFileSystem, by the real libraries against the endpoint; Spark; a copy for runs that push."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.findings.hub import _hub_files, _spark
from beyond_ram.analysis.hub_files import hub_files
from beyond_ram.analysis.spark import spark
from beyond_ram.experiment import ConfigError, load
from beyond_ram.experiment.events import faults
from beyond_ram.hub import Hub
from beyond_ram.weighing import served

from .test_conformance import interpreter

ROOT = Path(__file__).parents[2]
TARS = {"source": "webdataset", "files": 2, "samples_per_file": 15, "sample_bytes": 20_000, "seed": 1}
VIDEO = {
    "source": "video", "seconds": 20, "frames_per_second": 10, "frames_between_keys": 20, "bits_per_second": 4_000_000,
    "width": 512, "height": 128, "seed": 1,
}  # fmt: skip


def repository(spec: dict[str, Any], out: Path, python: str = sys.executable) -> dict[str, Any]:
    """A repository as its rule makes it; its manifest."""
    program = ROOT / "scripts" / "repositories" / f"{spec['source']}.py"
    told = out.with_name(f"{out.name}.json")
    told.parent.mkdir(parents=True, exist_ok=True)
    told.write_text(json.dumps(spec))
    words = [python, str(program), "--name", "mine", "--spec", str(told), "--out", str(out)]
    subprocess.run(words, check=True)
    return dict(json.loads((out / "manifest.json").read_text()))


def run(root: Path, work: Path, manifest: dict[str, Any], stack: str, *options: str) -> tuple[list[Any], list[Any]]:
    """Events and requests of one run of the workload."""
    work.mkdir(parents=True)
    with Hub(root) as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(work), "HF_HUB_DISABLE_TELEMETRY": "1"}
        environment |= {"BEYOND_RAM_EVENTS": str(work / "events"), "HF_HUB_DISABLE_XET": "1"}
        program = ROOT / "scripts" / "workloads" / "hub_files.py"
        words = [
            interpreter(stack),
            str(program),
            "--work-dir",
            str(work),
            "--manifest",
            json.dumps(manifest),
            *options,
        ]
        done = subprocess.run(words, env=environment, check=False)
    requests = list(hub.requests)
    events = [json.loads(line) for line in (work / "events").read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    assert done.returncode == 0 or "samples" in {event["event"] for event in events}
    return events, requests


def said(events: list[Any], name: str) -> dict[str, Any]:
    return next((event for event in events if event["event"] == name), {})


def test_tars_are_the_same_each_time(tmp_path: Path) -> None:
    first, second = (repository(TARS, tmp_path / name) for name in "ab")
    assert first == second
    assert (first["samples"], len(first["files"])) == (30, 2)
    for file in first["files"]:
        contents = [(tmp_path / name / "datasets/local/mine" / file["path"]).read_bytes() for name in "ab"]
        assert contents[0] == contents[1]
        assert len(contents[0]) == file["bytes"]
    with tarfile.open(tmp_path / "a" / "datasets/local/mine" / first["files"][1]["path"]) as tar:
        assert tar.getnames()[:2] == ["00000015.json", "00000015.bin"]


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["hub-files", "hub-files-0.36"])
def test_samples_of_tars(stack: str, tmp_path: Path) -> None:
    manifest = repository(TARS, tmp_path / "root")
    whole, asked = run(
        tmp_path / "root",
        tmp_path / "0",
        manifest,
        stack,
        "--opener",
        "filesystem",
        "--block-kb",
        "0",
        "--samples",
        "30",
    )
    found = said(whole, "samples")
    assert (found["samples"], found["samples_twice"], found["samples_wrong"]) == (30, 0, 0)
    assert found["payload_bytes"] == 30 * 20_000
    data = [request for request in asked if request.path.split("?")[0].endswith(".tar") and request.method == "GET"]
    assert len(data) == 2, "a request a file"
    assert sum(request.bytes_sent for request in data) == manifest["bytes"]
    _, more = run(
        tmp_path / "root",
        tmp_path / "64",
        manifest,
        stack,
        "--opener",
        "filesystem",
        "--block-kb",
        "64",
        "--samples",
        "30",
    )
    blocks = [request for request in more if request.path.split("?")[0].endswith(".tar") and request.method == "GET"]
    assert len(blocks) > 6, "a request a block"
    assert all(request.status == 206 for request in blocks)


@pytest.mark.slow
def test_frames_of_a_video(tmp_path: Path) -> None:
    python = interpreter("hub-files")
    manifest = repository(VIDEO, tmp_path / "root", python)
    assert manifest["samples"] == 200
    sizes = {}
    for block in ("64", "5120"):
        options = ("--opener", "filesystem", "--block-kb", block, "--samples", "25")
        events, asked = run(tmp_path / "root", tmp_path / block, manifest, "hub-files", *options)
        assert (said(events, "samples")["samples"], said(events, "samples")["samples_wrong"]) == (25, 0)
        assert said(events, "work")["rows"] == 25
        sizes[block] = sum(request.bytes_sent for request in asked)
    assert sizes["64"] > 100_000
    for options in (("--opener", "filesystem", "--block-kb", "0"), ("--opener", "curl", "--block-kb", "0")):
        events, asked = run(tmp_path / "root", tmp_path / options[1], manifest, "hub-files", *options, "--samples", "5")
        assert "seek" in said(events, "not_applicable")["reason"]
        assert not asked


@pytest.mark.slow
def test_a_wrong_sample_fails_the_run(tmp_path: Path) -> None:
    manifest = repository(TARS, tmp_path / "root")
    tar = tmp_path / "root" / "datasets/local/mine" / manifest["files"][0]["path"]
    content = bytearray(tar.read_bytes())
    content[2000] ^= 1  # in the payload of the first sample
    tar.write_bytes(content)
    options = ("--opener", "filesystem", "--block-kb", "0", "--samples", "30")
    events, _ = run(tmp_path / "root", tmp_path / "w", manifest, "hub-files", *options)
    assert said(events, "samples")["samples_wrong"] == 1
    assert not said(events, "work")


def record(block: int, requests: dict[str, dict[str, int]] | None, size: int | None) -> dict[str, Any]:
    cell = {"experiment": "frames", "stack": "s", "repository": "video", "opener": "filesystem", "block_kb": block}
    cell |= {"samples": 10, "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "rep": 1}
    work = {"requests": requests, "bytes_received": size, "data_bytes_received": size, "in_flight_max": 1}
    return {"cell": cell, "outcome": "completed", "work": work, "peak": {"anon_bytes": 1}}


SAMPLES = {
    "event": "samples", "samples": 10, "samples_twice": 0, "samples_wrong": 0, "payload_bytes": 5, "duration_s": 2.0,
    "median_sample_s": 0.1,
}  # fmt: skip


def test_table_and_finding_of_samples() -> None:
    asked = {"data": {"main": 8}, "tree": {"main": 2}}
    table = hub_files([(record(64, asked, 1000), [SAMPLES]), (record(5120, asked, 8000), [SAMPLES])])
    assert table["requests"].tolist() == [10, 10]
    assert table["requests_data"].tolist() == [8, 8]
    assert table["bytes_per_sample"].tolist() == [100, 800]
    assert table["s_per_sample"].tolist() == [0.2, 0.2]
    (found,) = _hub_files({"hub_files": table})
    assert "Blocks of 5,120 KiB receive 8.0 times the bytes of blocks of 64 KiB" in found.title
    assert list(_hub_files({"hub_files": table[:1]})) == []
    uncounted = hub_files([(record(64, None, None), [SAMPLES])])
    assert uncounted[["requests", "bytes_per_sample"]].isna().all(axis=None)
    assert list(_hub_files({"hub_files": hub_files([])})) == []


def test_table_and_finding_of_spark() -> None:
    versions = {"versions": {"pyspark-huggingface": "2.1.0", "pyspark": "4", "huggingface-hub": "2"}}
    cell = {"experiment": "spark", "stack": "spark", "repository": "r", "rep": 1}
    known = {"cell": cell, "provenance": versions, "peak": {}, "outcome": "completed"}
    steps = [
        {"event": "step", "step": "read", "works": True, "rows": 5, "reason": "", "duration_s": 1.0},
        {"event": "step", "step": "write", "works": False, "rows": None, "reason": "TypeError: x", "duration_s": 1.0},
    ]
    without = {**known, "provenance": {"versions": {}}, "outcome": "not_applicable", "reason": "no Java"}
    table = spark([(known, steps), (without, [])])
    assert table["works"].tolist() == [True, False, pd.NA]
    assert table["reason"].tolist() == ["", "TypeError: x", "no Java"]
    (found,) = _spark({"spark": table})
    assert found.title == "pyspark_huggingface 2.1.0 cannot write"
    assert "TypeError: x" in found.text
    assert list(_spark({"spark": spark([])})) == []
    (claim,) = (
        claims(pd.DataFrame(), spark=table).query("claim.str.contains('Spark') and stack == 'spark'").to_dict("records")
    )
    assert (claim["measured"], claim["holds"], claim["n"]) == (0.5, "partly", 1)
    assert claim["conditions"] == "spark; read, write; write fails with TypeError: x"


def test_without_java_spark_is_not_applicable(tmp_path: Path) -> None:
    program = ROOT / "scripts" / "workloads" / "spark_source.py"
    manifest = json.dumps({"id": "local/mine", "rows": 1, "bytes": 1})
    words = [sys.executable, str(program), "--work-dir", str(tmp_path), "--manifest", manifest]
    subprocess.run(words, env={"PATH": str(tmp_path), "BEYOND_RAM_EVENTS": str(tmp_path / "events")}, check=True)
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert said(events, "not_applicable")["reason"] == "there is no Java here, which Spark needs"


@pytest.mark.slow
def test_a_run_that_pushes_has_a_copy(tmp_path: Path) -> None:
    repository(TARS, tmp_path / "root")
    before = {path: path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file()}
    copy = served.copied(tmp_path / "root", tmp_path / "copy")
    with Hub(copy) as hub:
        upload = (
            "import sys, huggingface_hub as h; a = h.HfApi(token='x');"
            "a.upload_file(path_or_fileobj=b'new', path_in_repo='data/train-00000.tar', repo_id='local/mine',"
            " repo_type='dataset')"
        )
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
        subprocess.run([interpreter("hub-files"), "-c", upload], env=environment, check=True)
    assert (copy / "datasets/local/mine/data/train-00000.tar").read_bytes() == b"new"
    assert {path: path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("experiment", "repository_", "fault"),
    [
        ({"workload": "hub-files"}, {"source": "parquet"}, "has source parquet; workload hub-files reads webdataset"),
        ({"workload": "stream"}, TARS, "has source webdataset; workload stream reads parquet or hub"),
        ({"workload": "spark", "endpoint": "https://x"}, {"source": "parquet"}, "endpoint"),
        ({"workload": "hub-files"}, {"source": "video", "seconds": 9999}, "a frame's number has 16 bits"),
    ],
)
def test_what_cannot_be_read_is_told(
    experiment: dict[str, Any], repository_: dict[str, Any], fault: str, root: Path
) -> None:
    if repository_["source"] == "parquet":
        repository_ |= {"files": 1, "rows_per_file": 1, "row_group_rows": 1, "row_bytes": 1}
    named = {**experiment, "matrix": {"stack": ["current"], "repository": ["mine"]}}
    config = {"corpora": {}, "repositories": {"mine": repository_}, "experiments": {"x": named}}
    with pytest.raises(ConfigError, match=fault):
        load(config, root=root)
