"""The pages as a site: every link leads somewhere, and every page is reached from the first."""

import subprocess
import sys

import pytest

from ..conftest import ROOT


@pytest.mark.slow
@pytest.mark.end_to_end
def test_site_is_built_without_a_warning(tmp_path):
    """A wrong link is a warning."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "read"]
    done = subprocess.run([*command, ROOT / "docs", tmp_path / "site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in (tmp_path / "site").glob("*.html")}
    assert (tmp_path / "site" / "searchindex.js").stat().st_size > 0


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120
