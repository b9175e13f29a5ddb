"""`beyond-ram fit` on real programs: settings that fit, do not fit, or stay unsure."""

import json
import sys

import pytest

from beyond_ram.cli import main

from ..conftest import ROOT
from ..watch.conftest import needs_group

PROGRAMS = ROOT / "tests" / "fit" / "programs"
LEAK = ["--vary", "batch=16,256", "--grow", "rows=50k..1600k", "--largest", "400k"]


def fit(out, name, *words):
    """Return the exit status and fit.json."""
    command = [sys.executable, str(PROGRAMS / f"{name}.py"), "-", "batch={batch}", "rows={rows}"]
    status = main(["fit", "--out", str(out), *words, "--", *command])
    return status, json.loads((out / "fit.json").read_text())


@pytest.fixture(scope="module")
def leak(tmp_path_factory):
    """Fit a program that keeps an interpreter and 125 bytes a row: 200 MB of rows at the largest size."""
    for _ in range(3):  # an interval of 90 % misses the run that ends the number one time in ten
        out = tmp_path_factory.mktemp("fit") / "out"
        status, result = fit(out, "leak", "--memory", "300M", *LEAK)
        if result["settings"][0]["predicted_bytes"] is not None:
            break
    return out, status, result


@pytest.mark.slow
def test_leak_is_predicted_and_fits(leak):
    _, status, result = leak
    assert status == 0
    assert result["times_as_far"] == 4
    assert {setting["batch"] for setting in result["settings"]} == {16, 256}
    interpreter_bytes = (4e6, 14e6)
    for setting in result["settings"]:
        rows_bytes = 200e6 + 4_000 * setting["batch"]
        assert setting["low"] < rows_bytes + interpreter_bytes[1]
        assert setting["high"] > rows_bytes + interpreter_bytes[0]
        assert setting["low"] <= setting["predicted_bytes"] <= setting["high"]
    assert result["best"]["fits"] is True
    assert result["confirmation"]["rows"] == 400_000


@needs_group
@pytest.mark.slow
def test_confirm_runs_the_choice_under_its_limit(leak):
    status, result = fit(leak[0], "leak", "--memory", "300M", *LEAK, "--confirm")
    assert status == 0
    assert result["confirmed"]["outcome"] == "completed"
    assert result["confirmed"]["limit_bytes"] == result["best"]["request_bytes"]


@pytest.mark.slow
def test_runs_are_reused_for_a_smaller_budget(leak):
    out, _, first = leak
    before = {file: file.stat().st_mtime_ns for file in out.glob("runs/*/run.json")}
    status, result = fit(out, "leak", "--memory", "100M", *LEAK)
    assert status == 1
    assert {setting["fits"] for setting in result["settings"]} == {False}
    assert result["best"] is None
    assert before.items() <= {file: file.stat().st_mtime_ns for file in out.glob("runs/*/run.json")}.items()
    assert result["runs"][:7] == first["runs"][:7]


@pytest.mark.slow
def test_runs_of_another_command_are_not_used(leak, capsys):
    assert main(["fit", "--out", str(leak[0]), "--memory", "1G", *LEAK, "--", "true", "{batch}", "{rows}"]) == 2
    assert "another question" in capsys.readouterr().err


@pytest.mark.slow
def test_failing_program_is_an_outcome_with_a_record(tmp_path, capsys):
    words = ["--memory", "1G", "--vary", "n=1,2", "--out", str(tmp_path / "out"), "--"]
    assert main(["fit", *words, sys.executable, "-c", "import sys; sys.exit('no such file as n')", "{n}"]) == 2
    reason = "n=1: the program ended with exit status 1: no such file as n"
    assert capsys.readouterr().out.splitlines()[0] == f"cannot say: {reason}"
    assert json.loads((tmp_path / "out/fit.json").read_text())["unsure_because"] == reason
    (run,) = json.loads((tmp_path / "out/blocks.jsonl").read_text())["runs"]
    assert (run["outcome"], run["reason"]) == ("failed", reason)
    assert json.loads((tmp_path / "out" / run["folder"] / "run.json").read_text())["exit_status"] == 1


@pytest.mark.slow
def test_runs_of_a_program_that_was_edited_are_not_used(tmp_path, capsys):
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text("kept = bytearray(10_000_000)\nimport time\ntime.sleep(0.2)\n")
    words = ["fit", "--memory", "1G", "--vary", "n=1", "--out", str(out), "--", sys.executable, str(program), "{n}"]
    assert main(words) == 0
    assert main(words) == 0
    assert "2 runs are of an earlier call" in capsys.readouterr().out
    program.write_text(program.read_text() + "\n")
    assert main(words) == 2
    assert "another question: a file of the program" in capsys.readouterr().err
