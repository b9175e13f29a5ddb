"""The pages as a site: every link leads somewhere, and every page is reached from the first."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["dummy", pytest.param("html", marks=pytest.mark.end_to_end)])
def test_site_is_built_without_a_warning(tmp_path: Path, builder: str) -> None:
    """`dummy` reads all pages and follows all links, in half of the time; only `html` writes the site."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder, "-d", tmp_path / "read"]
    done = subprocess.run([*command, ROOT / "docs", tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if builder == "html":
        pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
        assert pages <= {path.stem for path in (tmp_path / "site").glob("*.html")}
        assert (tmp_path / "site" / "searchindex.js").stat().st_size > 0


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 120
