"""Every figure, drawn with data and without, and what their captions say of known lines."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from beyond_ram import figures, making, outputs

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts" / "figures").glob("*.py"), key=lambda path: path.stem)
# These are drawn from the files of runs: the tests of the workflow draw them.
FROM_RUNS = {"memory_over_time", "memory_by_epoch"}
# No run of the data has Spark's Java, or loads cold and warm.
WITHOUT = {"spark", "loading_cache"}


def given(root: Path, script: Path, *, lines: bool) -> dict[str, Any]:
    """The tables that a figure asks for, from the data of the tests, whole or without a line."""
    needs = outputs.parameters(script, "plot")
    tables = {name: pd.read_csv(root / "tests/data/tables" / f"{name}.csv") for name in needs if name != "paths"}
    return {name: table if lines else table.head(0) for name, table in tables.items()} | {"paths": []}


def plotted(script: Path, arguments: dict[str, Any]) -> figures.Drawn:
    needs = outputs.parameters(script, "plot")
    return making.figure(script, {name: arguments[name] for name in needs})


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_figure_without_data_says_why_and_is_not_drawn(root: Path, script: Path) -> None:
    reason = plotted(script, given(root, script, lines=False))
    assert isinstance(reason, str)
    assert reason


@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path.stem not in FROM_RUNS | WITHOUT], ids=lambda path: path.stem
)
def test_a_figure_is_drawn_with_a_caption(root: Path, tmp_path: Path, script: Path) -> None:
    before = plt.get_fignums()
    drawn = plotted(script, given(root, script, lines=True))
    assert not isinstance(drawn, str), drawn
    figure, caption = drawn
    assert any(axes.has_data() or axes.patches for axes in figure.axes)
    assert "nan" not in caption.lower().split()
    names = {kind: str(tmp_path / f"{script.stem}.{kind}") for kind in ("svg", "png")}
    figures.save(figure, caption, **names, caption_file=str(tmp_path / "caption.rst"))
    assert (tmp_path / f"{script.stem}.svg").stat().st_size > 1000
    assert plt.get_fignums() == before, "a figure is left open"


def test_the_verdict_behind_a_bar_is_that_of_the_largest_input(root: Path, tmp_path: Path) -> None:
    cells = [{"experiment": "e", "stack": "s", "num_files": files, "workers": float("nan")} for files in (1, 9)]
    cells += [{"experiment": "forked", "stack": "s", "num_files": 1, "workers": 4}]
    owned = {"rep": 1, "rung": 1, "owner": "tokenizer"}
    owned |= {"anon_released_bytes": 9e6, "anon_grown_bytes": 9e6, "share": 1.0}
    verdicts = [("small", ""), ("held", "tokenizer"), ("x", "")]
    judged = [cell | {"verdict": v, "owner": o} for cell, (v, o) in zip(cells, verdicts, strict=True)]
    drawn = plotted(
        root / "scripts/figures/who_holds_it.py",
        {"owners": pd.DataFrame([cell | owned for cell in cells]), "verdicts": pd.DataFrame(judged)},
    )
    assert not isinstance(drawn, str)
    drawn[0].savefig(tmp_path / "f.svg")
    said = (tmp_path / "f.svg").read_text()
    plt.close(drawn[0])
    assert "held: tokenizer" in said
    assert "small" not in said
    assert "forked" not in said
