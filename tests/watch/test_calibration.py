"""Programs whose memory is known, compared with every column."""

import io

import pytest

from beyond_ram.watch import calibration
from beyond_ram.watch.calibration import CASES, CalibrationResult, Check


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_reading_is_within_tolerance(case):
    result = calibration.measure(case)
    if result.not_run:
        pytest.skip(f"not run: {result.not_run}")
    assert len(result.checks) > 1
    if not result.ok:  # other programs may disturb one reading, but not two
        result = calibration.measure(case)
    assert result.ok, "\n" + "\n".join(calibration.lines(result))


def test_self_test_fails_if_a_reading_is_off(monkeypatch):
    off = CalibrationResult("one", [Check("anonymous grows", 200e6, 202e6, 1e6, "why")])
    unknown = CalibrationResult("two", [Check("anonymous grows", 200e6, None, 1e6, "why")])
    monkeypatch.setattr(calibration, "CASES", CASES[:2])
    for bad in (off, unknown):
        monkeypatch.setattr(calibration, "measure", lambda case, bad=bad: bad)
        output = io.StringIO()
        assert calibration.self_test(output) == 1
        assert "NO" in output.getvalue()


def test_case_that_is_not_run_is_not_passed(monkeypatch):
    monkeypatch.setattr(calibration, "CASES", CASES[:1])
    monkeypatch.setattr(calibration, "measure", lambda case: CalibrationResult(case.name, [], "no swap here"))
    output = io.StringIO()
    assert calibration.self_test(output) == 0
    assert "not run, no swap here" in output.getvalue()
    assert "yes" not in output.getvalue()
    assert "1 not run" in output.getvalue()
