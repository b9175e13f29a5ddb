"""Output of real calls: in a pipe, with a failed job, and after Ctrl-C.

test_keep_going.py has a successful call in a terminal, test_progress.py a dry run and all lines of Snakemake.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from .conftest import Snakemake

pytestmark = pytest.mark.slow
RESULTS = "results-terminal"
TABLE = f"{RESULTS}/tables/runs.csv"
COLUMNS = 79
LINE = re.compile(r"^weighed \d+ of .*$", re.MULTILINE)


@pytest.fixture(scope="module")
def config(project: Path, current: None) -> Path:
    """Two cells of the cheapest workload."""
    scan = {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": [1, 2]}}
    file = project / "terminal.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": RESULTS, "experiments": {"scan": scan}}))
    return file


@pytest.fixture(scope="module", autouse=True)
def program(project: Path) -> Iterator[None]:
    """A workload that also runs the code of a file that is not one of its inputs."""
    line = '    exec(Path("besides").read_text() if Path("besides").exists() else "")\n'
    parsed = "    args = parser.parse_args()\n"
    file = project / "scripts/workloads/scan.py"
    sound = file.read_text()
    assert parsed in sound
    file.write_text(sound.replace(parsed, f"{parsed}{line}"))
    yield
    file.write_text(sound)


@contextmanager
def with_line(project: Path, line: str) -> Iterator[None]:
    """Let the program also run a line of code while the block runs."""
    (project / "besides").write_text(line)
    yield
    (project / "besides").unlink()


def on_terminal(
    project: Path, *words: str, snakemake: Sequence[str] = (sys.executable, "-m", "snakemake"), path: str = "",
    interrupt_at: str = "",
) -> tuple[int, str]:  # fmt: skip
    """Exit status and output of a call in a terminal of its own; with Ctrl-C once its output has a pattern.

    Ctrl-C does not reach the fork in `path` (../forks), which is not in the terminal's group.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    path = path or f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(project), "TERM": "xterm"}
    command = [*snakemake, "--cores", "1", *words]
    child = subprocess.Popen(
        command, cwd=project, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True,
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
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does
            interrupted = True
    os.close(ours)
    timer.cancel()
    return child.wait(), output.decode()


def screen_lines(output: str) -> list[str]:
    """The lines that stay on a screen."""
    lines = output.replace("\r\n", "\n").split("\n")
    return [re.sub(r"\x1b\[\d*m", "", line.rpartition("\r\x1b[K")[2]) for line in lines]


def assert_progress_line_disappears(output: str, brief: list[str], line: str) -> None:
    """Check that a call on a terminal drew a line of this pattern and left only the summary."""
    drawn = [re.split(r"[\r\n]", part)[0] for part in output.split("\r\x1b[K")[1:]]
    assert "planning" in drawn
    assert max(map(len, drawn[:-1])) < COLUMNS
    assert any(re.fullmatch(line, d) for d in drawn), drawn
    lines = [line for line in screen_lines(output) if line]
    # Snakemake names its profile before it has a logger.
    assert lines[1:-1] == brief
    assert re.fullmatch(r"\d+ of \d+ steps in .*\. Snakemake's log: \.snakemake/log/\S+\.snakemake\.log", lines[-1])


def logs(project: Path) -> list[Path]:
    """The logs of Snakemake, oldest first: their names begin with the time."""
    return sorted((project / ".snakemake/log").glob("*"))


def test_failed_run_is_named_with_its_error_and_log(project: Path, snakemake: Snakemake, config: Path) -> None:
    fails, before = f"{RESULTS}/runs/scan/stack~current/size_mb~2/rep~1/run.json", logs(project)
    with with_line(project, 'assert args.size_mb != 2, "no such size"'):
        done = snakemake(TABLE, "--keep-going", "--prioritize", fails, "--configfile", str(config))
    assert done.returncode != 0
    errors = done.stderr
    assert "Failed: scan: size 2 MB, repeat 1 (rule weigh)\n" in errors
    assert f"its log, {RESULTS}/logs/scan/stack~current/size_mb~2/rep~1.log:" in errors
    assert errors.count("AssertionError: no such size") == 1
    assert "CalledProcessError" not in errors
    assert "; 1 failed: scan: size 2 MB, repeat 1. Snakemake's log: " in errors.splitlines()[-1]
    first, *_ = (file.read_text() for file in logs(project)[len(before) :])
    assert "CalledProcessError" in first
    # The call that makes the rest names what cannot be made.
    assert LINE.findall(first)[1] == "weighed 1 of 2 runs; 1 cannot be weighed, because a job failed"


def test_pipe_gets_a_plain_line_now_and_then(project: Path, snakemake: Snakemake, config: Path) -> None:
    done = snakemake(TABLE, "--configfile", str(config))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    _, *lines, last = done.stderr.splitlines()
    assert 1 <= len(lines) < 10
    assert all(re.match(r"\d\d:\d\d:\d\d (\d+ of \d+ steps, )?weighed \d of 2 runs", line) for line in lines)
    assert "Snakemake's log: " in last
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stderr
    again = snakemake(TABLE, "--configfile", str(config)).stderr
    assert "Nothing to be done" in again
    assert len(again.splitlines()) < 4


def test_ctrl_c_names_the_ended_run_without_a_traceback(project: Path, config: Path) -> None:
    shutil.rmtree(project / RESULTS, ignore_errors=True)
    with with_line(project, "import time; time.sleep(60)"):
        status, output = on_terminal(
            project, TABLE, "--configfile", str(config), interrupt_at=r"repeat 1 \((?:[3-9]|\d\d) s\)"
        )
    assert status != 0
    assert "Terminating processes on user request" in output
    assert "Traceback" not in output.partition("Terminating")[2].partition("Exception ignored")[0]
    assert re.search(r"ended: scan: size \d MB, repeat 1\. ", output)


def test_known_options_of_snakemake_work_as_usual(project: Path, snakemake: Snakemake, config: Path) -> None:
    words = ("--configfile", str(config))
    quiet = snakemake(f"{RESULTS}/collected/scan.runs.parquet", "-F", "--quiet", "all", *words)
    assert quiet.returncode == 0
    assert "steps" not in quiet.stderr
    assert "table_runs" in snakemake(TABLE, "--summary", *words).stdout
    assert "tokenize" in snakemake("--list-target-rules", *words).stdout
