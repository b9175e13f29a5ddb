"""Spark's data source for the Hub."""

import json
import subprocess
import sys

from ..conftest import ROOT


def test_without_java_spark_is_not_applicable(tmp_path):
    program = ROOT / "cases" / "workflow" / "spark_source.py"
    manifest = json.dumps({"id": "local/mine", "rows": 1, "bytes": 1})
    environment = {"PATH": str(tmp_path), "BEYOND_RAM_EVENTS": str(tmp_path / "events")}
    subprocess.run([sys.executable, str(program), "--manifest", manifest], env=environment, cwd=tmp_path, check=True)
    (event,) = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert event["reason"] == "there is no Java here, which Spark needs"
