"""The figure of owners: a bar has its own cell's verdict, and no cell of several processes stands there."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from beyond_ram import tables


def test_the_verdict_behind_a_bar_is_that_of_the_largest_input(root: Path, tmp_path: Path) -> None:
    cells = [{"experiment": "e", "stack": "s", "num_files": files, "workers": float("nan")} for files in (1, 9)]
    cells += [{"experiment": "forked", "stack": "s", "num_files": 1, "workers": 4}]
    owned = {
        "rep": 1,
        "rung": 1,
        "owner": "tokenizer",
        "anon_released_bytes": 9e6,
        "anon_grown_bytes": 9e6,
        "share": 1.0,
    }
    verdicts = [
        {"verdict": "small", "owner": ""},
        {"verdict": "held", "owner": "tokenizer"},
        {"verdict": "x", "owner": ""},
    ]
    for name, lines in (
        ("owners", [cell | owned for cell in cells]),
        ("verdicts", [cell | verdict for cell, verdict in zip(cells, verdicts, strict=True)]),
    ):
        tables.write(pd.DataFrame(lines), tmp_path / f"{name}.csv", tmp_path / f"{name}.parquet")
    given = SimpleNamespace(**{name: str(tmp_path / f"{name}.parquet") for name in ("owners", "verdicts")})
    output = SimpleNamespace(**{kind: str(tmp_path / f"f.{kind}") for kind in ("svg", "png", "caption")})
    snakemake = SimpleNamespace(log=[str(tmp_path / "log")], input=given, output=output)
    runpy.run_path(str(root / "scripts/figures/who_holds_it.py"), init_globals={"snakemake": snakemake})
    drawn = (tmp_path / "f.svg").read_text()
    assert "held: tokenizer" in drawn
    assert "small" not in drawn
    assert "forked" not in drawn


def test_counts_stay_whole_numbers_beside_empty_cells(tmp_path: Path) -> None:
    table = pd.DataFrame({"num_files": [4.0, None], "share": [0.5, 1.0], "name": ["a", "b"]})
    tables.write(table, tmp_path / "t.csv", tmp_path / "t.parquet")
    assert (tmp_path / "t.csv").read_text() == "num_files,share,name\n4,0.5,a\n,1.0,b\n"
