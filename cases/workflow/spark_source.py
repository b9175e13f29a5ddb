"""Read a repository into Spark, write it back to the Hub, append to it, and read it again after each step.

A failing step reports its reason, and the next ones continue. Without Xet, because the local storage accepts one
process at a time and Spark's workers write at once.
"""

import argparse
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

from phases import not_applicable, number

FORMAT = "huggingface"
WRITTEN = "local/written-by-spark"
WORK = Path("work").resolve()


def session():
    """Spark on two cores of this machine, listening on the loopback only."""
    import pyspark.sql
    import pyspark_huggingface  # noqa: F401  # registers the data source

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(WORK / "spark"),
        "spark.sql.warehouse.dir": str(WORK / "warehouse"),
        "spark.log.level": "ERROR",
    }
    return pyspark.sql.SparkSession.builder.master("local[2]").appName("beyond-ram").config(map=settings).getOrCreate()


def counted(frame):
    """The number of rows, of distinct rows, and sums that identify them."""
    import pyspark.sql.functions as f

    row = frame.agg(f.count("row"), f.count_distinct("row"), f.sum("row"), f.sum("crc")).collect()[0]
    return [int(value or 0) for value in row]


def expected(rows, times, crc):
    return [times * rows, rows, times * rows * (rows - 1) // 2, times * crc]


def refreshed():
    """Drop cached listings, because the repository has changed."""
    import fsspec

    fsspec.AbstractFileSystem.clear_instance_cache()


def steps(manifest, spark):
    """Each step by name, as a function that returns its rows and whether they are right."""
    rows = manifest["rows"]
    held = {}

    def read():
        held["frame"] = spark.read.format(FORMAT).load(manifest["id"])
        counts = counted(held["frame"])
        held["crc"] = counts[3]
        return counts[0], counts[:3] == expected(rows, 1, 0)[:3]

    def write(mode):
        held["frame"].write.format(FORMAT).mode(mode).options(token="local").save(WRITTEN)

    def again(times):
        refreshed()
        counts = counted(spark.read.format(FORMAT).load(WRITTEN))
        return counts[0], counts == expected(rows, times, held["crc"])

    def overwrite():
        write("overwrite")
        return again(1)

    def append():
        write("append")
        return again(2)

    return {"read": read, "write": overwrite, "append": append}


def reason(error):
    """The most informative line of a failure: the first Python error in it."""
    lines = str(error).splitlines()
    named = [line for line in lines if re.match(r"\w*(Error|Exception): ", line)]
    return (named or [line for line in lines if line.strip()] or [type(error).__name__])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifest", type=json.loads, required=True, help="what the repository has, as JSON")
    manifest = parser.parse_args().manifest
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        not_applicable("there is no Java here, which Spark needs")
    # Spark's workers are separate processes, started with this environment.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "HF_TOKEN": "local"}
    import huggingface_hub

    WORK.mkdir()
    spark = session()
    huggingface_hub.HfApi(token="local").create_repo(WRITTEN, repo_type="dataset")
    for name, step in steps(manifest, spark).items():
        began = time.monotonic()
        try:
            rows, right = step()
            why = "" if right else f"{rows} rows came, or not the right ones"
        except Exception as error:
            rows, right, why = 0, False, reason(error)
        number(f"Right rows after {name}", rows if right else 0, "rows", "higher", exact=True)
        number(f"Time to {name}", time.monotonic() - began, "s", "lower")
        if why:
            number(f"{name} fails: {why}", 1, "runs")
    spark.stop()
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
