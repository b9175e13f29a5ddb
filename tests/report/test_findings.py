"""Findings in the report: the command below a finding, and which findings are small."""

import html
from pathlib import Path

import pandas as pd
import pytest

from .conftest import AXES, Script

KEPT = "current-before"


def page(folder: Path, report: Script, tokenised: list[Path], strength: float = 2.0) -> str:
    """The findings of a page on which the renewed stack keeps less than the kept one."""
    slope = {"anon_slope_mb_per_gb": 9000.0, "anon_slope_mb_per_gb_low": 8000.0, "anon_slope_mb_per_gb_high": 9999.0}
    shared = {"anon_shape": "straight", "anon_intercept_mb": 99.0, "readings_of": "documents", "n": 16, "runs": 2}
    shared |= {"bytes_in_min": 2e6, "bytes_in_max": 4e7, "gb_over_largest": 25.0, "anon_level_mb": None}
    apart = dict.fromkeys(("against", "difference_mb_per_gb", "difference_low", "difference_high"), None)
    kept = {"experiment": "growth", **AXES, "stack": KEPT, **slope, **shared, **apart, "difference_result": None}
    ends = {"difference_mb_per_gb": -8910.0, "difference_low": -9500.0, "difference_high": -8500.0}
    now = kept | {"stack": "current", "against": KEPT, "difference_result": "better", "difference_strength": strength}
    lines = [kept | {"difference_strength": None}, now | ends | {key: value / 100 for key, value in slope.items()}]
    text = report(folder, tokenised, {"growth": pd.DataFrame(lines)})
    return html.unescape(text.partition('id="findings"')[2].partition('id="figures"')[0])


@pytest.mark.slow
def test_findings_below_the_stated_share_are_further_findings(
    tmp_path: Path, report: Script, tokenised: list[Path]
) -> None:
    text = page(tmp_path, report, tokenised, strength=0.04)
    large, _, small = text.partition("<summary>Further findings: 1</summary>")
    assert "current keeps" not in large
    assert "5%" in large
    assert "5%" in small
    assert "current keeps 8.91 MB less" in small
    assert "Further findings" not in page(tmp_path, report, tokenised, strength=0.06)


@pytest.mark.slow
def test_terminal_summary_has_at_most_ten_lines(tmp_path: Path, report: Script, tokenised: list[Path]) -> None:
    page(tmp_path, report, tokenised)
    lines = (tmp_path / "summary.txt").read_text().splitlines()
    assert len(lines) <= 10
    assert lines[0] == "2 runs of 2 settings. Findings:"
    assert lines[1].startswith("1. current keeps 8.91 MB less")
    assert KEPT in lines[2], "what to do"
    assert lines[-1] == f"All of it: {tmp_path / 'report.html'}"
