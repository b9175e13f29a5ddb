"""The pages read plainly: proselint finds nothing, and phrases that need a second reading are not used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ..conftest import ROOT
from .pages import PAGES

HERE = Path(__file__).parent
PHRASES = yaml.safe_load((HERE / "phrases.yaml").read_text())
# The page that shows what not to write.
STYLE = "CONTRIBUTING.md"
# Code, generated blocks, comments and link targets.
NO_PROSE = re.compile(
    r"<!-- \[\[\[cog.*?\[\[\[end\]\]\] -->|<!--.*?-->|```.*?```|`[^`\n]*`|\]\([^)]*\)|^    .*?$", re.DOTALL | re.M
)


def prose(page):
    """The prose of a page, with its line breaks."""
    return NO_PROSE.sub(lambda match: "\n" * match[0].count("\n") or " CODE ", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != STYLE], ids=lambda page: page.name)
def test_a_page_uses_none_of_the_phrases(page):
    text = " ".join(prose(page).split())
    hits = {match[0]: instead for pattern, instead in PHRASES.items() for match in re.finditer(pattern, text)}
    assert hits == {}, page.name


@pytest.mark.slow
def test_proselint_finds_nothing(tmp_path):
    for page in PAGES:
        (tmp_path / page.relative_to(ROOT).as_posix().replace("/", "-")).write_text(prose(page))
    command = [Path(sys.executable).with_name("proselint"), "check", "--config", HERE / "proselint.json", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
