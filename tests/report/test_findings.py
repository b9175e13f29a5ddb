"""Findings in the report: the command that makes a finding again, and which findings are small."""

import html

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings.finding import Finding, Scope
from beyond_ram.report.workflow import Again

from ..analysis.findings.test_compared import runs

KEPT = "current-before"
TITLE = f"Heap growth fell from 300 MB ({KEPT}) to 100 MB (current)"


def page(folder, report, tokenised, strength=2.0):
    """The findings of a page on which the renewed stack keeps less than the kept one."""
    sides = pd.DataFrame([*runs(KEPT, [300.0, 300.1, 299.9]), *runs("current", [100.0, 100.1, 99.9])])
    table = comparisons(sides, [(KEPT, "current")])
    table = table[table["metric"] == "grown_anon_bytes"].assign(strength=strength)
    text = report(folder, tokenised, {"comparisons": table})
    return html.unescape(text.partition('id="findings"')[2].partition('id="figures"')[0])


def test_a_finding_is_made_again_from_all_experiments_that_show_it():
    """Figure `reported` alone has no comparison of two sides of a script."""
    finding = Finding(
        kind="difference", subject="on", scope=Scope("x"), strength=2.0,
        seen=({"experiment": "x"}, {"experiment": "y"}, {"experiment": "x"}),
    )  # fmt: skip
    command = "uv run snakemake alone/report.html --cores 4 --config results=alone 'only=[x,y]'"
    assert Again([], None).finding(finding) == command


@pytest.mark.slow
def test_findings_below_the_stated_share_are_further_findings(tmp_path, report, tokenised):
    text = page(tmp_path, report, tokenised, strength=0.04)
    large, _, small = text.partition("<summary>Further findings: 1</summary>")
    assert TITLE not in large
    assert "5 %" in large
    assert "5 %" in small
    assert TITLE in small
    assert "Further findings" not in page(tmp_path, report, tokenised, strength=0.06)
    nothing = report(tmp_path, tokenised, {})
    assert "Nothing was compared" in nothing
    assert "No difference" not in nothing


@pytest.mark.slow
def test_terminal_summary_has_at_most_ten_lines(tmp_path, report, tokenised):
    page(tmp_path, report, tokenised)
    lines = (tmp_path / "summary.txt").read_text().splitlines()
    assert len(lines) <= 10
    assert lines[:2] == ["2 runs of 2 settings.", f"1. {TITLE}"]
    assert lines[-1] == f"All of it: {tmp_path / 'report.html'}"
