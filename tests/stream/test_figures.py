"""The figures of streaming, from made-up runs and from a config that has none."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beyond_ram import tables
from beyond_ram.analysis import streaming

from .test_findings import SOURCES
from .test_tables import run

FIGURES = ("requests_by_workers", "worker_memory", "prefetch_gain", "break_even")


def drawn(root: Path, tmp_path: Path, name: str, *records: tuple[dict[str, Any], list[dict[str, Any]]]) -> str:
    """The caption of a figure that was drawn."""
    tables.write(streaming(records), tmp_path / "t.csv", tmp_path / "t.parquet")
    spec = importlib.util.spec_from_file_location(name, root / "scripts" / "figures" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = {kind: str(tmp_path / f"{name}.{kind}") for kind in ("svg", "png")}
    output = SimpleNamespace(**made, caption=str(tmp_path / f"{name}.rst"))
    module.main(SimpleNamespace(input=SimpleNamespace(streaming=str(tmp_path / "t.parquet")), output=output))
    assert all(Path(path).stat().st_size for path in made.values())
    return " ".join(Path(output.caption).read_text().split())


@pytest.mark.parametrize("name", FIGURES)
def test_a_config_that_does_not_stream_has_an_empty_figure(root: Path, tmp_path: Path, name: str) -> None:
    assert drawn(root, tmp_path, name).startswith("Not run: no experiment of this config")


def test_a_config_that_does_not_stream_has_no_findings() -> None:
    assert not [finding for source in SOURCES for finding in source({"streaming": streaming([])})]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("requests_by_workers", "The most is 60 requests (a, r, 2 workers), the least under the same conditions 6 (b)"),
        ("worker_memory", "Medians; whiskers from the lowest to the highest of n = 1 runs"),
        ("prefetch_gain", "Largest 2.00 (no-pre-buffer, 0 ms, no bound on bandwidth)"),
        ("break_even", "a, no bound, 0 ms, 2 workers: from epoch 5 on"),
    ],
)
def test_a_caption_says_what_the_runs_say(root: Path, tmp_path: Path, name: str, said: str) -> None:
    caption = drawn(
        root,
        tmp_path,
        name,
        run("a", {"tree": {"main": 60}}, resolved_s=1.0, epoch_s=(2.0, 2.0), epochs=2),
        run("b", {"tree": {"main": 6}}, resolved_s=1.0, epoch_s=(2.0, 2.0), epochs=2),
        run("a", None, resolved_s=8.0, epoch_s=(0.5, 0.5), epochs=2, mode="download"),
        run("b", {"tree": {"main": 6}}, epoch_s=(1.0, 1.0), epochs=2, buffering="no-pre-buffer"),
    )
    assert said in caption
