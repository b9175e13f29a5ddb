"""The comparison with other tools can be made again, and a tool that is nearer to the truth is named."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ..conftest import ROOT, interpreter

COMPARISON = ROOT / "scripts" / "comparison"


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end  # a stack, and each of seven tools on a program
def test_no_other_tool_is_nearer_to_the_truth(tmp_path: Path) -> None:
    profilers, programs = interpreter("profilers").parents[1], ["shared"]
    csv, parquet = tmp_path / "comparison.csv", tmp_path / "comparison.parquet"
    command = [sys.executable, str(COMPARISON / "compare.py"), "--stack", str(profilers), "--repeats", "1"]
    command += ["--rounds", "200000"]
    subprocess.run([*command, "--csv", str(csv), "--parquet", str(parquet), "--programs", *programs], check=True)
    table = pd.read_csv(csv, keep_default_na=False)
    assert len(table) == 7 * len(programs)
    assert len(pd.read_parquet(parquet)) == len(table)
    ours = table[table["tool"] == "beyond-ram"]
    assert ours["within"].all(), ours[["program", "error_bytes"]]
    nearer = table[table["nearer"]]
    assert nearer.empty, nearer[["program", "tool", "error_bytes"]]
    # Tools of the stack must have run; others may give a reason.
    stack = table[table["tool"].isin(["psrecord", "mprof", "memray"])]
    assert (stack["not_run"] == "").all(), stack[["tool", "program", "not_run"]]
    assert ((table["not_run"] != "") == (table["error_bytes"] == "")).all()
    drawn = [tmp_path / name for name in ("c.svg", "c.png", "c.rst")]
    flags = [
        word for flag, path in zip(("--svg", "--png", "--caption"), drawn, strict=True) for word in (flag, str(path))
    ]
    subprocess.run([sys.executable, str(COMPARISON / "errors.py"), "--table", str(parquet), *flags], check=True)
    assert all(path.stat().st_size for path in drawn)


def test_a_tool_that_is_nearer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(COMPARISON))
    compare = pytest.importorskip("compare")
    rows = [
        {"program": "one", "tool": tool, "truth_bytes": 100e6, "error_bytes": error}
        for tool, error in (("beyond-ram", 5e6), ("near", 0.1e6), ("far", 9e6), ("not run", None))
    ]
    judged = compare.judged(pd.DataFrame(rows)).set_index("tool")
    assert judged["nearer"].to_dict() == {"beyond-ram": False, "near": True, "far": False, "not run": False}
    assert judged["within"].to_dict() == {"beyond-ram": False, "near": True, "far": False, "not run": False}
