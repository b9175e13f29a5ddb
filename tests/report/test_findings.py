"""The page of findings: what the command under one does."""

import html
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from beyond_ram import tables

from ..conftest import Run
from .conftest import AXES, Script

KEPT = "current@01234567"


def page(folder: Path, root: Path, script: Script, locks: dict[str, str], strength: float = 2.0) -> str:
    """The page of a renewed stack that keeps less than the kept one."""
    slope = {"anon_slope_mb_per_gb": 9000.0, "anon_slope_mb_per_gb_low": 8000.0, "anon_slope_mb_per_gb_high": 9999.0}
    known = {"anon_shape": "straight", "anon_intercept_mb": 99.0, "readings_of": "documents", "n": 16, "runs": 2}
    known |= {"bytes_in_max": 4e7, "gb_over_largest": 25.0, "anon_level_mb": None}
    apart = dict.fromkeys(("against", "difference_mb_per_gb", "difference_low", "difference_high"), None)
    kept = {"experiment": "growth", **AXES, "stack": KEPT, **slope, **known, **apart, "difference_verdict": None}
    ends = {"difference_mb_per_gb": -8910.0, "difference_low": -9500.0, "difference_high": -8500.0}
    now = kept | {"stack": "current", "against": KEPT, "difference_verdict": "better", "difference_strength": strength}
    lines = [kept | {"difference_strength": None}, now | ends | {key: value / 100 for key, value in slope.items()}]
    tables.write(pd.DataFrame(lines), folder / "growth.csv", folder / "growth.parquet")
    params = SimpleNamespace(configfiles=[], pairs=[(KEPT, "current")], folder=None, locks=locks)
    template = str(root / "report/findings.html.jinja")
    script(
        "findings",
        folder,
        [str(folder / "page.html")],
        params,
        tables=[str(folder / "growth.parquet")],
        svg=[],
        template=template,
    )
    return html.unescape((folder / "page.html").read_text())


def test_a_lock_that_is_gone_is_not_said_to_be_weighed(tmp_path: Path, root: Path, script: Script) -> None:
    made = page(tmp_path, root, script, {})
    assert f"current keeps 8.91 MB less anonymous memory per MB of text than {KEPT}" in made
    assert len(re.findall("<code>(.*)</code>", made)) == 1
    assert f"Runs of {KEPT} are kept from before its lock was renewed, and are not made again by this." in made
    assert "only where it is still found" in made


def test_what_is_not_surely_as_much_as_the_stated_share_is_under_smaller_ones(
    tmp_path: Path, root: Path, script: Script
) -> None:
    made = page(tmp_path, root, script, {}, strength=0.04)
    large, _, small = made.partition("<summary>Smaller ones</summary>")
    assert "current keeps" not in large
    assert "Nothing in this config differs by more than its noise and 5%." in large
    assert "no effect is sure to be as much as 5%" in small
    assert "1. current keeps 8.91 MB less" in small
    assert "Smaller ones" not in page(tmp_path, root, script, {}, strength=0.06)


@pytest.mark.slow
def test_a_kept_lock_is_weighed_by_the_command_that_says_so(
    tmp_path: Path, root: Path, script: Script, clone: Path, run_in: Run
) -> None:
    lock = tmp_path / "old lock.txt"
    shutil.copy(root / "envs/current.txt", lock)
    of_today, again = re.findall("<code>(.*)</code>", page(tmp_path, root, script, {KEPT: str(lock)}))
    assert lock.name not in of_today
    try:
        done = run_in("bash", "-c", again.replace("uv run snakemake", "snakemake --dry-run"))
    finally:
        for ending in ("in", "txt"):
            (clone / f"envs/current-01234567.{ending}").unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr[-3000:]
    planned = re.findall(r"output: alone/runs/growth/stack~([^/]+)/", done.stdout + done.stderr)
    assert set(planned) == {"current", "current-01234567"}
