"""`beyond-ram watch` from anywhere: the command finds what the caller finds, and the caller's folder stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WHERE = ["python", "-c", "import sys; print(sys.prefix)"]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the caller's own."""
    folder = tmp_path_factory.mktemp("own") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder


def prefix(own: Path, root: Path, cwd: Path) -> str:
    """Whose python a command is run by, watched by the checkout from this folder."""
    environment = {**os.environ, "PATH": f"{own / 'bin'}:{os.environ['PATH']}"}
    environment.pop("VIRTUAL_ENV", None)
    command = ["uv", "run", "--no-sync", "--quiet", "--project", str(root), "beyond-ram", "watch", "--", *WHERE]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_command_is_run_by_the_caller_s_python(own: Path, root: Path, tmp_path: Path) -> None:
    assert prefix(own, root, tmp_path) == str(own)
    assert not list(tmp_path.iterdir()), "nothing is left where --out is not given"


@pytest.mark.slow
@pytest.mark.skipif(Path(sys.prefix).parent != Path(__file__).parents[2], reason="not run from the checkout's .venv")
def test_within_the_checkout_it_is_the_checkout_s(own: Path, root: Path) -> None:
    assert prefix(own, root, root / "docs") == sys.prefix
