"""The figures of streaming, from made-up runs and from a config that has none."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from beyond_ram import making
from beyond_ram.analysis.streaming import streaming

from .test_findings import SOURCES
from .test_tables import run


def drawn(root: Path, name: str, *records: tuple[dict[str, Any], list[dict[str, Any]]]) -> str:
    """The caption of a figure that was drawn."""
    found = making.figure(root / "scripts" / "figures" / f"{name}.py", {"streaming": streaming(records)})
    assert not isinstance(found, str), found
    plt.close(found[0])
    return " ".join(found[1].split())


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
def test_a_caption_says_what_the_runs_say(root: Path, name: str, said: str) -> None:
    caption = drawn(
        root,
        name,
        run("a", {"tree": {"main": 60}}, resolved_s=1.0, epoch_s=(2.0, 2.0), epochs=2),
        run("b", {"tree": {"main": 6}}, resolved_s=1.0, epoch_s=(2.0, 2.0), epochs=2),
        run("a", None, resolved_s=8.0, epoch_s=(0.5, 0.5), epochs=2, mode="download"),
        run("b", {"tree": {"main": 6}}, epoch_s=(1.0, 1.0), epochs=2, buffering="no-pre-buffer"),
    )
    assert said in caption
