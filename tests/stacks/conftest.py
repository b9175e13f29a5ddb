"""Locks as a checkout has them."""

from pathlib import Path

import pytest


@pytest.fixture
def envs(tmp_path: Path) -> Path:
    """Locks as a checkout has them: of a stack, and of the driver, which has no requirements of its own."""
    folder = tmp_path / "envs"
    folder.mkdir()
    for name in ("driver.txt", "driver.yaml", "mine.in", "mine.txt", "mine.yaml"):
        (folder / name).write_text(f"# {name}\n")
    return folder
