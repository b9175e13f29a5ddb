"""The result of a gate: ten lines, worst first; JSON, Markdown and JUnit agree with each other."""

import json
from xml.etree import ElementTree

import pandas as pd
import pytest

from beyond_ram.analysis.results import FEW
from beyond_ram.gate.result import Gate
from beyond_ram.gate.wheels import Requirement
from beyond_ram.metrics import METRICS

from ..analysis.test_comparisons import runs
from .lines import decided, looked, table_of


def gate(*cells, n=4, **about):
    """Build a gate from cells with values for both sides."""
    lines = []
    for number, (before, after) in enumerate(cells):
        for side, values in (("baseline", before), ("candidate", after)):
            fields = {"experiment": f"cell-{number}"}
            lines += runs(stack=f"base.{side}", n=n, **fields | values)
    table = pd.DataFrame(lines)
    requirements = {
        "baseline": [Requirement("mine==1", "mine", "mine==1")],
        "candidate": [Requirement("./mine", "mine", "", "abc", "2")],
    }
    names = [f"cell-{number}" for number in range(len(cells))]
    return Gate(requirements, table, decided(table), 90.0, 600.0, **about, cells=names)


SAME = {"run_failed": 0.0, "tokens_per_cpu_s": float("nan")}


def test_same_needs_every_metric_decided():
    assert gate((SAME, SAME)).result == "same"
    assert gate((SAME, SAME), n=1).result == "undecided"


KEPT = {
    "peak_kept_bytes": {"workload": "script", "end_kept_bytes": 1e8},
    "held_bytes": {"workload": "load"},
    "worker_grown_anon_bytes": {"workload": "stream"},
}


@pytest.mark.parametrize("unseen", [("baseline",), ("candidate",), ("baseline", "candidate")])
@pytest.mark.parametrize("of_runs", [1, 4])
@pytest.mark.parametrize("metric", KEPT)
def test_memory_that_was_not_seen_is_undecided(metric, unseen, of_runs):
    seen = SAME | KEPT[metric] | {metric: 2e8}
    whole = gate((seen, seen))
    assert whole.result == "same"
    lines = whole.runs
    lines["reason"] = ""
    for side in unseen:
        lines.loc[lines["stack"].eq(f"base.{side}") & lines["rep"].le(of_runs), metric] = float("nan")
    result = Gate(whole.requested, lines, decided(lines), 1.0, 60.0)
    (line,) = (change for change in result.as_json()["changes"] if change["metric"] == metric)
    assert (result.result, line["result"]) == ("undecided", "undecided")
    assert f"not seen in {of_runs * len(unseen)} of 8 runs" in result.lines()[1]


def test_run_that_failed_has_no_peak_to_see():
    script = {"workload": "script", "run_failed": 0.0, "end_kept_bytes": 1e8, "peak_kept_bytes": 2e8}
    failed = script | {"outcome": "failed", "run_failed": 1.0, "peak_kept_bytes": float("nan"), "reason": "boom"}
    result = gate((script, failed))
    assert "peak_kept_bytes" not in set(result.changes["metric"]) and result.result == "worse"


def test_worse_peak_stays_worse_where_a_run_was_not_seen():
    script = {"workload": "script", "run_failed": 0.0, "end_kept_bytes": 1e8}
    result = gate((script | {"peak_kept_bytes": 2e8}, script | {"peak_kept_bytes": 6e8}), n=8)
    lines = result.runs
    lines.loc[lines["rep"].eq(2), "peak_kept_bytes"] = float("nan")
    assert Gate(result.requested, lines, decided(lines), 1.0, 60.0).result == "worse"


def test_worst_change_comes_first_in_every_format():
    result = gate((SAME, SAME), (SAME, SAME | {"grown": 150.0}), (SAME, SAME | {"grown": 80.0}))
    assert result.result == "worse"
    lines = result.lines()
    label = METRICS["grown_anon_bytes"].label
    assert [name in lines[0] for name in ("worse", "./mine", "mine==1")] == [True] * 3
    assert lines[1].startswith(f"worse: {label}, cell-1")
    assert "1.5" in lines[1]
    assert lines[2].startswith(f"better: {label}, cell-2")
    assert [part in lines[-1] for part in ("3 cells", "24 runs", "1.5 of 10 minutes")] == [True] * 3
    content = json.loads(json.dumps(result.as_json(), allow_nan=False))
    first = content["changes"][0]
    assert (content["result"], first["cell"], first["metric"]) == ("worse", "cell-1", "grown_anon_bytes")
    assert first["low"] < first["ratio"] < first["high"]
    assert first["ratio"] == pytest.approx(1.5, rel=0.01)
    assert content["requirements"][1]["sha256"] == "abc"
    assert content["n"] == {"base.baseline": 4, "base.candidate": 4}
    markdown = result.markdown()
    assert lines[0] in markdown.splitlines()[0]
    suite = ElementTree.fromstring(ElementTree.tostring(result.junit()))
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (suite.get("tests"), suite.get("failures"), failed) == (str(len(result.changes)), "1", ["grown_anon_bytes"])


@pytest.mark.slow
def test_output_has_at_most_ten_lines():
    result = gate(*[(SAME, SAME | {"grown": 200.0 + i}) for i in range(15)], other_differences={"base": "other 1 to 2"})
    assert len(result.lines()) == 10
    assert result.lines()[-4] == "and 10 more"
    assert "other 1 to 2" in result.lines()[-3]
    assert all("other 1 to 2" in why for why in result.changes["not_completed"])
    assert result.markdown().count("other 1 to 2") == 2


def test_cells_that_fail_on_a_side_are_listed_and_undecided():
    gone = {"outcome": "not_applicable", "run_failed": None, "grown": float("nan"), "reason": "no such axis"}
    result = gate((SAME, SAME), (SAME, SAME | gone))
    assert result.result == "undecided"
    assert "cell-1, base.candidate: not applicable: no such axis" in result.lines()
    broken = {"outcome": "failed", "run_failed": 1.0, "grown": float("nan"), "reason": "boom"}
    result = gate((SAME | broken, SAME | broken))
    assert (result.result, result.lines()[1]) == ("undecided", "cell-0: fails on both sides: boom")


def test_wall_clock_alone_does_not_make_it_undecided():
    clock = {"workload": "stream", "requests_data": 7.0, "run_failed": 0.0, "rows": 5}
    result = gate((clock, clock))
    lines = result.runs.assign(rows_per_s=[1.0, 50.0, 3.0, 9.0, 900.0, 2.0, 5.0, 70.0])
    result = Gate(result.requested, lines, decided(lines), 1.0, 60.0)
    assert dict(zip(result.changes["metric"], result.changes["result"], strict=True))["rows_per_s"] == "undecided"
    assert result.result == "same"


def test_slower_alone_is_named_and_changes_no_status():
    clock = {"workload": "stream", "requests_data": 7.0, "run_failed": 0.0, "rows": 5}
    result = gate((clock | {"rows_per_s": 1000.0}, clock | {"rows_per_s": 200.0}), n=8)
    head, line, *_ = result.lines()
    assert result.result == "same" and "slower" in head and line.startswith("worse: ")
    assert not any("slower" in line for line in gate((clock, clock)).lines())


def test_fewer_readings_than_same_needs_are_too_few_and_not_noise():
    table = gate((SAME, SAME), n=6).runs
    undecided = table_of(looked(table, rare=0.32), table).query("result == 'undecided'")
    assert len(undecided) and undecided["reason"].eq(FEW).all()


def test_failed_runs_are_a_share_of_the_runs():
    before, after = SAME | {"grown_anon_bytes": float("nan")}, SAME | {"run_failed": 1.0}
    assert any("Failed runs, cell-0: 0 % to 100 %, +100 % (" in line for line in gate((before, after), n=6).lines())
