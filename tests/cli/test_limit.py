"""`beyond-ram limit` on a script whose memory is known."""

import json
import os
import resource

import pytest

from beyond_ram.cli import main
from beyond_ram.cli.limit import _cache_line
from beyond_ram.measure.limit import COMPLETIONS
from beyond_ram.watch.pagecache import evict, residency

from ..watch.conftest import LOCKS, needs_group

# Reads files, each of which is open for a short time only.
READS_MANY = "import os, sys\nfor one in os.scandir(sys.argv[1]): open(one.path, 'rb', 0).read()\n"


def search_in_large_steps(monkeypatch):
    monkeypatch.setattr("beyond_ram.measure.limit.TOLERANCE", 0.5)


def cached(*paths):
    """Write files that are in the page cache; skip where they would stay there."""
    for path in paths:
        path.write_bytes(os.urandom(100_000) * 240)
    evict(paths)
    if residency(paths).resident_bytes:
        pytest.skip("this file system lives in the page cache: nothing can be evicted")
    for path in paths:
        path.read_bytes()


@pytest.mark.slow
@needs_group
def test_smallest_limit_of_a_script_is_found(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("kept = b'x' * 100_000_000\nprint(len(kept))\n")
    assert main(["limit", "case.py", "--share", "0", "--out", "found"]) == 0
    limit = json.loads((tmp_path / "found/limit.json").read_text())
    assert 100e6 < limit["completed_at_bytes"] < 125e6
    # Just below what it needs, a program may also wait for its own code without end.
    ended_at_bytes = max(filter(None, (limit["killed_at_bytes"], limit["timed_out_at_bytes"])))
    assert ended_at_bytes < limit["completed_at_bytes"] <= 1.031 * ended_at_bytes
    assert all(one["cgroup_bytes"] <= one["limit_bytes"] for one in limit["probes"])
    assert {one["outcome"] for one in limit["probes"]} <= {"killed_at_limit", "timed_out", "completed"}
    at_limit = [one for one in limit["probes"] if one["limit_bytes"] == limit["completed_at_bytes"]]
    slowest_s = max(one["duration_s"] for one in at_limit)
    assert f" in {len(at_limit)} runs of at most {slowest_s:.2f} s; not at" in capfd.readouterr().out
    assert len(at_limit) == limit["completed_runs"] == COMPLETIONS
    records = [json.loads(path.read_text()) for path in (tmp_path / "found/runs").glob("limit~*/rep~*/run.json")]
    assert sorted(one["memory_limit_bytes"] for one in records) == sorted(one["limit_bytes"] for one in limit["probes"])


@pytest.mark.slow
@needs_group
def test_budget_ends_the_search_before_a_run_that_does_not_fit_and_more_goes_on(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    search_in_large_steps(monkeypatch)
    (tmp_path / "case.py").write_text("import time\ntime.sleep(0.5)\n")
    words = ["limit", "case.py", "--share", "0", "--out", "out"]
    assert main([*words, "--budget", "0.001"]) == 2
    limit = json.loads((tmp_path / "out/limit.json").read_text())
    assert limit["out_of_budget"] and not limit["probes"] and limit["completed_at_bytes"] is None
    assert "cannot say: the budget is used up" in capfd.readouterr().out
    blocks = tmp_path / "out/blocks.jsonl"
    first = blocks.read_text()
    assert main(words) == 0
    assert blocks.read_text().startswith(first)
    assert json.loads((tmp_path / "out/limit.json").read_text())["completed_at_bytes"]
    assert main(words) == 0
    whole = blocks.read_text()
    assert main([*words[:2], "--args", "1", *words[2:]]) == 2
    assert blocks.read_text() == whole


@pytest.mark.slow
@needs_group
def test_limit_of_a_script_holds_for_a_cold_page_cache(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    if os.geteuid() and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] not in range(24_000_000, 1 << 63):
        pytest.skip("this user may not lock so much memory")
    search_in_large_steps(monkeypatch)
    cached(tmp_path / "rows.bin")
    (tmp_path / "case.py").write_text(LOCKS)
    assert main(["limit", "case.py", "--args", f"{tmp_path}/rows.bin", "--share", "0", "--out", "found"]) == 0
    limit = json.loads((tmp_path / "found/limit.json").read_text())
    assert limit["completed_at_bytes"] > 24e6
    assert "page cache: cold" in capfd.readouterr().out


@pytest.mark.slow
@needs_group
def test_limit_is_called_warm_where_what_was_read_could_not_be_named(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    search_in_large_steps(monkeypatch)
    monkeypatch.setattr("beyond_ram.measure.files_read.FilesRead.outside", lambda self, folder: [])
    (tmp_path / "rows").mkdir()
    cached(*(tmp_path / "rows" / f"{number}.bin" for number in range(2)))
    (tmp_path / "case.py").write_text(READS_MANY)
    words = ["limit", "case.py", "--args", f"{tmp_path}/rows", "--share", "0", "--out", "found"]
    assert main(words) == 0
    probes = json.loads((tmp_path / "found/limit.json").read_text())["probes"]
    assert all(probe["from_cache_bytes"] > 48e6 for probe in probes if probe["completed_work"])
    assert "page cache: warm" in capfd.readouterr().out
    assert main([*words, "--input", "rows", "--out", "cold"]) == 0
    assert "page cache: cold" in capfd.readouterr().out


@pytest.mark.slow
def test_script_that_fails_is_an_outcome_with_a_record_and_runs_again_in_the_next_call(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("import absent_module\n")
    for calls in (1, 2):
        assert main(["limit", "case.py", "--out", "found"]) == 2
        line = capfd.readouterr().out.splitlines()[0]
        assert line.startswith("cannot say: the script failed without a limit: ModuleNotFoundError: ")
        assert "--with absent_module" in line
        blocks = [json.loads(block)["runs"] for block in (tmp_path / "found/blocks.jsonl").read_text().splitlines()]
        assert len(blocks) == calls
    (run,) = blocks[-1]
    assert run["outcome"] == "failed" and line.endswith(run["reason"])
    assert json.loads((tmp_path / "found" / run["folder"] / "run.json").read_text())["exit_status"] == 1


@pytest.mark.parametrize(
    ("from_cache_mb", "limit_mb", "warm"), [(10, 100, False), (20, 100, True), (20, 1000, False), (40, 1000, True)]
)
def test_cache_counts_from_16_mib_and_3_percent_of_the_limit(from_cache_mb, limit_mb, warm):
    probe = {"limit_bytes": limit_mb * 1e6, "duration_s": 1.0, "from_cache_bytes": from_cache_mb * 1e6, "read_bytes": 0}
    line = _cache_line({"completed_at_bytes": limit_mb * 1e6, "probes": [probe]})
    assert line.startswith(f"page cache: {'warm' if warm else 'cold'}")
