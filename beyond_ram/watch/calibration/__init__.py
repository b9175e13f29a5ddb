"""Run programs of known memory, and compare the readings with the truth on this machine."""

import sys
from collections.abc import Iterator
from typing import TextIO

from .cases import CASES, CalibrationResult, Check, measure

__all__ = ["CASES", "CalibrationResult", "Check", "measure", "self_test"]


def self_test(out: TextIO = sys.stdout) -> int:
    """Run every calibration program and print a table. Returns 1 if a reading is out of tolerance."""
    failed = not_run = 0
    print(f"{'':40}{'truth':>12}{'reading':>12}{'error':>10}  within", file=out)
    for case in CASES:
        result = measure(case)
        failed += not result.ok
        not_run += result.not_run is not None
        for line in lines(result):
            print(line, file=out, flush=True)
    message = f"{failed} programs are out of tolerance" if failed else "every reading is within tolerance"
    print(f"{message}, {not_run} not run" if not_run else message, file=out)
    return int(failed > 0)


def lines(result: CalibrationResult) -> Iterator[str]:
    yield result.name + (f": not run, {result.not_run}" if result.not_run else "")
    for check in result.checks:
        within = "yes" if check.within else f"NO (±{_number(check.tolerance)}: {check.why})"
        reading, error = _number(check.reading), _number(check.error, sign=True)
        yield f"  {check.what:38}{_number(check.truth):>12}{reading:>12}{error:>10}  {within}"


def _number(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return "none"
    plus = "+" if sign else ""
    return f"{value:{plus},.2f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value / 1e6:{plus},.2f} MB"
