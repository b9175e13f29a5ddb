"""Which runs of an earlier call are used again."""

import json
import sys
from pathlib import Path

import pytest

from beyond_ram.fit.design import Point
from beyond_ram.fit.factors import plan
from beyond_ram.fit.runs import FitRuns, _kept
from beyond_ram.mask_secrets import in_command
from beyond_ram.run_files import RUN_FILES


def reused(earlier: list[str], now: list[str], folder: Path) -> bool:
    """Whether the run of one command is used for another."""
    record = {"outcome": "completed", "command": in_command(earlier), "peak": {}, "command_files": []}
    (folder / RUN_FILES[2]).write_text(json.dumps(record))
    return _kept(folder, now, folder) is not None


def test_run_whose_command_was_masked_is_never_used_again(tmp_path: Path) -> None:
    assert reused(["x", "--rows", "2"], ["x", "--rows", "2"], tmp_path)
    for now in ("2", "40", "***"):
        assert not reused(["x", "--pass", "2"], ["x", "--pass", now], tmp_path)
    with pytest.raises(ValueError, match="another command"):
        reused(["x", "--rows", "2"], ["x", "--rows", "40"], tmp_path)


def test_run_of_a_program_that_was_edited_is_not_used_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("kept = bytearray(10_000_000)\nimport time\ntime.sleep(0.2)\n")
    made = plan([sys.executable, str(program), "{n}"], ["n=1,2"], [])

    def kept(again: int) -> int:
        runs = FitRuns(made, tmp_path / "out")
        run = runs.get(Point((1,), None))
        assert runs.used_again == again
        return run.kept_bytes

    first = kept(0)
    assert kept(1) == first
    program.write_text(program.read_text().replace("10_", "80_"))
    assert kept(0) > first + 50e6
