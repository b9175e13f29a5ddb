"""Two workflows in one folder: the second is refused, the first goes on; --unlock works after a kill."""

import subprocess
import sys
import time

import pytest

from beyond_ram.records import cell_runs

from .conftest import environment
from .tiny import besides, run_of, write_config

pytestmark = pytest.mark.slow
RUN = f"results-at-once/runs/{run_of(1)}"


@pytest.fixture
def words(project, current):
    """The arguments for a cell that waits as long as file `hold` exists."""
    file = write_config(project / "at-once.yaml", "results-at-once", tiny=[1])
    (project / "hold").touch()
    with besides(project, f"import time\nwhile pathlib.Path({str(project / 'hold')!r}).exists(): time.sleep(0.02)"):
        yield [f"{RUN}/run.json", "--configfile", str(file)]
    (project / "hold").unlink(missing_ok=True)


def start(project, words):
    """Start a Snakemake that can be killed, not a fork of another."""
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", *words],
        cwd=project,
        env=environment(project),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_it_measures(project, process):
    deadline = time.monotonic() + 60
    while not (project / "results-at-once" / "private").is_dir():
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_second_workflow_is_refused_until_the_first_is_killed(project, words, snakemake):
    first = start(project, words)
    wait_until_it_measures(project, first)
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
    assert cell_runs.run(project / RUN)[0]["outcome"] == "completed"
    assert not (project / "results-at-once" / "private").exists()
