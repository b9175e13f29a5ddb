"""What a person sees: a line while it runs, ten lines at the end."""

import os
import pty
import subprocess
import sys

import pytest

from beyond_ram.watch.summary import lines

from .conftest import PYTHON, Watch


def test_ten_lines_and_one_for_each_note(watched: Watch) -> None:
    record = watched("import time; held = bytearray(100_000_000); time.sleep(0.3)")
    said = list(lines(record))
    notes = [line for line in said if line.startswith(("note", "waited", "at speed"))]
    assert len(said) - len(notes) == 10
    assert max(map(len, said)) <= 120
    for word in ("anonymous", "file", "PSS", "high water", "cgroup", "ask for", "sampler"):
        assert any(word in line for line in said), word


def test_pss_that_was_never_read_is_told_as_that(watched: Watch) -> None:
    record = watched("pass")
    record["peak"] |= {"pss_bytes": None, "uss_bytes": None}
    assert "PSS         not sampled" in list(lines(record))


def test_limits_and_requests_are_in_the_same_unit(watched: Watch) -> None:
    record = watched("held = bytearray(30_000_000)") | {"memory_limit_bytes": 500 << 20}
    assert "(limit 500 MiB)" in next(iter(lines(record)))
    record |= {"outcome": "killed_at_limit", "killed_for_memory": True, "signal": "SIGKILL"}
    asked = next(line for line in lines(record) if line.startswith("ask for"))
    assert (
        asked == "ask for     at least 502 MiB: killed at the limit of 500 MiB, and how much more it needs was not seen"
    )


def test_what_it_is_made_of_and_who_ends_it(watched: Watch) -> None:
    record = watched("pass")
    record["peak"]["kept"]["at_kept"] |= {"anon_bytes": 20_000_000, "shmem_bytes": 300_000_000}
    record["peak"]["around"] = {"limit_bytes": 1 << 30, "kills": 2}
    record["peak"]["rss_bytes"] = 4_000_000_000
    said = "\n".join(lines(record))
    assert "kept: 20 MB anonymous, 300 MB shared or in tmpfs" in said
    assert "the group around has a limit of 1,024 MiB, 2 killed by it" in said
    assert "4,202 MiB where a scheduler adds up RSS" in said


@pytest.mark.slow
def test_a_live_line_on_a_terminal_and_none_elsewhere() -> None:
    command = [sys.executable, "-m", "beyond_ram", "watch", "--", *PYTHON, "import time; time.sleep(1.3)"]
    main, terminal = pty.openpty()
    with subprocess.Popen(command, stderr=terminal) as running:
        os.close(terminal)
        seen = b""
        while True:
            try:
                data = os.read(main, 4096)
            except OSError:
                break
            if not data:
                break
            seen += data
    os.close(main)
    assert running.returncode == 0
    assert b"\r\x1b[Kanonymous " in seen
    assert b"peak " in seen
    assert b"0:00:0" in seen
    quiet = subprocess.run(command, capture_output=True)
    assert b"\x1b" not in quiet.stderr
