"""Programs whose memory is known, held against every column."""

import io

import pytest

from beyond_ram.watch import calibration
from beyond_ram.watch.calibration import CASES, Check, Result, cases


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_reading_is_within_tolerance(case: cases.Case) -> None:
    result = calibration.weigh(case)
    if result.not_run:
        pytest.skip(f"not run: {result.not_run}")
    assert len(result.checks) > 1
    if not result.ok:  # what else runs on the machine may disturb one reading, and not two
        result = calibration.weigh(case)
    assert result.ok, "\n" + "\n".join(calibration.lines(result))


def test_the_self_test_fails_where_a_reading_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    off = Result("one", [Check("anonymous grows", 200e6, 202e6, 1e6, "why")])
    unknown = Result("two", [Check("anonymous grows", 200e6, None, 1e6, "why")])
    monkeypatch.setattr(calibration, "CASES", CASES[:2])
    for bad in (off, unknown):
        monkeypatch.setattr(calibration, "weigh", lambda case, bad=bad: bad)
        output = io.StringIO()
        assert calibration.self_test(output) == 1
        assert "NO" in output.getvalue()


def test_what_is_not_run_is_said_and_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "CASES", CASES[:1])
    monkeypatch.setattr(calibration, "weigh", lambda case: Result(case.name, [], "no swap here"))
    output = io.StringIO()
    assert calibration.self_test(output) == 0
    assert "not run, no swap here" in output.getvalue()
    assert "yes" not in output.getvalue()
    assert "1 not run" in output.getvalue()
