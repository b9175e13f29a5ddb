"""`beyond-ram watch` from any folder: it runs the caller's programs, and writes nothing into the caller's folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WHERE = ["python", "-c", "import sys; print(sys.prefix)"]


@pytest.fixture(scope="module")
def caller_venv(tmp_path_factory):
    """Create an environment for the caller."""
    folder = tmp_path_factory.mktemp("own") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


def prefix(caller_venv, root, cwd):
    """Return the prefix of the Python that runs a command under the checkout's watch, in this folder."""
    environment = {**os.environ, "PATH": f"{caller_venv / 'bin'}:{os.environ['PATH']}"}
    environment.pop("VIRTUAL_ENV", None)
    command = ["uv", "run", "--no-sync", "--quiet", "--project", str(root), "beyond-ram", "watch", "--", *WHERE]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_command_runs_with_the_callers_python(caller_venv, root, tmp_path):
    assert prefix(caller_venv, root, tmp_path) == str(caller_venv)
    assert not list(tmp_path.iterdir()), "files were written without --out"


@pytest.mark.slow
@pytest.mark.parametrize("words", [["watch", "--"], ["fit", "--memory=1G", "--vary=n=1,2", "--out=fit", "--"]])
def test_command_below_uvx_runs_with_the_callers_python(caller_venv, root, tmp_path, words):
    environment = {**os.environ, "PATH": f"{caller_venv / 'bin'}:{os.environ['PATH']}"}
    wrote = "import sys, time; held = b'x' * 10**7; open('where', 'w').write(sys.prefix); time.sleep(0.1); '{n}'"
    command = ["uv", "tool", "run", "--quiet", "--python", sys.executable, "--from", f"{root}[fit]", "beyond-ram"]
    done = subprocess.run([*command, *words, "python", "-c", wrote], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "where").read_text() == str(caller_venv)


@pytest.mark.slow
@pytest.mark.skipif(Path(sys.prefix).parent != Path(__file__).parents[2], reason="not run from the checkout's .venv")
def test_command_in_the_checkout_runs_with_its_python(caller_venv, root):
    assert prefix(caller_venv, root, root / "docs") == sys.prefix
