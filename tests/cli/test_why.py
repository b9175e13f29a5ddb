"""`beyond-ram why` on real scripts."""

import json

import pytest

from beyond_ram.cli import main


@pytest.mark.slow
def test_holder_of_a_scripts_memory_is_found(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("import sys\nrows = [bytes(1000) for _ in range(int(sys.argv[1]))]\n")
    assert main(["why", "case.py", "--args", "60000", "--out", "results"]) == 0
    result = json.loads((tmp_path / "results/why.json").read_text())
    (step,) = [step for step in result["steps"] if step["holder"] != "others"]
    assert step["holder"] == "rows" and abs(step["released_bytes"] - 60e6) < 8e6
    assert result["peak_bytes"] >= result["end_bytes"]
    assert "rows" in capfd.readouterr().out


@pytest.mark.slow
def test_script_that_aborts_gets_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("import os\nos.abort()\n")
    assert main(["why", "case.py", "--out", "results"]) == 2
    assert "SIGABRT" in capfd.readouterr().err.splitlines()[-1] and not (tmp_path / "results").exists()


@pytest.mark.slow
def test_message_of_a_failed_script_is_one_line_without_secrets(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text("raise ValueError('no login:\\n\\x1b[31mtoken=S3cr3tV4lue')\n")
    assert main(["why", "case.py", "--out", "results"]) == 2
    shown = json.loads((tmp_path / "results/why.json").read_text())["error"]
    assert shown == "ValueError: no login: token=***"
    assert f"case.py failed: {shown}; " in capfd.readouterr().out
    assert "S3cr3tV4lue" not in (tmp_path / "results/why.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [("import absent_module", "--with absent_module"), ("raise SystemExit('no rows')", "no rows"), ("a b", "syntax")],
)
def test_script_that_fails_is_no_answer(tmp_path, monkeypatch, capfd, line, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.py").write_text(line + "\n")
    assert main(["why", "case.py", "--out", "results"]) == 2
    assert message in capfd.readouterr().out.splitlines()[0]
