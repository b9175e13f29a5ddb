"""The text of a search's result."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from beyond_ram.bisect.result import Result, moved
from beyond_ram.bisect.search import Interval, Run, Search, Step
from tests.test_mask_secrets import PLANTED


def test_no_secret_of_the_script_or_its_arguments_is_written(tmp_path: Path) -> None:
    script = tmp_path / "mem.py"
    script.write_text(f"import sys\nlogin(token='{PLANTED}')\nrows = 5\n")
    release = SimpleNamespace(date="2026-01-01", yanked=False)
    releases = SimpleNamespace(
        package="p", versions=["1", "2"], releases=[], skipped=[], release=lambda version: release
    )
    ladder: Any = SimpleNamespace(
        script=script, out=tmp_path, words=["--token", PLANTED, "--rows", "5"], releases=releases, notes=[],
        used_s=0, budget_s=60, count=2, ended={}, imports=[],
        locks={one: SimpleNamespace(pins={"p": one}, moved="", path=script) for one in "12"},
        options=["--args", f"--token {PLANTED} --rows 5", "--with"],
    )  # fmt: skip
    decision: Any = type("Decision", (), {"ratio": 2.0, "low": 1.0, "high": 3.0})()
    step = Step(Interval("end_kept_bytes", "1", "2"), 1.0, 2.0, decision, 3)
    result = Result(Search(["1", "2"], [], lambda version, repeat: Run(repeat, "completed")), ladder, {step: ""})
    text = "\n".join([*result.lines(), result.markdown()])
    assert PLANTED not in text
    assert text.count("beyond-ram why mem.py --args") == 4
    assert text.count("python mem.py --token '***' --rows 5") == 2 and "\nrows = 5\n" in text


def test_no_step_is_not_said_where_a_run_lacks_its_peak(tmp_path: Path) -> None:
    release = SimpleNamespace(date="2026-01-01", yanked=False)
    releases = SimpleNamespace(package="p", versions=["1", "2"], releases=[], skipped=[], release=lambda _: release)
    ladder: Any = SimpleNamespace(releases=releases, notes=[], used_s=0, budget_s=60, count=4, imports=[], locks={})

    def status(**values: float) -> int:
        runs = [Run(n, "completed", values={"end_kept_bytes": 1e8, **values}, started_at=n, ended_at=n) for n in (1, 2)]
        search = Search(["1", "2"], ["end_kept_bytes", "peak_kept_bytes"], lambda *_: runs[0],
                        runs=dict.fromkeys("12", runs))  # fmt: skip
        result = Result(search, ladder, {})
        assert any("peak of kept memory: not seen in 4 of 4 runs" in line for line in result.lines()) != bool(values)
        return result.status

    assert (status(), status(peak_kept_bytes=2e8)) == (2, 0)


def test_moved_package_gets_one_line_for_all_releases():
    locks = ["", "core 2.41 to 2.9, types 4 to 3", "core 2.41 to 2.10", "core 2.41 to 2.33"]
    assert moved(locks) == [
        "had to move: core 2.41 to 2.9, …, 2.33, with 3 of 4 releases",
        "had to move: types 4 to 3, with 1 of 4 releases",
    ]
    assert moved(["", ""]) == []
