"""What a user sees of a real call: in a terminal, in a pipe, where a job fails, and after Ctrl-C."""

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from .conftest import Snakemake

pytestmark = pytest.mark.slow
RESULTS = "results-terminal"
TABLE = f"{RESULTS}/tables/runs.csv"
COLUMNS = 79


@pytest.fixture(scope="module")
def config(project: Path, current: None) -> Path:
    """Two cells of the cheapest workload."""
    scan = {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": [1, 2]}}
    file = project / "terminal.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": RESULTS, "experiments": {"scan": scan}}))
    return file


@pytest.fixture(autouse=True)
def nothing_made(project: Path) -> None:
    shutil.rmtree(project / RESULTS, ignore_errors=True)


@contextmanager
def spoiled(project: Path, line: str) -> Iterator[None]:
    """The program with a line of its own, for as long as the block lasts."""
    program = project / "scripts/workloads/scan.py"
    sound = program.read_text()
    assert "    args = arguments()\n" in sound
    program.write_text(sound.replace("    args = arguments()\n", f"    args = arguments()\n    {line}\n"))
    try:
        yield
    finally:
        program.write_text(sound)


def on_terminal(project: Path, *words: str, interrupt_at: str = "") -> tuple[int, str]:
    """Exit status and all that comes, of a call in a terminal of its own; with Ctrl-C once a pattern is there."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(project), "TERM": "xterm"}
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *words]
    child = subprocess.Popen(
        command, cwd=project, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs behind a shell ignores it
    )  # fmt: skip
    os.close(its)
    late = threading.Timer(120, child.kill)
    late.start()
    said, asked = b"", not interrupt_at
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        said += part
        if not asked and re.search(interrupt_at.encode(), said):
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does
            asked = True
    os.close(ours)
    late.cancel()
    return child.wait(), said.decode()


def seen(said: str) -> list[str]:
    """The lines that are left on a screen."""
    lines = said.replace("\r\n", "\n").split("\n")
    return [re.sub(r"\x1b\[\d*m", "", line.rpartition("\r\x1b[K")[2]) for line in lines]


def logs(project: Path) -> str:
    """The newest log of Snakemake."""
    return max((project / ".snakemake/log").iterdir(), key=lambda file: file.stat().st_mtime).read_text()


def test_in_a_terminal_there_is_one_line_and_nothing_of_it_is_left(project: Path, config: Path) -> None:
    status, said = on_terminal(project, "all", "--configfile", str(config))
    assert status == 0, said[-3000:]
    drawn = [re.split(r"[\r\n]", part)[0] for part in said.split("\r\x1b[K")[1:]]
    assert "planning" in drawn
    assert max(map(len, drawn[:-1])) < COLUMNS
    assert any(
        re.fullmatch(r"weighed 1 of 2 runs, less than a minute left: scan: size \d MB, repeat 1 \(\d s\)", d)
        for d in drawn
    )
    lines = [line for line in seen(said) if line]
    brief = (project / RESULTS / "found.txt").read_text().splitlines()
    # Snakemake says which profile it has taken before it has a logger.
    assert lines[1:-1] == brief
    assert re.fullmatch(r"\d+ of \d+ steps in .*\. Snakemake's log: \.snakemake/log/\S+\.snakemake\.log", lines[-1])
    assert "rule weigh:" in logs(project), "what is not said is in no log"


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


def test_of_a_failed_run_it_says_which_and_why_and_where_its_log_is(
    project: Path, snakemake: Snakemake, config: Path
) -> None:
    with spoiled(project, 'assert args.size_mb != 2, "no such size"'):
        done = snakemake(TABLE, "--keep-going", "--configfile", str(config))
    assert done.returncode != 0
    told = done.stderr
    assert "Failed: scan: size 2 MB, repeat 1 (rule weigh)\n" in told
    assert f"its log, {RESULTS}/logs/scan/stack~current/size_mb~2/rep~1.log:" in told
    assert told.count("AssertionError: no such size") == 1
    assert "CalledProcessError" not in told
    assert "; 1 failed: scan: size 2 MB, repeat 1. Snakemake's log: " in told.splitlines()[-1]
    assert "CalledProcessError" in "".join(file.read_text() for file in (project / ".snakemake/log").iterdir())


def test_after_ctrl_c_it_says_what_was_ended_and_shows_no_traceback(project: Path, config: Path) -> None:
    with spoiled(project, "import time; time.sleep(60)"):
        status, said = on_terminal(
            project, TABLE, "--configfile", str(config), interrupt_at=r"repeat 1 \((?:[3-9]|\d\d) s\)"
        )
    assert status != 0
    assert "Terminating processes on user request" in said
    assert "Traceback" not in said.partition("Terminating")[2].partition("Exception ignored")[0]
    assert re.search(r"ended: scan: size \d MB, repeat 1\. ", said)


def test_what_snakemakes_users_know_works_as_they_know_it(project: Path, snakemake: Snakemake, config: Path) -> None:
    words = ("--configfile", str(config))
    dry = snakemake(TABLE, "-n", *words).stdout
    assert "rule weigh:" in dry
    assert "This was a dry-run" in dry
    shown = snakemake(f"{RESULTS}/specs/code/scan/program.sha256", "--logger-beyond-ram-all-lines", *words).stderr
    assert "rule code:" in shown
    assert "1 of 1 steps (100%) done" in shown
    quiet = snakemake(f"{RESULTS}/specs/code/scan/program.sha256", "-F", "--quiet", "all", *words)
    assert quiet.returncode == 0
    assert "steps" not in quiet.stderr
    assert "table_runs" in snakemake(TABLE, "--summary", *words).stdout
    assert "tokenize" in snakemake("--list-target-rules", *words).stdout
