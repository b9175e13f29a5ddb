"""Values for whoever points at a drawing: as many titles as marks, each with what the mark shows."""

import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from beyond_ram import figures


def shown(folder: Path, axes: Axes) -> list[str]:
    """The titles in a saved figure of some axes."""
    files = {"svg": str(folder / "a.svg"), "png": str(folder / "a.png"), "caption_file": str(folder / "a.rst")}
    figures.save(axes.figure, "A figure.", **files)  # type: ignore[arg-type]
    return [title.text or "" for title in ET.parse(folder / "a.svg").iter("{http://www.w3.org/2000/svg}title")]


@pytest.fixture
def axes() -> Axes:
    figures.theme()
    return plt.subplots()[1]


@pytest.mark.slow
def test_points_say_their_series_and_both_values(axes: Axes, tmp_path: Path) -> None:
    axes.plot([1, 2], [30, 4000], "o-", label="one")
    axes.scatter([1.5], [35])
    axes.set(xlabel="epochs", ylabel="memory (MB)")
    tooltips = shown(tmp_path, axes)
    assert "one; epochs 2; memory (MB) 4,000" in tooltips
    assert "epochs 1.5; memory (MB) 35" in tooltips
    assert len(tooltips) == 3


@pytest.mark.slow
def test_names_of_ticks_stand_for_places(axes: Axes, tmp_path: Path) -> None:
    axes.bar(["june-2023", "current"], [3, 4])
    axes.set(ylabel="seconds")
    assert sorted(shown(tmp_path, axes)) == ["current; seconds 4", "june-2023; seconds 3"]


@pytest.mark.slow
def test_lines_without_marks_and_clouds_say_nothing(axes: Axes, tmp_path: Path) -> None:
    axes.plot(range(9))
    axes.plot(np.arange(501), "o")
    assert shown(tmp_path, axes) == []


@pytest.mark.slow
def test_what_is_not_drawn_shifts_no_value(axes: Axes, tmp_path: Path) -> None:
    axes.plot([1, 2, 3], [1, float("nan"), 3], "o")
    assert shown(tmp_path, axes) == ["1; 1", "3; 3"]
