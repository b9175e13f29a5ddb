"""Existing files in `--out`: those of an earlier run are replaced, others never."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CLI = [sys.executable, "-m", "beyond_ram", "watch"]
FOREIGN_FILES = {"samples.csv": b"name,weight\na,1\n", "events.jsonl": b'{"my": "log"}\n', "run.json": b'{"run": 1}\n'}


@pytest.mark.parametrize("name", FOREIGN_FILES)
def test_foreign_file_is_refused_and_unchanged(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / name).write_bytes(FOREIGN_FILES[name])
    ran = tmp_path / "ran"
    message = refused("watch", "--out", str(tmp_path), "--", "touch", str(ran))
    assert name in message and "not made by beyond-ram" in message
    assert len(message.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name], "the command ran, or files were written"
    assert (tmp_path / name).read_bytes() == FOREIGN_FILES[name]


@pytest.mark.slow
def test_only_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for seconds in ("0.1", "0.3"):
        subprocess.run([*CLI, "--out", str(tmp_path), "--", "sleep", seconds], check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "notes.txt", "run.json", "samples.csv"]
    assert '"0.3"' in (tmp_path / "run.json").read_text()
