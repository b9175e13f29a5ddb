"""`beyond-ram limit` on a script whose memory is known."""

import json

import pytest

from beyond_ram.cli import main
from beyond_ram.cli.limit import _lines


@pytest.mark.slow
@pytest.mark.cgroup
def test_smallest_limit_of_a_script_is_found(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("kept = b'x' * 100_000_000\nprint(len(kept))\n")
    assert main(["limit", "case.py", "--share", "0", "--out", "found"]) == 0
    limit = json.loads((tmp_path / "found/limit.json").read_text())
    assert 100e6 < limit["completed_at_bytes"] < 125e6
    assert limit["killed_at_bytes"] < limit["completed_at_bytes"] <= 1.031 * limit["killed_at_bytes"]
    assert "completes at" in capfd.readouterr().out


def test_missing_script_gets_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["limit", "none.py"]) == 2
    assert capfd.readouterr().err == "beyond-ram: there is no file none.py\n"
    assert not list(tmp_path.iterdir())


def test_request_is_not_below_a_limit_that_completed() -> None:
    limits = {"completed_at_bytes": 500e6, "ask_bytes": 400e6, "probes": [], "speed_share": None}
    assert _lines(limits, {"duration_s": 1.0})[-1].endswith("for 500 MB")
