"""`beyond-ram stack`: its output, refusals in one line, and the files that it leaves unchanged."""

import shutil
from pathlib import Path

import pytest

from beyond_ram.cli import main, stack


@pytest.fixture(scope="module")
def resolved(tmp_path_factory):
    """Create a project with two stacks."""
    folder = tmp_path_factory.mktemp("resolved")
    (folder / "envs").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack, "project", lambda: folder)
        patch.chdir(folder)
        assert main(["stack", "add", "mine", "click==8.1.0", "packaging==24.0"]) == 0
        assert main(["stack", "add", "early", "--pre", "click!=8.0.0,<8.0.1"]) == 0
    return folder


@pytest.fixture
def project(resolved, tmp_path, monkeypatch):
    """Copy the project for one test, which works beside it."""
    monkeypatch.setattr(stack, "project", lambda: tmp_path / "project")
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(resolved, tmp_path / "project"))


@pytest.mark.slow
def test_upgrade_lists_changes_and_keeps_the_lock_before(project, capsys):
    envs = project / "envs"
    lock, requirements = (envs / "mine.txt").read_bytes(), "click==8.1.7\npackaging==24.0\n"
    capsys.readouterr()
    (envs / "mine.in").write_text(requirements)
    assert main(["stack", "upgrade", "mine", "click"]) == 0
    assert capsys.readouterr().out.startswith("click 8.1.0 to 8.1.7\n")
    assert (envs / "mine-before.txt").read_bytes() == lock
    assert (envs / "mine-before.in").read_text() == requirements
    assert "mine-before.txt" in (envs / "mine-before.yaml").read_text()
    assert main(["stack", "upgrade", "mine"]) == 0, "nothing to renew"
    assert (envs / "mine-before.txt").read_bytes() == lock
