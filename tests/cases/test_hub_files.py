"""Samples through HfFileSystem, by the real libraries and the endpoint."""

import json

import pytest

from beyond_ram.hub import Hub
from beyond_ram.metrics.reported import reported

from ..conftest import interpreter
from ..repositories.test_webdataset import TARS, repository
from . import run_case

pytestmark = pytest.mark.slow

VIDEO = {"source": "video", "seconds": 8}


def run(root, work, manifest, stack, *options):
    """Run the workload, and return its events and requests."""
    with Hub(root) as hub:
        variables = {"HF_ENDPOINT": hub.url, "HF_HOME": str(work), "HF_HUB_DISABLE_TELEMETRY": "1"}
        variables |= {"HF_HUB_DISABLE_XET": "1"}
        words = ["--manifest", json.dumps(manifest), *options]
        events = run_case(work, "hub_files.py", *words, python=interpreter(stack), **variables)
    return events, list(hub.requests)


@pytest.mark.parametrize("stack", ["hub-files", pytest.param("hub-files-0.36", marks=pytest.mark.end_to_end)])
def test_samples_of_tars_are_read_by_file_or_block(stack, tmp_path):
    manifest = repository(TARS, tmp_path / "root")
    words = ["--opener", "filesystem", "--samples", "30", "--block-kb"]
    events, requests = run(tmp_path / "root", tmp_path / "0", manifest, stack, *words, "0")
    assert reported(events)["Payload [bytes, neither, exact]"] == 30 * 20_000
    data = [request for request in requests if request.path.split("?")[0].endswith(".tar") and request.method == "GET"]
    assert len(data) == 2, "one request per file"
    assert sum(request.bytes_sent for request in data) == manifest["bytes"]
    _, requests = run(tmp_path / "root", tmp_path / "64", manifest, stack, *words, "64")
    blocks = [one for one in requests if one.path.split("?")[0].endswith(".tar") and one.method == "GET"]
    assert len(blocks) > 6, "one request per block"
    assert all(request.status == 206 for request in blocks)


def test_frames_of_a_video_are_read_by_block(tmp_path):
    python = interpreter("hub-files")
    manifest = repository(VIDEO, tmp_path / "root", python)
    assert manifest["samples"] == 200
    options = ("--opener", "filesystem", "--block-kb", "64", "--samples", "25")
    events, requests = run(tmp_path / "root", tmp_path / "64", manifest, "hub-files", *options)
    assert reported(events)["Samples [samples, neither, exact]"] == 25
    assert sum(request.bytes_sent for request in requests) > 100_000
    for opener in ("filesystem", "curl"):
        options = ("--opener", opener, "--block-kb", "0", "--samples", "5")
        events, requests = run(tmp_path / "root", tmp_path / opener, manifest, "hub-files", *options)
        assert "seek" in events[-1]["reason"]
        assert not requests


def test_wrong_sample_fails_the_run(tmp_path):
    manifest = repository(TARS, tmp_path / "root")
    tar = tmp_path / "root" / "datasets/local/mine" / manifest["files"][0]["path"]
    content = bytearray(tar.read_bytes())
    content[2000] ^= 1  # in the payload of the first sample
    tar.write_bytes(content)
    options = ("--opener", "filesystem", "--block-kb", "0", "--samples", "30")
    events, _ = run(tmp_path / "root", tmp_path / "w", manifest, "hub-files", *options)
    assert not events
