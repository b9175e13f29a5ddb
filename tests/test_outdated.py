"""Contents of files against their stamps."""

import os
from pathlib import Path

import pytest

from beyond_ram.outdated import changed, write_stamps


@pytest.fixture
def stamps(tmp_path: Path) -> Path:
    for name in "ab":
        (tmp_path / name).write_text("content")
    write_stamps([str(tmp_path / name) for name in "abc"], str(tmp_path / "stamps"))
    return tmp_path / "stamps"


def differs(stamps: Path) -> bool:
    return changed([str(stamps.with_name(name)) for name in "abc"], str(stamps))


def test_only_other_content_counts(stamps: Path) -> None:
    assert not differs(stamps)
    file = stamps.with_name("a")
    os.utime(file, (1, 1))
    stamps.with_name("b").unlink()
    stamps.with_name("c").write_text("new")
    assert not differs(stamps), "another time, a missing file, or a file without a stamp"
    file.write_text("CONTENT")
    os.utime(file, (1, 1))
    assert differs(stamps)


@pytest.mark.parametrize(("content", "expected"), [(None, False), ("{", True), ('["%s"]', True), ('{"%s": 1}', True)])
def test_damaged_stamps_count_and_missing_ones_do_not(stamps: Path, content: str | None, expected: bool) -> None:
    stamps.unlink()
    if content is not None:
        stamps.write_text(content.replace("%s", str(stamps.with_name("a"))))
    assert differs(stamps) is expected
