"""Which runs of an earlier call are used again."""

import json
from pathlib import Path

import pytest

from beyond_ram.fit.runs import _kept
from beyond_ram.mask_secrets import in_command
from beyond_ram.run_files import RUN_FILES


def reused(earlier: list[str], now: list[str], folder: Path) -> bool:
    """Whether the run of one command is used for another."""
    record = {"outcome": "completed", "command": in_command(earlier), "peak": {}}
    (folder / RUN_FILES[2]).write_text(json.dumps(record))
    return _kept(folder, now, folder) is not None


def test_run_whose_command_was_masked_is_never_used_again(tmp_path: Path) -> None:
    assert reused(["x", "--rows", "2"], ["x", "--rows", "2"], tmp_path)
    for now in ("2", "40", "***"):
        assert not reused(["x", "--pass", "2"], ["x", "--pass", now], tmp_path)
    with pytest.raises(ValueError, match="another command"):
        reused(["x", "--rows", "2"], ["x", "--rows", "40"], tmp_path)
