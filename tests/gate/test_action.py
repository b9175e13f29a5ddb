"""The composite action: its steps run as on a runner, on a short cell."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from beyond_ram.folders import mark

from ..conftest import lend_bytecode

NAMES = ("baseline", "candidate", "cells", "script", "budget", "token")
CELLS = """
defaults: none
experiments:
  moment: {workload: scan, matrix: {stack: [current], size_mb: [20]}}
"""


@pytest.fixture(scope="module")
def action(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((root / "action.yml").read_text())
    return content


def test_inputs_are_used_and_steps_name_their_shell(action: dict[str, Any]) -> None:
    assert action["runs"]["using"] == "composite"
    text = json.dumps(action["runs"])
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"]) == set(NAMES)
    for step in action["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert "run" not in step or step["shell"] == "bash"
        # Names from a pull request go through the environment, never into the text of a script.
        assert "${{" not in step.get("run", "")


def run_steps(action: dict[str, Any], place: Path, clone: Path, inputs: dict[str, str]) -> "list[tuple[str, int, str]]":
    """Return the name, exit status and output of each `run:` step, up to one that fails."""
    values = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
    context = {"github.action_path": str(clone), "runner.temp": str(place)}
    context |= {"github.event.pull_request.head.sha || github.sha": "abc", "github.token": ""}
    context |= {f"inputs.{name}": value for name, value in values.items()}
    done = []
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        own = {
            name: re.sub(r"\$\{\{ ([\w.| ]+?) \}\}", lambda match: context[match[1]], str(value))
            for name, value in step.get("env", {}).items()
        }
        files = {"GITHUB_OUTPUT": str(place / "output"), "GITHUB_STEP_SUMMARY": str(place / "summary")}
        outer = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
        # The PATH after setup-python, without the environment of the tests.
        outside = [folder for folder in outer["PATH"].split(":") if not folder.startswith(sys.prefix)]
        outer["PATH"] = ":".join([str(Path(getattr(sys, "_base_executable", sys.executable)).parent), *outside])
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env=outer | own | files, cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
        done.append((step["name"], ran.returncode, ran.stdout + ran.stderr))
        if ran.returncode:
            break
    return done


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end
def test_steps_measure_and_write_a_summary(action: dict[str, Any], clone: Path, tmp_path: Path) -> None:
    (tmp_path / "cells.yaml").write_text(CELLS)
    lend_bytecode("current", tmp_path / "beyond-ram-gate" / "stacks")
    mark(tmp_path / "beyond-ram-gate")
    inputs = {"baseline": "fsspec==2026.6.0", "candidate": "fsspec==2026.7.0", "cells": "cells.yaml", "budget": "3"}
    done = run_steps(action, tmp_path, clone, inputs)
    assert [(name, status) for name, status, _ in done] == [("Install beyond-ram", 0), ("Measure", 0)], done[-1][2][
        -3000:
    ]
    assert (tmp_path / "output").read_text() == "verdict=same\n"
    summary = (tmp_path / "summary").read_text()
    assert [name in summary.splitlines()[0] for name in ("fsspec==2026.7.0", "fsspec==2026.6.0")] == [True, True]
    result = json.loads((tmp_path / "beyond-ram-gate" / "gate.json").read_text())
    assert {(line["metric"], line["verdict"]) for line in result["changes"]} == {("run_failed", "same")}
    (tmp_path / "output").unlink()
    # One repeat decides nothing: there is a warning with the smallest leak that would have been found.
    done = run_steps(action, tmp_path, clone, inputs | {"budget": "0.001"})
    assert done[-1][:2] == ("Measure", 0)
    assert "::warning title=beyond-ram gate is undecided::" in done[-1][2]
    assert "leak" in done[-1][2]
    assert (tmp_path / "output").read_text() == "verdict=undecided\n"
    (tmp_path / "output").unlink()
    done = run_steps(action, tmp_path, clone, inputs | {"candidate": "./no-such-checkout"})
    assert done[-1][:2] == ("Measure", 2)
    assert "is no requirement" in done[-1][2]
