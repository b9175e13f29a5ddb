"""The composite action: its steps run as on a runner, on a short cell."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

NAMES = ("baseline", "candidate", "cells", "script", "budget", "pass", "token")
CELLS = """
defaults: none
experiments:
  moment: {workload: script, matrix: {stack: [current], script: [own]}}
scripts:
  own: {file: own.py}
"""


@pytest.fixture(scope="module")
def action(root):
    return yaml.safe_load((root / "action.yml").read_text())


def test_inputs_are_used_and_steps_name_their_shell(action):
    assert action["runs"]["using"] == "composite"
    text = json.dumps(action["runs"])
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"]) == set(NAMES)
    for step in action["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert "run" not in step or step["shell"] == "bash"
        # Names from a pull request go through the environment, never into the text of a script.
        assert "${{" not in step.get("run", "")


def run_steps(action, place, clone, inputs):
    """Return the name, exit status and output of each `run:` step, up to one that fails."""
    values = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    context = {"github.action_path": str(clone), "runner.temp": str(place)}
    context |= {"github.event.pull_request.head.sha || github.sha": "abc", "github.token": ""}
    context |= {f"inputs.{name}": value for name, value in values.items()}
    context |= {"steps.gate.outputs.out": "", "steps.gate.outputs.result": ""}
    done = []
    for step in action["runs"]["steps"]:
        condition = step.get("if", "")
        if "run" not in step or (condition and not condition.endswith(f"'{context['steps.gate.outputs.result']}'")):
            continue
        own = {
            name: re.sub(r"\$\{\{ ([\w.| ]+?) \}\}", lambda match, context=context: context[match[1]], str(value))
            for name, value in step.get("env", {}).items()
        }
        files = {
            "GITHUB_OUTPUT": str(place / "output"),
            "GITHUB_STEP_SUMMARY": str(place / "summary"),
            "RUNNER_TEMP": str(place),
        }
        outer = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
        # The PATH after setup-python, without the environment of the tests.
        outside = [folder for folder in outer["PATH"].split(":") if not folder.startswith(sys.prefix)]
        outer["PATH"] = ":".join([str(Path(getattr(sys, "_base_executable", sys.executable)).parent), *outside])
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env=outer | own | files, cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
        done.append((step["name"], ran.returncode, ran.stdout + ran.stderr))
        output = place / "output"
        lines = output.read_text().splitlines() if output.is_file() else []
        context |= {f"steps.gate.outputs.{name}": value for name, _, value in (line.partition("=") for line in lines)}
        if ran.returncode:
            break
    return done


SEES = """# /// script
# dependencies = ["click"]
# ///
import os
names = [name for name in os.environ if "TOKEN" in name]
if names != ["MY_TOKEN"]:
    raise SystemExit(f"sees {names}")
"""


@pytest.mark.slow
@pytest.mark.end_to_end
def test_measured_program_sees_no_secret_that_is_not_passed(action, clone, tmp_path, monkeypatch):
    (tmp_path / "case.py").write_text(SEES)
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("MY_TOKEN", "passed")
    inputs = {"baseline": "click==8.1.7", "candidate": "click==8.1.8", "script": "case.py", "budget": "0.05"}
    places = set()
    for _ in range(2):  # in one job
        done = run_steps(action, tmp_path, clone, inputs | {"pass": "MY_TOKEN", "token": "secret"})
        assert done[1][:2] == ("Measure", 0), done[-1][2][-3000:]
        output = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
        places.add(output["out"])
    assert len(places) == 2
    result = json.loads(Path(output["out"], "gate.json").read_text())
    assert not result["says_nothing"], "the script saw another secret"


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end
def test_steps_measure_and_write_a_summary(action, clone, tmp_path):
    (tmp_path / "cells.yaml").write_text(CELLS)
    (tmp_path / "own.py").touch()
    inputs = {"baseline": "fsspec==2026.6.0", "candidate": "fsspec==2026.7.0", "cells": "cells.yaml", "budget": "3"}
    done = run_steps(action, tmp_path, clone, inputs)
    assert [(name, status) for name, status, _ in done] == [("Install beyond-ram", 0), ("Measure", 0)], done[-1][2][
        -3000:
    ]
    output = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert output["result"] == "same"
    summary = (tmp_path / "summary").read_text()
    assert [name in summary.splitlines()[0] for name in ("fsspec==2026.7.0", "fsspec==2026.6.0")] == [True, True]
    result = json.loads(Path(output["out"], "gate.json").read_text())
    assert {(line["metric"], line["result"]) for line in result["changes"]} == {("run_failed", "same")}
    (tmp_path / "output").unlink()
    # One repeat decides nothing: there is a warning.
    done = run_steps(action, tmp_path, clone, inputs | {"budget": "0.001"})
    assert [name for name, _, _ in done] == ["Install beyond-ram", "Measure", "Neutral check"]
    assert done[1][1] == 0
    assert "::warning title=beyond-ram gate is undecided::" in done[1][2]
    assert "result=undecided\n" in (tmp_path / "output").read_text()
    (tmp_path / "output").unlink()
    done = run_steps(action, tmp_path, clone, inputs | {"candidate": "./no-such-checkout"})
    assert done[-1][:2] == ("Measure", 2)
    assert "there is no file or folder" in done[-1][2]
