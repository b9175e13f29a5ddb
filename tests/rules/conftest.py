"""A copy of the project in which rules really run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ROOT, link_stack, project_files

Snakemake = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(project, path=""):
    """The variables of a call in the copy. Without `path` (../forks), Snakemake is a process that can be killed."""
    path = path or f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PYTHONPATH": str(project)}


@pytest.fixture(scope="package")
def project(tmp_path_factory):
    """A checkout with a stack that has nothing but an interpreter: the synthetic source needs no more."""
    folder = tmp_path_factory.mktemp("holder") / "project"
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("precious")
    (folder / "my-notes.txt").write_text("precious")
    stack = folder / ".stacks" / "corpora"
    (stack / "bin").mkdir(parents=True)
    (stack / "bin" / "python").symlink_to(sys.executable)
    shutil.copy(folder / "envs" / "corpora.txt", stack / "beyond-ram.lock")
    (stack / ".beyond-ram-made").touch()
    return folder


@pytest.fixture(scope="package")
def current(project):
    """Link the tests' stack `current` into the copy."""
    link_stack("current", project)


@pytest.fixture(scope="package")
def snakemake(project, path):
    """Run the workflow in the copy, as a user does."""

    def run(*words):
        return subprocess.run(
            ["snakemake", "--cores", "1", *words], cwd=project, env=environment(project, path),
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    return run
