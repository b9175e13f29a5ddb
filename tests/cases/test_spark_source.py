"""Spark's data source for the Hub."""

import json

from . import run_case


def test_without_java_spark_is_not_applicable(tmp_path):
    manifest = json.dumps({"id": "local/mine", "rows": 1, "bytes": 1})
    (event,) = run_case(tmp_path, "spark_source.py", "--manifest", manifest, PATH=str(tmp_path), JAVA_HOME="")
    assert event["reason"] == "there is no Java here, which Spark needs"
