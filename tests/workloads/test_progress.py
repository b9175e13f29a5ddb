"""Progress events of a tokenising program."""

import importlib
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "scripts" / "workloads"


@pytest.fixture
def progress(monkeypatch):
    """Import the module anew, because it has the state of a run."""
    monkeypatch.syspath_prepend(str(SOURCES))
    for name in ("progress", "events"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("progress")


@pytest.mark.parametrize("documents", [4, 24, 5000])
def test_progress_is_emitted_before_batches_and_not_too_often(progress, monkeypatch, documents):
    positions = []
    monkeypatch.setattr(progress.events, "emit", lambda event, bytes_in, **_: positions.append(bytes_in))
    for _ in range(documents):
        progress.before(["été", "x"], 6 * documents)
    assert positions[0] == 0
    assert len(positions) == min(documents, progress.MOST)
    assert positions == sorted(set(positions))
    assert all(done % 6 == 0 for done in positions), "é takes two bytes"


@pytest.mark.parametrize("text", ["", "plain", "é" * 40_000, "x" + "⨁" * 50_001])
def test_length_of_a_text_is_in_utf8_bytes(progress, text):
    assert progress.utf8_bytes(text) == len(text.encode())
