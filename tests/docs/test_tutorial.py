"""The tutorial: its commands are run in turn, and say what the page says, but for the numbers."""

import re
import shlex
from pathlib import Path

import pytest

from ..conftest import ROOT, Run
from ..watch.conftest import needs_group

PAGE = ROOT / "docs" / "tutorial.md"
NUMBER = r"\d[\d,.]*"


def steps() -> list[tuple[str, list[str]]]:
    """Each command of the page, and the lines that it is said to print."""
    blocks: list[tuple[str, list[str]]] = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("    $ "):
            blocks.append((line.removeprefix("    $ uv run "), []))
        elif line.startswith("    ") and blocks:
            blocks[-1][1].append(line[4:])
    return blocks


def without_numbers(line: str) -> str:
    return re.sub(NUMBER, "N", line).rstrip()


def missing(quoted: list[str], printed: list[str]) -> list[str]:
    """Quoted lines that are not printed in this order."""
    left, absent = iter(printed), []
    for line in quoted:
        if line != "…" and not any(without_numbers(one) == without_numbers(line) for one in left):
            absent.append(line)
    return absent


@pytest.mark.cgroup
@pytest.mark.slow
@pytest.mark.end_to_end  # its commands watch for seconds each; tests/watch has what they do
@needs_group
def test_every_command_says_what_the_page_says(clone: Path, run_in: Run) -> None:
    asked = []
    for command, quoted in steps():
        done = run_in(*shlex.split(command))
        printed = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert not missing(quoted, printed), f"{command}\n{done.stdout}{done.stderr}"
        asked += [int(size) for size in re.findall(r"^ask for +--mem=(\d+)M", done.stderr, re.M)]
        limit = re.search(r"--memory-limit (\d+)M", command)
        if limit and "--packed" in command:
            assert min(asked) <= int(limit[1]), "the limit is what was asked for, or a little more"
    needed, one_worker, packed = asked[:3]
    assert needed > one_worker > packed
    assert (clone / "tutorial.html").stat().st_size > 0
