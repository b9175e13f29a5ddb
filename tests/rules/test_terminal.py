"""Output of real calls: in a pipe, with a failed job, and after Ctrl-C.

test_failing.py has a successful call in a terminal.
"""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

from .conftest import environment
from .tiny import besides, run_of, write_config

pytestmark = pytest.mark.slow
RESULTS = "results-terminal"
TABLE = f"{RESULTS}/tables/runs.csv"
COLUMNS = 79


@pytest.fixture(scope="module")
def config(project, current):
    return write_config(project / "terminal.yaml", RESULTS, tiny=[1, 2])


def on_terminal(project, *words, snakemake=(sys.executable, "-m", "snakemake"), path="", interrupt_at="", running=None):
    """Exit status and output of a call in a terminal of its own; with Ctrl-C once its output has a pattern, and a file
    has content that the measured program writes.

    Ctrl-C does not reach the fork in `path` (../forks), which is not in the terminal's group.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    command = [*snakemake, "--cores", "1", *words]
    child = subprocess.Popen(
        command, cwd=project, env=environment(project, path) | {"TERM": "xterm"},
        stdin=its, stdout=its, stderr=its, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background processes of a shell ignore it
    )  # fmt: skip
    os.close(its)
    timer = threading.Timer(120, child.kill)
    timer.start()
    output, interrupted = b"", not interrupt_at
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        output += part
        if not interrupted and re.search(interrupt_at.encode(), output):
            while running and not (running.exists() and running.read_text()):
                time.sleep(0.1)
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does
            interrupted = True
    os.close(ours)
    timer.cancel()
    return child.wait(), output.decode()


def screen_lines(output):
    """The lines that stay on a screen."""
    lines = output.replace("\r\n", "\n").split("\n")
    return [re.sub(r"\x1b\[\d*m", "", line.rpartition("\r\x1b[K")[2]) for line in lines]


def logs(project):
    """The logs of Snakemake, oldest first: their names begin with the time."""
    return sorted((project / ".snakemake/log").glob("*"))


def test_killed_run_is_named_with_its_error_and_log(project, snakemake, config):
    fails, before = f"{RESULTS}/runs/{run_of(2)}/run.json", logs(project)
    with besides(project, "import os; size != 2 or os.kill(os.getpid(), 9)"):
        done = snakemake(TABLE, "--keep-going", "--prioritize", fails, "--configfile", str(config))
    assert done.returncode != 0
    errors = done.stderr
    assert f"{RESULTS}/logs/{run_of(2)}.log" in errors
    assert errors.count("ended from outside, by SIGKILL") == 1
    assert "CalledProcessError" in logs(project)[len(before)].read_text()


def test_pipe_gets_a_plain_line_for_each_job(project, snakemake, config):
    done = snakemake(TABLE, "--configfile", str(config))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = re.findall(r"^\d\d:\d\d:\d\d (.*)$", done.stderr, re.MULTILINE)
    assert any(re.fullmatch(r"measured 0 of \d runs: tiny", line) for line in lines), lines
    assert "Complete log" in done.stderr.splitlines()[-1]
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stderr
    again = snakemake(TABLE, "--configfile", str(config)).stderr
    assert "Nothing to be done" in again
    assert len(again.splitlines()) < 4


def test_ctrl_c_ends_the_run_and_the_next_call_goes_on(project, snakemake, config, tmp_path):
    shutil.rmtree(project / RESULTS, ignore_errors=True)
    running = tmp_path / "running"
    program = f"import os, time; open({str(running)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with besides(project, program):
        words = (TABLE, "--configfile", str(config))
        status, output = on_terminal(project, *words, interrupt_at=r"of 2 runs: tiny", running=running)
    assert status != 0
    assert "Terminating processes on user request" in output
    assert not Path("/proc", running.read_text()).exists()
    assert not [*(project / RESULTS / "runs").rglob("run.json")]
    done = snakemake(TABLE, "--configfile", str(config))
    assert done.returncode == 0, done.stderr
