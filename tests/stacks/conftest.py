"""Fixtures of the tests of stacks."""

import pytest


@pytest.fixture
def envs(tmp_path):
    """Create the locks of a checkout: a stack's, and the driver's, which has no requirements file."""
    folder = tmp_path / "envs"
    folder.mkdir()
    for name in ("driver.txt", "driver.yaml", "mine.in", "mine.txt", "mine.yaml"):
        (folder / name).write_text(f"# {name}\n")
    return folder
