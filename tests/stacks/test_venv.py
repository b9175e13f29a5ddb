"""A folder that is no environment of ours is not removed, and one that cannot be built is not left."""

import re
from pathlib import Path

import pytest

from beyond_ram import stacks
from beyond_ram.folders import MARK, ForeignFolderError
from beyond_ram.stacks.variants import INFEASIBLE
from beyond_ram.stacks.venv import MARKER


def test_a_foreign_folder_is_not_removed_for_an_environment(envs: Path) -> None:
    locks = envs.parent / ".stacks" / "locks"
    locks.mkdir(parents=True)
    (locks / "mine+a-1.txt").write_text("a==1\n")
    with pytest.raises(ForeignFolderError, match="is not empty and was not made by beyond-ram"):
        stacks.build(envs / "mine.txt", locks)
    assert (locks / "mine+a-1.txt").read_text() == "a==1\n"


@pytest.mark.parametrize("sign", [MARK, MARKER])
def test_an_environment_of_ours_is_made_anew(envs: Path, sign: str) -> None:
    """Those of before there were marks have the copy of their lock."""
    folder = envs.parent / ".stacks" / "mine"
    folder.mkdir(parents=True)
    for name in ("old", sign):
        (folder / name).touch()
    lock = envs / "mine.txt"
    lock.write_text(f"{INFEASIBLE}it cannot be\n")
    stacks.build(lock, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted([MARK, MARKER])


def test_an_environment_is_marked_from_the_start_and_gone_when_it_cannot_be_built(tmp_path: Path) -> None:
    lock = tmp_path / "none.txt"
    lock.write_text("no-such-package-at-all==1 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(stacks.StackError, match="cannot be built"):
        stacks.build(lock, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    lock.write_text("")
    stacks.build(lock, tmp_path / "none")
    assert {MARK, MARKER, "bin"} <= {path.name for path in (tmp_path / "none").iterdir()}


def test_an_environment_is_compiled_whatever_the_image_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the first run compiles what it imports, and where nothing may be written every run does."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "elsewhere"))
    known = (Path(__file__).parents[2] / "envs/current.txt").read_text()
    (block,) = re.findall(r"(?m)^packaging==.*\n(?:    .*\n)*", known)
    lock = tmp_path / "one.txt"
    lock.write_text(block)
    stacks.build(lock, tmp_path / "one")
    assert {"__init__.cpython-311.pyc"} <= {path.name for path in (tmp_path / "one").rglob("packaging/__pycache__/*")}
