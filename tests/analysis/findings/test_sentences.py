"""Sentences: golden pages of a whole report, and numbers in words.

`BEYOND_RAM_GOLDEN=1 uv run pytest tests/analysis/findings/test_sentences.py` renews the pages: read the diff.
"""

from pathlib import Path

import pytest

from beyond_ram.analysis.findings import findings, undecided
from beyond_ram.analysis.findings.sentences import detectable

from ...conftest import assert_golden
from ..opposite import report

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.slow
@pytest.mark.parametrize("study", ["original", "one run", "one fails"])
def test_a_report_reads_as_on_its_golden_page(study):
    """Sentences are tested here alone; all other tests are about the fields of findings."""
    tables = report(study)
    paragraphs = [f"## {one.title}\n\n{one.text}\n" for one in findings(tables)]
    page = "\n".join([f"# {study}\n", *paragraphs, "## Undecided\n", *(f"- {line}" for line in undecided(tables)), ""])
    assert_golden(page, GOLDEN / f"{study.replace(' ', '-')}.md")


@pytest.mark.parametrize(
    ("ratios", "words"),
    [([2.0, 3.0], " 2 times"), ([1.21, 285.9], " 21 %"), ([1.997], " 2 times"), ([9.7], " 9.7 times"),
     ([15.0, float("inf")], "too few runs"), ([2.0, 78.0, 150.0], "too few runs")],
)  # fmt: skip
def test_what_is_missed_holds_for_most_comparisons(ratios, words):
    assert words in detectable(ratios)
    assert detectable([]) == ""
