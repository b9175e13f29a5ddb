"""The answer from a prediction: the memory to request, and whether a setting fits."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from beyond_ram.fit import answer, small_runs
from beyond_ram.fit.answer import _lines
from beyond_ram.fit.factors import FactorPlan, InputGrowth
from beyond_ram.fit.model import Prediction
from beyond_ram.fit.runs import FitRun, FitRuns, RunError, name_of
from beyond_ram.fit.small_runs import DesignPoint
from beyond_ram.measure.plan import Run
from beyond_ram.memory_request import MIB


def line(budget_mib, mapped_mib):
    """Return the line of a setting that keeps 99 to 101 MiB."""
    kept = Prediction(100 * MIB, 99 * MIB, 101 * MIB)
    model = SimpleNamespace(predict=lambda setting, size: kept, number=lambda setting, size: kept)
    plan = FactorPlan(("true", "{n}"), {"n": (1,)}, None)
    run = FitRun(DesignPoint((0,), None), 100 * MIB, mapped_mib * MIB, 1.0)
    (only,) = _lines(plan, budget_mib * MIB, model, model, None, [run])
    return only


def test_request_adds_mapped_files_to_the_upper_bound():
    without = line(1000, 0).request_bytes
    assert without is not None and without >= 110 * MIB
    assert line(1000, 40).request_bytes == without + 40 * MIB


def test_fits_compares_request_and_lower_bound_with_the_budget():
    request = (line(1000, 40).request_bytes or 0) // MIB
    assert [line(budget, 40).fits for budget in (request, request - 1, 99, 98)] == [True, None, None, False]


def fit(kept_mb, monkeypatch, largest=800, memory_bytes=10**12, varied=None, run_s=0.1, budget_s=600):
    """Return the answer for 6,400 rows of a program that keeps this much by rows, width and repeat."""

    def made(self, point, about, expected_s):
        kept = kept_mb(point.size or 0, *point.setting, point.repeat)
        if not kept:
            raise RunError(f"{name_of(self.plan, point)}: the program ended with exit status 1")
        return FitRun(point, int(1e6 * kept), 0, run_s, run_s)

    monkeypatch.setattr(FitRuns, "make", made)
    plan = FactorPlan(("true", "{width}", "{rows}"), varied or {"width": (1, 2)}, InputGrowth("rows", 100, 6400))
    return answer.answer(FitRuns(plan, budget_s=budget_s), memory_bytes, largest)


def linear(rows, width, repeat):
    return 20 + rows * width / 10


def test_more_settings_than_the_time_allows_end_after_one_run(monkeypatch):
    monkeypatch.setattr(FitRuns, "make", lambda self, *_: FitRun(_[0], 10**7, 0, 1.0, 1.0))
    runs = FitRuns(FactorPlan(("true", "{n}"), {"n": tuple(range(3000))}, None), budget_s=60)
    with pytest.raises(RunError, match=r"3,001 runs would take 50 min, not 60 s: .* --budget 51"):
        answer.answer(runs, 10**12, None)
    assert len(runs.done) == 1


def campaign(budget_s, confirm=False, fails=()):
    """Return the policy of a fit of 6,400 rows after its last run; one of 800 rows takes 2 s."""
    plan = FactorPlan(("true", "{width}", "{rows}"), {"width": (1, 2)}, InputGrowth("rows", 100, 6400))
    policy, runs = answer.FitPolicy(plan, 10**12, budget_s, 800, confirm, Path()), []
    while blocks := policy.next(runs):
        (member,), (point, _) = blocks[0].members, policy._known.wanted
        if member.side in fails:
            runs.append(Run(member, 1, "", "failed", "exit status 1"))
            continue
        seconds = 1 + point.size / 800
        values = {"kept_bytes": 1e6 * linear(point.size, *point.setting, 1), "mapped_bytes": 0, "seconds": seconds}
        runs.append(Run(member, 1, blocks[0].name, "completed", values=values | {"wall_s": seconds}))
    return policy, runs


@pytest.mark.parametrize(("budget_s", "confirmed"), [(40, True), (20, False)])
def test_budget_holds_for_the_run_that_confirms(budget_s, confirmed):
    policy, runs = campaign(budget_s, confirm=True)
    assert policy.answer and policy.answer.best
    assert bool(policy.confirmed) is confirmed
    assert sum(run.values["wall_s"] for run in runs) <= budget_s
    assert ("--budget 1 goes on" in policy.unanswered) is not confirmed


def test_runs_that_do_not_fit_into_the_budget_leave_no_answer():
    policy, runs = campaign(6)
    assert len(runs) <= 6 and policy.answer is None and "longer than is left" in policy.unanswered


def test_failed_run_is_an_outcome_and_made_again_by_the_next_call():
    policy, runs = campaign(600, fails=["width=1 rows=200"])
    assert [run.outcome for run in runs] == ["completed", "failed"] and policy.unanswered == "exit status 1"
    policy.earlier = 2
    (block,) = policy.next(runs)
    assert block.members == (runs[1].member,)


def test_with_predictions_only_one_run_has_the_largest_size(monkeypatch):
    result = fit(linear, monkeypatch)
    assert all(line.memory for line in result.lines)
    assert sum(run.point.size == 800 for run in result.runs) == 1


def test_runs_follow_until_the_interval_is_narrow(monkeypatch):
    noise = random.Random(0)
    result = fit(lambda *run: linear(*run) * noise.gauss(1, 0.012), monkeypatch)
    assert {*small_runs.points({"width": (1, 2)}, [100, 200, 400, 800])} < {run.point for run in result.runs}
    assert all(line.memory for line in result.lines)


def test_growth_that_bends_upwards_has_no_number(monkeypatch):
    result = fit(lambda rows, width, repeat=1: 20 + width * (rows / 20 + rows**2 / 1e5), monkeypatch)
    assert {(line.fits, line.memory) for line in result.lines} == {(None, None)}
    assert "53, 56, 62 kB at width=1" in (result.unsure_because or "")


@pytest.mark.parametrize(("memory_mb", "status"), [(2000, 0), (1000, 1), (1640, 2)])
def test_target_that_was_run_is_answered_where_growth_bends(memory_mb, status, monkeypatch):
    def kept_mb(rows, width, repeat=1):
        return (40 * (rows / 1000) ** 2 + repeat / 100) * (1 + (width == 1 and rows == 6400) / 100)

    result = fit(kept_mb, monkeypatch, None, memory_mb * 10**6)
    assert (result.status, result.unsure_because, result.shares) == (status, None, {})
    assert result.memory.doubt()
    for line, runs in zip(result.lines, (2, 1), strict=True):
        assert line.runs_at_target == runs
        assert line.memory and line.memory.is_number
        assert all(line.memory.holds(1e6 * kept_mb(6400, *line.setting, number)) for number in range(1, runs + 1))
    assert [line for line in answer.text(result) if "n = 1" in line]


def test_settings_not_run_at_the_target_stay_unsure(monkeypatch):
    varied = {"width": (1, 2, 3), "depth": (1, 2, 3)}
    result = fit(lambda rows, *more: 40 * (rows / 1000) ** 2, monkeypatch, None, varied=varied)
    unsure = [line for line in result.lines if not line.runs_at_target]
    assert 0 < len(unsure) < len(result.lines)
    assert {line.fits for line in unsure} == {None}
    assert {line.fits for line in result.lines if line.runs_at_target} == {True}
    assert "nearer the target" not in (result.unsure_because or "nearer the target")


def test_run_outside_its_interval_ends_the_numbers(monkeypatch):
    result = fit(lambda rows, *more: linear(rows, *more) + 100 * (rows == 800), monkeypatch)
    assert result.confirmation
    assert not result.confirmation.holds
    assert not any(line.memory for line in result.lines)


def test_lone_run_outside_its_interval_is_repeated(monkeypatch):
    def kept_mb(rows, width, repeat):
        return linear(rows, width, repeat) + 100 * (rows == 800 and repeat == 1)

    result = fit(kept_mb, monkeypatch)
    assert result.confirmation
    assert result.confirmation.holds
    assert all(line.memory and line.memory.holds(20e6 + 640e6 * line.setting[0]) for line in result.lines)


@pytest.mark.parametrize("far_mib", [80, 120])
def test_run_far_from_its_repeats_strays(far_mib):
    runs = [
        FitRun(DesignPoint((1,), None, number), kept * MIB, 0, 1.0) for number, kept in enumerate((100, 101, far_mib))
    ]
    assert [answer._strays(run, runs) for run in runs] == [False, False, True]


def test_failed_largest_run_ends_the_numbers(monkeypatch):
    result = fit(lambda rows, *more: linear(rows, *more) if rows < 800 else 0, monkeypatch)
    assert result.status == 2
    assert not any(line.memory or line.request_bytes for line in result.lines)
    assert "rows=800: the program ended with exit status 1" in (result.unsure_because or "")


@pytest.mark.parametrize(("kept_mb", "counts", "holds"), [((150, 90, 160), 150, False), ((150, 100, 99), 100, True)])
def test_middle_of_three_runs_counts_where_the_first_is_outside(kept_mb, counts, holds):
    def made(point, about):
        return FitRun(point, int(kept_mb[point.repeat - 1] * 1e6), 0, 0.1)

    predicted = Prediction(100e6, 95e6, 105e6)
    before = SimpleNamespace(memory=SimpleNamespace(predict=lambda setting, size: predicted))
    confirmation = answer._confirm(before, SimpleNamespace(get=made), DesignPoint((0,), 100, 1))
    assert confirmation.run.kept_bytes == counts * 1e6
    assert confirmation.predicted.holds(confirmation.run.kept_bytes) is holds
