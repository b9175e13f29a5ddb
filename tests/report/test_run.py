"""What the page of a run says of one process, and of several."""

from pathlib import Path

import pytest

from beyond_ram.report.cells import _anon
from beyond_ram.report.run import Run, view

from ..analysis.by_hand import MB, record

FORKED = {"rss_bytes": 900 * MB, "anon_bytes": 447 * MB, "file_bytes": 290 * MB, "pss_bytes": 400 * MB, "processes": 2}
KEPT = {"at_kept": {"anon_bytes": 302 * MB}}


def run(**peak: object) -> Run:
    return Run(Path("run"), record(peak=FORKED | peak), {"t_s": [], "pss_bytes": [None, 4.0, None, 3.0]}, [])


@pytest.mark.parametrize("several", [True, False])
def test_sums_over_several_processes_are_said_to_be_sums(*, several: bool) -> None:
    summary = dict(view(run(processes=2 if several else 1, kept=KEPT), "Repeat 1", None)["summary"])
    assert ("RSS, peak, summed over processes" in summary) is several
    assert summary["PSS, highest of 2 readings"] == "400.0 MB"
    assert ("anonymous, peak" in summary) is not several
    assert summary.get("anonymous, peak, each page once") == ("302.0 MB" if several else None)


def test_the_list_of_cells_counts_each_page_once_or_says_that_it_does_not() -> None:
    assert _anon([run(kept=KEPT), run(processes=1, anon_bytes=304 * MB)]) == {"peak_anon": 303.0, "anon_summed": False}
    assert _anon([run(kept=None)]) == {"peak_anon": 447.0, "anon_summed": True}
    assert _anon([]) == {"peak_anon": None, "anon_summed": False}
