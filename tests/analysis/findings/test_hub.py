"""What is found in tables `dedup`, `hub_files` and `spark`, from runs made by hand."""

import pytest

from beyond_ram.analysis.dedup import dedup
from beyond_ram.analysis.findings.hub import SOURCES, _dedup, _hub_files, _spark
from beyond_ram.analysis.hub_files import hub_files
from beyond_ram.analysis.spark import spark

from ..by_hand import edit, pushed, sampled, sparked


def test_no_runs_are_no_findings() -> None:
    nothing = {"dedup": dedup([]), "hub_files": hub_files([]), "spark": spark([])}
    assert not [finding for source in SOURCES for finding in source(nothing)]


def test_what_chunking_saves_is_said_of_both_ends() -> None:
    table = dedup(
        pushed(
            off=[edit("none", 1000), edit("delete", 500), edit("append", 20)],
            on=[edit("none", 1000), edit("delete", 50), edit("append", 20)],
        )
    )
    (found,) = _dedup({"dedup": table})
    assert found.strength == pytest.approx(10)
    assert "After delete, 5.0% of the file's bytes are new with content-defined chunking, 50.0% without" in found.title
    assert "After append it is no gain" in found.text
    assert list(_dedup({"dedup": table[table["cdc"] == "on"]})) == [], "nothing to set it against"


def test_blocks_are_held_against_each_other() -> None:
    asked = {"data": {"main": 8}, "tree": {"main": 2}}
    table = hub_files([sampled(64, asked, 1000), sampled(5120, asked, 8000)])
    (found,) = _hub_files({"hub_files": table})
    assert "Blocks of 5,120 KiB receive 8.0 times the bytes of blocks of 64 KiB" in found.title
    assert list(_hub_files({"hub_files": table[:1]})) == []


def test_steps_that_do_not_work_are_named() -> None:
    (found,) = _spark({"spark": spark(sparked())})
    assert found.title == "pyspark_huggingface 2.1.0 cannot write"
    assert "TypeError: x" in found.text
