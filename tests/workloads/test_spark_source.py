"""Spark's data source for the Hub."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def event_of(events: list[Any], name: str) -> dict[str, Any]:
    return next((event for event in events if event["event"] == name), {})


def test_without_java_spark_is_not_applicable(tmp_path: Path) -> None:
    program = ROOT / "scripts" / "workloads" / "spark_source.py"
    manifest = json.dumps({"id": "local/mine", "rows": 1, "bytes": 1})
    words = [sys.executable, str(program), "--work-dir", str(tmp_path), "--manifest", manifest]
    subprocess.run(words, env={"PATH": str(tmp_path), "BEYOND_RAM_EVENTS": str(tmp_path / "events")}, check=True)
    events = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert event_of(events, "not_applicable")["reason"] == "there is no Java here, which Spark needs"
