"""What a user sees of a real call: in a pipe, where a job fails, and after Ctrl-C.

One in a terminal that ends well is in test_keep_going.py, a dry run and all lines of Snakemake in test_progress.py.
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
    """A workload that does, beside its work, what stands in a file that is no input of it."""
    line = '    exec(Path("besides").read_text() if Path("besides").exists() else "")\n'
    parsed = "    args = parser.parse_args()\n"
    file = project / "scripts/workloads/scan.py"
    sound = file.read_text()
    assert parsed in sound
    file.write_text(sound.replace(parsed, f"{parsed}{line}"))
    yield
    file.write_text(sound)


@contextmanager
def besides(project: Path, line: str) -> Iterator[None]:
    """The program with a line of its own, for as long as the block lasts."""
    (project / "besides").write_text(line)
    yield
    (project / "besides").unlink()


def on_terminal(
    project: Path, *words: str, snakemake: Sequence[str] = (sys.executable, "-m", "snakemake"), path: str = "",
    interrupt_at: str = "",
) -> tuple[int, str]:  # fmt: skip
    """Exit status and output of a call in a terminal of its own; with Ctrl-C once a pattern is there.

    The fork in `path` (../forks) is not in the terminal's group, so that Ctrl-C would not reach it.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    path = path or f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(project), "TERM": "xterm"}
    command = [*snakemake, "--cores", "1", *words]
    child = subprocess.Popen(
        command, cwd=project, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs behind a shell ignores it
    )  # fmt: skip
    os.close(its)
    late = threading.Timer(120, child.kill)
    late.start()
    output, asked = b"", not interrupt_at
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        output += part
        if not asked and re.search(interrupt_at.encode(), output):
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does
            asked = True
    os.close(ours)
    late.cancel()
    return child.wait(), output.decode()


def seen(output: str) -> list[str]:
    """The lines that are left on a screen."""
    lines = output.replace("\r\n", "\n").split("\n")
    return [re.sub(r"\x1b\[\d*m", "", line.rpartition("\r\x1b[K")[2]) for line in lines]


def assert_one_line_and_nothing_of_it_is_left(output: str, brief: list[str], line: str) -> None:
    """Of a call that was on a terminal: what was drawn, a pattern among it, and what is left."""
    drawn = [re.split(r"[\r\n]", part)[0] for part in output.split("\r\x1b[K")[1:]]
    assert "planning" in drawn
    assert max(map(len, drawn[:-1])) < COLUMNS
    assert any(re.fullmatch(line, d) for d in drawn), drawn
    lines = [line for line in seen(output) if line]
    # Snakemake says which profile it has taken before it has a logger.
    assert lines[1:-1] == brief
    assert re.fullmatch(r"\d+ of \d+ steps in .*\. Snakemake's log: \.snakemake/log/\S+\.snakemake\.log", lines[-1])


def logs(project: Path) -> list[Path]:
    """The logs of Snakemake, oldest first: their names begin with the time."""
    return sorted((project / ".snakemake/log").glob("*"))


def test_of_a_failed_run_it_says_which_and_why_and_where_its_log_is(
    project: Path, snakemake: Snakemake, config: Path
) -> None:
    fails, before = f"{RESULTS}/runs/scan/stack~current/size_mb~2/rep~1/run.json", logs(project)
    with besides(project, 'assert args.size_mb != 2, "no such size"'):
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
    # What follows it is said by the call that makes what can be made of the rest.
    assert LINE.findall(first)[1] == "weighed 1 of 2 runs; 1 cannot be weighed, because a job failed"


def test_in_a_pipe_a_plain_line_comes_now_and_then(project: Path, snakemake: Snakemake, config: Path) -> None:
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


def test_after_ctrl_c_it_says_what_was_ended_and_shows_no_traceback(project: Path, config: Path) -> None:
    shutil.rmtree(project / RESULTS, ignore_errors=True)
    with besides(project, "import time; time.sleep(60)"):
        status, output = on_terminal(
            project, TABLE, "--configfile", str(config), interrupt_at=r"repeat 1 \((?:[3-9]|\d\d) s\)"
        )
    assert status != 0
    assert "Terminating processes on user request" in output
    assert "Traceback" not in output.partition("Terminating")[2].partition("Exception ignored")[0]
    assert re.search(r"ended: scan: size \d MB, repeat 1\. ", output)


def test_what_snakemakes_users_know_works_as_they_know_it(project: Path, snakemake: Snakemake, config: Path) -> None:
    words = ("--configfile", str(config))
    quiet = snakemake(f"{RESULTS}/specs/code/scan/program.sha256", "-F", "--quiet", "all", *words)
    assert quiet.returncode == 0
    assert "steps" not in quiet.stderr
    assert "table_runs" in snakemake(TABLE, "--summary", *words).stdout
    assert "tokenize" in snakemake("--list-target-rules", *words).stdout
