"""Output for the user: a line during the run, ten lines at the end."""

import copy
import os
import pty
import re
import subprocess
import sys

import pytest

from beyond_ram import memory_request
from beyond_ram.watch import watch
from beyond_ram.watch.summary import lines

from .conftest import PYTHON, needs_group


@needs_group
@pytest.mark.slow
@pytest.mark.parametrize(("cached", "children", "says"), [(150, 3, True), (150, 0, False), (0, 3, False)])
def test_request_does_not_exclude_spikes_where_page_cache_may_have_made_way(cached, children, says, watched, tmp_path):
    """Children that had 30 MB one after another may have had it at once, as far as their marks show."""
    program = f"""
import os, sys, time
with open(sys.argv[1], "wb") as file:
    for _ in range({cached}): file.write(bytes(1_000_000))
time.sleep(0.1)
for at in range({children}):
    if os.fork(): continue
    time.sleep(0.2 * at); held = bytearray(30_000_000); time.sleep(0.1); del held; time.sleep(0.8); os._exit(0)
for _ in range({children}): os.wait()
"""
    (asks,) = [line for line in lines(watched(program, str(tmp_path / "file"))) if "kept (" in line]
    assert ("no shorter spikes" in asks) is says and len(asks) <= 120


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return watch([*PYTHON, "held = bytearray(30_000_000)"], tmp_path_factory.mktemp("run"))


@pytest.fixture
def record(run):
    return copy.deepcopy(run)


@pytest.mark.parametrize(("pss", "shown"), [(None, True), (5_000_000, False), (40_000_000, True)])
def test_pss_far_below_kept_memory_is_left_out(record, pss, shown):
    record["peak"] |= {"pss_bytes": pss, "uss_bytes": pss}
    assert any(line.startswith("PSS") for line in lines(record)) is shown


def test_record_of_a_later_version_is_shown(record):
    for readings in (record["peak"].get("kept"), record["pressure"], record["growth"]):
        if readings:
            readings |= {"basis": "later", "of": "later", "some_s": 1.0}
    record["growth"] = {"bytes_per_s": 1, "over_s": 1.0, "ceiling": "later", "ceiling_bytes": 1, "reaches_in_s": 1.0}
    labels = {line[:11].strip() for line in lines(record)}
    assert {"ask for", "growth"} <= labels


def test_nothing_is_printed_that_does_not_apply(record):
    record["growth"] = {"bytes_per_s": 1e6, "over_s": 1.0, "ceiling": "machine", "ceiling_bytes": 64 * 10**9}
    record["growth"] |= {"reaches_in_s": 1.0}
    growth = {outcome: "\n".join(lines(record | {"outcome": outcome})) for outcome in ("completed", "detached")}
    assert ["64 GB" in text for text in growth.values()] == [False, True], "an ended program reaches nothing"
    assert not re.search("high water.* at once", growth["completed"]), "one process is no sum"
    shares = [{"pid": pid, "name": "python", "bytes": 2 * 10**7} for pid in (1, 2)]
    record["peak"] |= {"shmem_bytes": 90_000_000, "held_by": {"anon_bytes": shares}}
    assert any(line.startswith("held by") and "90 MB shared" in line for line in lines(record))
    unread = dict.fromkeys(("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "pss_bytes"))
    record["peak"] |= unread | {"processes": 0}
    text = "\n".join(lines(record))
    assert "peak RSS    not sampled\n" in text
    assert not re.search("0 at once|anonymous|PSS", text.partition("ask for")[0].partition("high water")[0])


def test_request_has_its_condition_and_upper_end(record):
    record |= {"memory_limit_bytes": None}
    record["peak"] |= {"rss_bytes": 400 << 20, "processes": 3, "copied_on_write_bytes": 20 << 20, "around": None}
    record["provenance"]["scheduler"] = None
    request = memory_request.request_of(record)
    assert memory_request.depends(request)
    assert request.high_bytes == request.polled_bytes > 400 << 20
    lines_by_label = {line[:11].strip(): line for line in lines(record)}
    ask, perhaps = lines_by_label["ask for"], lines_by_label["perhaps"]
    assert f"--mem={memory_request.mem(request.request_bytes)} " in ask
    assert f"--mem={memory_request.mem(request.polled_bytes)}" in ask
    assert f"--mem={memory_request.mem(request.high_bytes)}" in perhaps
    record["peak"] |= {"copied_on_write_bytes": 0, "unseen_bytes": 0}
    record["peak"] |= {"anon_bytes": 30 << 20, "anon_upper_bound_bytes": 60 << 20}
    without_copies = memory_request.request_of(record)
    assert (
        without_copies.request_bytes + (30 << 20)
        < without_copies.high_bytes
        < without_copies.request_bytes + (36 << 20)
    )


def test_summary_has_kinds_of_memory_and_the_limit_around(record):
    record["peak"]["kept"]["at_kept"] |= {"anon_bytes": 20_000_000, "shmem_bytes": 300_000_000}
    record["peak"]["around"] = {"limit_bytes": 1 << 30, "kills": 2}
    record["peak"]["rss_bytes"] = 4_000_000_000
    text = "\n".join(lines(record))
    assert "kept: 20 MB anonymous, 300 MB shared or in tmpfs" in text
    assert "the group around has a limit of 1,074 MB, 2 killed in it" in text
    assert "TaskPlugin" not in text  # the group with the limit decides


@pytest.mark.slow
def test_live_line_is_shown_only_on_a_terminal():
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
    assert re.search(rb"\r\x1b\[K(kept|anonymous) ", seen)
    assert b"peak " in seen
    assert b"0:00:0" in seen
    quiet = subprocess.run(command, capture_output=True)
    assert b"\x1b" not in quiet.stderr


def test_record_from_elsewhere_sends_no_commands_to_the_terminal(record):
    name = "a\x1b[31m\x07\u202e\nb"
    record["phases"] = [record["phases"][0] | {"phase": name}]
    record["left_running"] = [{"name": name, "pid": 1}]
    text = list(lines(record))
    assert sum("b" in line and "a?[31m???b" in line for line in text) == 2
    assert all(line.isprintable() for line in text)


def test_run_without_a_reading_is_shown(record):
    record["peak"] |= {"rss_bytes": None, "kept": None}
    record["peak"]["hwm_bytes"]["processes"] = []
    shown = list(lines(record))
    assert any("not read" in line for line in shown) and not any("--mem" in line for line in shown)
