"""The page of the atlas."""

import re

import pytest

from beyond_ram.atlas import page, tables

RUN = {"reads": ("1.9", "1.10"), "writes": ("1.8", "1.9", "1.9.1", "1.10")}
"""The releases that each case ran with. The first case lacks some."""
SIZES = {"1.8": 400e6, "1.9": 200e6, "1.9.1": 200e6, "1.10": 100e6}


@pytest.fixture
def page_text(tmp_path):
    cells = [
        {"library": "one", "case": case, "title": "", "version": version, "date": "2026-01-01", "outcome": "completed",
         "runs": 2, "end_anon_bytes": SIZES[version]}
        for case, versions in RUN.items() for version in versions
    ]  # fmt: skip
    cases = [("one", case) for case in RUN]
    tables.replace_lines(tmp_path / tables.CELLS, cells, tables.CELL_COLUMNS, cases)
    tables.replace_lines(tmp_path / tables.STEPS, [], tables.STEP_COLUMNS, cases)
    page.write(tmp_path, tmp_path)
    return (tmp_path / page.PAGE).read_text()


def test_columns_are_in_the_order_of_releases(page_text):
    grid = page_text.partition('<table class="grid">')[2].partition("</table>")[0]
    assert re.findall(r"<th scope=\"col\">([^<]+)<small>", grid) == ["1.8", "1.9", "1.9.1", "1.10"]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in grid.partition("<tbody>")[2].split("</tr>")[:-1]]
    assert rows == [["-", "2.00", "-", "1.00", "100 MB"], ["4.00", "2.00", "2.00", "1.00", "100 MB"]]


def test_curve_goes_through_releases_in_order(page_text):
    curves = re.findall(r"<svg.*?</svg>", page_text, re.S)
    assert [re.findall(r"<title>([^:]+):", curve) for curve in curves] == [list(versions) for versions in RUN.values()]
    across = [float(x) for x in re.findall(r"cx=\"([\d.]+)\"", curves[-1])]
    assert across == sorted(across)
