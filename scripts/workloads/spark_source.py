"""Workload `spark`: read a repository into Spark, write it back to the Hub, append to it, and read it again.

The record is which steps work: a failing step gives its reason, and the next ones continue. Runs without Xet, because
the local storage accepts one process at a time and Spark's workers write at once.
"""

import json
import os
import re
import shutil
import sys
import time

import events
import release

PACKAGES = ("pyspark", "pyspark-huggingface", "datasets", "huggingface-hub", "pyarrow", "pandas", "hf-xet")
FORMAT = "huggingface"
WRITTEN = "local/written-by-spark"


def session(args):
    """Spark on two cores of this machine, listening on the loopback only."""
    import pyspark.sql
    import pyspark_huggingface  # noqa: F401  # registers the data source

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(args.work_dir / "spark"),
        "spark.sql.warehouse.dir": str(args.work_dir / "warehouse"),
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


def steps(args, spark):
    """Each step by name, as a function that returns its rows and whether they are right."""
    rows = args.manifest["rows"]
    held = {}

    def read():
        held["frame"] = spark.read.format(FORMAT).load(args.manifest["id"])
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


def work(args):
    events.phase("import")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        events.not_applicable("there is no Java here, which Spark needs")
    import huggingface_hub
    import pyspark  # noqa: F401

    release.imported(PACKAGES, clock_s=time.monotonic())
    events.phase("start")
    spark = session(args)
    huggingface_hub.HfApi(token="local").create_repo(WRITTEN, repo_type="dataset")
    came = 0
    for name, step in steps(args, spark).items():
        events.phase(name)
        began = time.monotonic()
        try:
            rows, right = step()
            why = "" if right else f"{rows} rows came, or not the right ones"
            outcome = {"works": right, "rows": rows, "reason": why}
            came += rows
        except Exception as error:
            outcome = {"works": False, "rows": None, "reason": reason(error)}
        events.emit("step", step=name, duration_s=round(time.monotonic() - began, 6), **outcome)
    events.mark("work", rows=came, bytes_in=args.manifest["bytes"], **events.own_memory())
    return spark


def reason(error):
    """The most informative line of a failure: the first Python error in it."""
    lines = str(error).splitlines()
    named = [line for line in lines if re.match(r"\w*(Error|Exception): ", line)]
    return (named or [line for line in lines if line.strip()] or [type(error).__name__])[0][:300]


def main():
    args = events.arguments(__doc__, manifest=json.loads)
    # Spark's workers are separate processes, started with this environment.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "HF_TOKEN": "local"}
    held = [work(args)]
    held[0].stop()
    release.teardown({"session": held})


if __name__ == "__main__":
    events.run(main)
