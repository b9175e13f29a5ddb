"""The tutorial: its commands run in turn and print what the page quotes, but for the numbers."""

import re
import shlex

import pytest

from ..conftest import ROOT
from ..watch.conftest import needs_group

PAGE = ROOT / "docs" / "tutorial.md"
NUMBER = r"\d[\d,.]*"


def steps():
    """Each command of the page, and the quoted lines of its output."""
    blocks = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("    $ "):
            blocks.append((line.removeprefix("    $ uv run "), []))
        elif line.startswith("    ") and blocks:
            blocks[-1][1].append(line[4:])
    return blocks


def without_numbers(line):
    return re.sub(NUMBER, "N", line).rstrip()


def missing(quoted, printed):
    """Quoted lines that are not printed in this order."""
    remaining, absent = iter(printed), []
    for line in quoted:
        if line != "…" and not any(without_numbers(one) == without_numbers(line) for one in remaining):
            absent.append(line)
    return absent


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end  # its commands run for seconds each; tests/watch tests what they do
@needs_group
def test_every_command_prints_what_the_page_quotes(clone, run_in):
    requested = []
    for command, quoted in steps():
        done = run_in(*shlex.split(command))
        printed = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert not missing(quoted, printed), f"{command}\n{done.stdout}{done.stderr}"
        requested += [int(size) for size in re.findall(r"^ask for +--mem=(\d+)M", done.stderr, re.M)]
        limit = re.search(r"--memory-limit (\d+)M", command)
        if limit and "--packed" in command:
            assert min(requested) <= int(limit[1]), "the limit is at least the request"
    needed, one_worker, packed = requested[:3]
    assert needed > one_worker > packed
    assert (clone / "tutorial.html").stat().st_size > 0
