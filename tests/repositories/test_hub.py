"""A dataset of a Hub as a repository: its files are downloaded once, and the token goes nowhere else."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from beyond_ram.experiment.repositories import HubRepository
from beyond_ram.hub import Hub

from ..conftest import interpreter

pytestmark = pytest.mark.slow

PROGRAM = "scripts/repositories/hub.py"


def make(root: Path, tmp_path: Path, **keys: object) -> subprocess.CompletedProcess[str]:
    served = tmp_path / "hub" / "datasets" / "org" / "texts"
    for name, text in {"README.md": "---\n---\n", "data/a.txt": "one\n", "data/b.txt": "two\n"}.items():
        (served / name).parent.mkdir(parents=True, exist_ok=True)
        (served / name).write_text(text)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(HubRepository.model_validate({"source": "hub", "id": "org/texts", **keys}).spec()))
    command = [interpreter("corpora"), root / PROGRAM, "--name", "n", "--spec", spec, "--out", tmp_path / "out"]
    with Hub(tmp_path / "hub") as hub:
        own = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_secret", "HF_HOME": str(tmp_path / "home")}
        return subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(("files", "names"), [(None, ["README.md", "a.txt", "b.txt"]), (["data/a*"], ["a.txt"])])
def test_files_are_there_with_their_size(root: Path, tmp_path: Path, files: list[str] | None, names: list[str]) -> None:
    done = make(root, tmp_path, files=files)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    written = [path for path in (tmp_path / "out" / "datasets").rglob("*") if path.is_file()]
    assert sorted(path.name for path in written) == names
    assert manifest["id"] == "local/n"
    assert (manifest["files"], manifest["rows"]) == (len(names), None)
    assert manifest["bytes"] == sum(path.stat().st_size for path in written)
    assert "hf_secret" not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file())


def test_unknown_revision_is_refused_in_one_line(root: Path, tmp_path: Path) -> None:
    done = make(root, tmp_path, revision="v9")
    assert done.returncode
    (line,) = [line for line in done.stderr.splitlines() if "org/texts" in line]
    assert line.startswith("dataset org/texts: cannot be downloaded (RevisionNotFoundError")
