"""Tooltips of figures: each mark has a title with its values."""

import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from beyond_ram import figures


def tooltips_of(folder: Path, axes: Axes) -> list[str]:
    """Save a figure of some axes, and return its titles."""
    files = {"svg": str(folder / "a.svg"), "png": str(folder / "a.png"), "caption_file": str(folder / "a.rst")}
    figures.save(axes.figure, "A figure.", **files)  # type: ignore[arg-type]
    return [title.text or "" for title in ET.parse(folder / "a.svg").iter("{http://www.w3.org/2000/svg}title")]


@pytest.fixture
def axes() -> Axes:
    figures.theme()
    return plt.subplots()[1]


@pytest.mark.slow
def test_points_show_their_series_and_both_values(axes: Axes, tmp_path: Path) -> None:
    axes.plot([1, 2], [30, 4000], "o-", label="one")
    axes.scatter([1.5], [35])
    axes.set(xlabel="epochs", ylabel="memory (MB)")
    tooltips = tooltips_of(tmp_path, axes)
    assert "one; epochs 2; memory (MB) 4,000" in tooltips
    assert "epochs 1.5; memory (MB) 35" in tooltips
    assert len(tooltips) == 3


@pytest.mark.slow
def test_bars_show_the_names_of_ticks(axes: Axes, tmp_path: Path) -> None:
    axes.bar(["june-2023", "current"], [3, 4])
    axes.set(ylabel="seconds")
    assert sorted(tooltips_of(tmp_path, axes)) == ["current; seconds 4", "june-2023; seconds 3"]


@pytest.mark.slow
def test_lines_without_marks_and_clouds_have_no_tooltips(axes: Axes, tmp_path: Path) -> None:
    axes.plot(range(9))
    axes.plot(np.arange(501), "o")
    assert tooltips_of(tmp_path, axes) == []


@pytest.mark.slow
def test_missing_points_do_not_shift_tooltips(axes: Axes, tmp_path: Path) -> None:
    axes.plot([1, 2, 3], [1, float("nan"), 3], "o")
    assert tooltips_of(tmp_path, axes) == ["1; 1", "3; 3"]
