"""What a person sees: a line while it runs, ten lines at the end."""

import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from beyond_ram.watch.summary import lines, request_bytes

from .conftest import PYTHON, Watch

GIB = 1 << 30


def test_ten_lines_and_one_for_each_note(watched: Watch) -> None:
    record = watched("import time; held = bytearray(100_000_000); time.sleep(0.3)")
    said = list(lines(record))
    notes = [line for line in said if line.startswith("note")]
    assert len(said) - len(notes) == 10
    assert max(map(len, said)) <= 120
    for word in ("anonymous", "file", "PSS", "high water", "cgroup", "ask for", "sampler"):
        assert any(word in line for line in said), word


def peak(**sizes: Any) -> dict[str, Any]:
    kinds = ("anon", "shmem", "hugetlb", "file", "anon_upper_bound")
    found = {f"{kind}_bytes": sizes.get(kind, 0) for kind in kinds}
    return {"peak": found | {"cgroup_bytes": sizes.get("cgroup"), "pss_bytes": sizes.get("pss")}}


def test_what_to_ask_for_covers_what_cannot_be_reclaimed_and_not_the_page_cache() -> None:
    asked, why = request_bytes(peak(anon=2 * GIB, shmem=GIB, file=20 * GIB, anon_upper_bound=2 * GIB))
    assert 3.3 * GIB < asked < 3.6 * GIB
    assert "cannot be reclaimed" in why


def test_shared_pages_that_many_processes_count_are_asked_for_once() -> None:
    asked, _ = request_bytes(peak(anon=8 * GIB, anon_upper_bound=8 * GIB, cgroup=GIB, pss=GIB))
    assert asked < 1.3 * GIB


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
