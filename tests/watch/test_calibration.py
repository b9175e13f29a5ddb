"""Programs whose memory is known, compared with every column."""

import ctypes
import io

import pytest

from beyond_ram.watch import calibration
from beyond_ram.watch.calibration import CASES, CalibrationResult, Check

PR_SET_THP_DISABLE = 41


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


@pytest.mark.slow
def test_machine_without_huge_pages_does_not_run_their_case():
    case = next(case for case in CASES if case.name == "transparent huge pages")
    if case.not_run():
        pytest.skip(f"not run: {case.not_run()}")
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    try:
        result = calibration.measure(case)
    finally:
        libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
    assert result.ok
    assert "too few huge pages" in (result.not_run or "")


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
