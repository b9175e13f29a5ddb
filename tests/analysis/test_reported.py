"""Numbers of scripts: table `reported`, and their comparisons."""

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings import findings
from beyond_ram.analysis.reported import reported
from beyond_ram.analysis.runs import runs

from .by_hand import scripted


def test_numbers_have_a_line_per_cell_with_their_interval():
    table = reported(
        runs([scripted("plain", 1, share=50.0), scripted("plain", 2, share=54.0), scripted("on", share=10.0)])
    )
    first, second = table.to_dict("records")
    assert (first["side"], first["metric"], first["unit"], first["better"]) == ("plain", "share", "%", "lower")
    assert (first["mean"], first["n"]) == (52, 2)
    assert first["low"] < 50 < 54 < first["high"]
    (same,) = reported(runs([scripted("plain", rep, share=5.0) for rep in (1, 2)])).to_dict("records")
    assert (same["low"], same["high"]) == (5, 5), "the number is exact"
    assert (second["side"], second["mean"], second["n"]) == ("on", 10, 1)
    assert reported(runs([])).empty
    apart = runs([scripted("plain", rep, exact=False, share=share) for rep, share in ((1, 10.0), (2, 40.0))])
    (rate,) = reported(apart).to_dict("records")
    assert (round(rate["mean"], 6), rate["low"] > 0) == (20, True), "geometric, as comparisons are"


def test_failed_runs_and_other_workloads_report_nothing():
    record, events = scripted("plain", share=50.0)
    assert reported(runs([(record | {"completed_work": False}, events)])).empty


def test_question_about_a_number_that_no_run_reports_is_named():
    measured = runs([scripted(side, rep, share=5.0) for rep in (1, 2) for side in ("plain", "on")])
    asked = {"experiment": "x", "axis": "side", "where": {}, "looked_at": False}
    names = ("share [%, lower, exact]", "shares [%, lower, exact]", "peak_kept_bytes")
    warnings = comparisons(measured, (), [asked | {"metric": name} for name in names]).attrs["warnings"]
    assert [name for name in names if any(repr(name) in one.partition(";")[0] for one in warnings)] == [names[1]]


def test_each_side_is_compared_with_the_first_by_the_direction_of_a_number():
    measured = [
        scripted(side, rep, share=share, flat=9.0) for rep in (1, 2) for side, share in (("plain", 50.0), ("on", 10.0))
    ]
    table = comparisons(runs(measured), ())
    decided = table[table["metric"].str.contains("%")].set_index("metric")
    assert decided["result"].to_dict() == {"share [%, lower, exact]": "better", "flat [%, lower, exact]": "same"}
    assert decided["axis"].unique().tolist() == ["side"]
    (finding,) = findings({"comparisons": table})
    assert (finding.baseline, finding.subject) == ("plain", "on")
