"""The line on a job, from records and groups that are made up."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from beyond_ram.watch import jobs

MIB = 1 << 20
JOB = [sys.executable, "-m", "beyond_ram", "job"]


def group(folder: Path, *, peak: int, cache: int, limit: int, kills: int = 0) -> Path:
    """The files of a group of cgroup v2, in MiB; all that it holds is page cache."""
    for name, text in {
        "memory.current": cache * MIB,
        "memory.peak": peak * MIB,
        "memory.max": limit * MIB,
        "memory.events": f"oom_kill {kills}",
        "memory.stat": f"anon 0\nfile {cache * MIB}\ninactive_file {cache * MIB}\nactive_file 0\nshmem 0",
    }.items():
        (folder / name).write_text(f"{text}\n")
    return folder


def test_a_job_far_below_its_limit(tmp_path: Path) -> None:
    line = jobs.of_group(group(tmp_path, peak=200, cache=50, limit=1000), 2)
    assert line.startswith("asked for 1,000 MiB; used 210 MB at once with page cache, 52 MB of it page cache now")
    assert line.endswith("next time ask for at most 264 MiB (--mem=264M)")


def test_what_filled_its_limit_was_page_cache(tmp_path: Path) -> None:
    line = jobs.of_group(group(tmp_path, peak=1000, cache=800, limit=1000), 2)
    assert line.endswith("next time ask for at least 264 MiB (--mem=264M)")


def test_a_job_that_was_killed_asks_for_more_than_it_had(tmp_path: Path) -> None:
    line = jobs.of_group(group(tmp_path, peak=1000, cache=1, limit=1000, kills=1), 2)
    assert "killed for want of memory; next time ask for at least 1,002 MiB" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "expected"), [(None, "there is none"), ("{", "or cut"), ("[]", "or cut"), ('{"peak": {}}', "or cut")]
)
def test_a_record_that_cannot_be_read_gets_one_line(
    content: str | None, expected: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    message = refused("job", "--record", str(tmp_path))
    assert expected in message and str(tmp_path) in message
    assert len(message.splitlines()) == 1


@pytest.mark.slow
def test_a_line_from_the_record_of_a_command(tmp_path: Path) -> None:
    program = "import time; held = bytearray(80_000_000); time.sleep(0.2)"
    command = ["-m", "beyond_ram", "watch", "--out", str(tmp_path), "--", sys.executable, "-I", "-S", "-c", program]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    done = subprocess.run([*JOB, "7", "--record", str(tmp_path)], capture_output=True, text=True, check=True)
    kept = json.loads((tmp_path / "run.json").read_text())["peak"]["kept"]["kept_bytes"]
    assert done.stdout.startswith("beyond-ram: job 7: ")
    assert f"kept {-(-kept // MIB)} MiB" in done.stdout
