"""The scripts in `cases/xet`, with small files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.hub import Conditions, Hub

from ..conftest import interpreter

CASES = Path(__file__).parents[2] / "cases" / "xet"


def run(folder, script, *arguments):
    command = [sys.executable, "-W", "ignore", CASES / script, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    assert run(folder, "store.py", "1", "3").returncode == 0
    return folder


@pytest.mark.parametrize(("script", "which", "count"), [("pull.py", "large", 1), ("push.py", "small", 3)])
def test_cases_transfer_the_files_and_leave_nothing(stored, script, which, count):
    before = {path.name for path in stored.iterdir()}
    transfer = run(stored, script, which)
    assert (transfer.returncode, transfer.stdout) == (0, f"{count}\n"), transfer.stderr
    assert {path.name for path in stored.iterdir()} == before


def test_push_of_changed_bytes_fails(stored, tmp_path):
    folder = tmp_path / "changed"
    shutil.copytree(stored, folder)
    (folder / "files" / "0").write_bytes(bytes(100_000))
    assert run(folder, "push.py", "small").returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize(("disabled", "endpoint"), [("0", "xorb"), ("1", "resolve")])
def test_hub_pull_uses_xet_or_plain_http(tmp_path, disabled, endpoint):
    repository = tmp_path / "hub" / "datasets" / "xet" / "large"
    repository.mkdir(parents=True)
    (repository / "large").write_bytes(os.urandom(10_000_000))  # from this size on, files are in Xet storage
    work = tmp_path / "work"
    work.mkdir()
    with Hub(tmp_path / "hub", conditions=Conditions(xet=True)) as hub:
        environment = os.environ | {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": disabled}
        command = [interpreter("current"), CASES / "hub_pull.py", "10000000"]
        pull = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=60)
        assert (pull.returncode, pull.stdout) == (0, "10000000\n"), pull.stderr
        reads = {request.endpoint for request in hub.requests if request.bytes_sent >= 1_000_000}
    assert reads == {endpoint} and not [*work.iterdir()]
