"""Two workflows in one folder: the second is refused, the first goes on; --unlock works after a kill."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from beyond_ram.experiment import records

from .conftest import Snakemake
from .test_keep_going import replaced

pytestmark = pytest.mark.slow
RUN = "results-at-once/runs/scan/stack~current/size_mb~1/rep~1"


@pytest.fixture
def words(project: Path, current: None) -> Iterator[list[str]]:
    """The arguments for a cell that waits as long as file `hold` exists."""
    scan = {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": [1]}}
    file = project / "at-once.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": "results-at-once", "experiments": {"scan": scan}}))
    waits = '    while Path("hold").exists():\n        __import__("time").sleep(0.02)\n'
    program = project / "scripts/workloads/scan.py"
    (project / "hold").touch()
    with replaced(program, "args = parser.parse_args()\n", f"args = parser.parse_args()\n{waits}"):
        yield [f"{RUN}/run.json", "--configfile", str(file)]
    (project / "hold").unlink(missing_ok=True)


def start(project: Path, words: list[str]) -> "subprocess.Popen[str]":
    """Start a Snakemake that can be killed, not a fork of another."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(project),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", *words],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_it_weighs(project: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not (project / "results-at-once" / "private").is_dir():
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_second_workflow_is_refused_until_the_first_is_killed(
    project: Path, words: list[str], snakemake: Snakemake
) -> None:
    first = start(project, words)
    wait_until_it_weighs(project, first)
    second = snakemake(*words)
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stderr
    assert first.poll() is None
    first.kill()
    first.communicate()
    (project / "hold").unlink()
    unlocking = snakemake(*words, "--unlock")
    assert unlocking.returncode == 0, unlocking.stderr[-3000:]
    third = snakemake(*words)
    assert third.returncode == 0, third.stderr[-3000:]
    assert records.run(project / RUN)[0]["outcome"] == "completed"
    assert not (project / "results-at-once" / "private").exists()
