"""The answer from a prediction: the memory to request, and whether a setting fits."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from beyond_ram.advice import MIB
from beyond_ram.fit import answer, design
from beyond_ram.fit.answer import Line, _lines
from beyond_ram.fit.design import Point
from beyond_ram.fit.factors import Growth, Plan
from beyond_ram.fit.model import Prediction
from beyond_ram.fit.runs import Run, Runs


def line(budget_mib: int, mapped_mib: int) -> Line:
    """Return the line of a setting that keeps 99 to 101 MiB."""
    kept = Prediction(100 * MIB, 99 * MIB, 101 * MIB)
    model = SimpleNamespace(predict=lambda setting, size: kept, readings=[])
    plan = Plan(("true", "{n}"), {"n": (1,)}, None)
    (only,) = _lines(plan, budget_mib * MIB, model, model, None, mapped_mib * MIB)  # type: ignore[arg-type]
    return only


def test_request_adds_mapped_files_to_the_upper_bound() -> None:
    without = line(1000, 0).ask_bytes
    assert without is not None and without >= 101 * MIB
    assert line(1000, 40).ask_bytes == without + 40 * MIB


def test_fits_compares_request_and_lower_bound_with_the_budget() -> None:
    request = (line(1000, 40).ask_bytes or 0) // MIB
    assert [line(budget, 40).fits for budget in (request, request - 1, 99, 98)] == ["yes", "unsure", "unsure", "no"]


def points_run(kept_mb: Callable[[float], float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[Point]:
    """Return the runs of a fit with 100 to 800 rows, for a program that keeps this much memory."""

    def run(self: Runs, point: Point, about: str = "") -> Run:
        kept = int(1e6 * kept_mb((point.size or 0) * point.setting[0]))
        return self.done.setdefault(point, Run(point, kept, 0, 0.1))

    monkeypatch.setattr(Runs, "get", run)
    plan = Plan(("true", "{width}", "{rows}"), {"width": (1, 2)}, Growth("rows", 100, 6400))
    return {run.point for run in answer.answer(plan, 10**12, 600, tmp_path, 800, lambda line: None).runs}


def test_without_a_prediction_all_settings_run_at_the_largest_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = set(design.points({"width": (1, 2)}, [100, 200, 400, 800]))
    assert whole <= points_run(lambda cells: 20 + cells**2 / 1e4, monkeypatch, tmp_path)


def test_with_predictions_only_one_run_has_the_largest_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    points = points_run(lambda cells: 20 + cells / 10, monkeypatch, tmp_path)
    assert sum(point.size == 800 for point in points) == 1
