"""Samples through HfFileSystem, by the real libraries and the endpoint."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.experiment.events import faults
from beyond_ram.hub import Hub

from ..conftest import interpreter
from ..repositories.test_webdataset import TARS, repository

ROOT = Path(__file__).parents[2]
VIDEO = {
    "source": "video", "seconds": 8, "frames_per_second": 10, "frames_between_keys": 20, "bits_per_second": 4_000_000,
    "width": 512, "height": 128, "seed": 1,
}  # fmt: skip


def run(root: Path, work: Path, manifest: dict[str, Any], stack: str, *options: str) -> tuple[list[Any], list[Any]]:
    """Run the workload, and return its events and requests."""
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


def event_of(events: list[Any], name: str) -> dict[str, Any]:
    return next((event for event in events if event["event"] == name), {})


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["hub-files", pytest.param("hub-files-0.36", marks=pytest.mark.end_to_end)])
def test_samples_of_tars_are_read_by_file_or_block(stack: str, tmp_path: Path) -> None:
    manifest = repository(TARS, tmp_path / "root")
    events, requests = run(
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
    samples = event_of(events, "samples")
    assert (samples["samples"], samples["samples_twice"], samples["samples_wrong"]) == (30, 0, 0)
    assert samples["payload_bytes"] == 30 * 20_000
    data = [request for request in requests if request.path.split("?")[0].endswith(".tar") and request.method == "GET"]
    assert len(data) == 2, "one request per file"
    assert sum(request.bytes_sent for request in data) == manifest["bytes"]
    _, requests_by_block = run(
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
    blocks = [
        request
        for request in requests_by_block
        if request.path.split("?")[0].endswith(".tar") and request.method == "GET"
    ]
    assert len(blocks) > 6, "one request per block"
    assert all(request.status == 206 for request in blocks)


@pytest.mark.slow
def test_frames_of_a_video_are_read_by_block(tmp_path: Path) -> None:
    python = interpreter("hub-files")
    manifest = repository(VIDEO, tmp_path / "root", python)
    assert manifest["samples"] == 80
    sizes = {}
    for block in ("64", "5120"):
        options = ("--opener", "filesystem", "--block-kb", block, "--samples", "25")
        events, requests = run(tmp_path / "root", tmp_path / block, manifest, "hub-files", *options)
        assert (event_of(events, "samples")["samples"], event_of(events, "samples")["samples_wrong"]) == (25, 0)
        assert event_of(events, "work")["rows"] == 25
        sizes[block] = sum(request.bytes_sent for request in requests)
    assert sizes["64"] > 100_000
    for options in (("--opener", "filesystem", "--block-kb", "0"), ("--opener", "curl", "--block-kb", "0")):
        events, requests = run(
            tmp_path / "root", tmp_path / options[1], manifest, "hub-files", *options, "--samples", "5"
        )
        assert "seek" in event_of(events, "not_applicable")["reason"]
        assert not requests


@pytest.mark.slow
def test_wrong_sample_fails_the_run(tmp_path: Path) -> None:
    manifest = repository(TARS, tmp_path / "root")
    tar = tmp_path / "root" / "datasets/local/mine" / manifest["files"][0]["path"]
    content = bytearray(tar.read_bytes())
    content[2000] ^= 1  # in the payload of the first sample
    tar.write_bytes(content)
    options = ("--opener", "filesystem", "--block-kb", "0", "--samples", "30")
    events, _ = run(tmp_path / "root", tmp_path / "w", manifest, "hub-files", *options)
    assert event_of(events, "samples")["samples_wrong"] == 1
    assert not event_of(events, "work")


def record(block: int, requests: dict[str, dict[str, int]] | None, size: int | None) -> dict[str, Any]:
    cell = {"experiment": "frames", "stack": "s", "repository": "video", "opener": "filesystem", "block_kb": block}
    cell |= {"samples": 10, "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "rep": 1}
    work = {"requests": requests, "bytes_received": size, "data_bytes_received": size, "in_flight_max": 1}
    return {"cell": cell, "outcome": "completed", "work": work, "peak": {"anon_bytes": 1}}


SAMPLES = {
    "event": "samples", "samples": 10, "samples_twice": 0, "samples_wrong": 0, "payload_bytes": 5, "duration_s": 2.0,
    "median_sample_s": 0.1,
}  # fmt: skip
