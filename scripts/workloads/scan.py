"""Workload `scan`: read a mapped Arrow file from start to end. All of it is resident; little is needed."""

import argparse
import json
import sys
from pathlib import Path

import events
import release

MB = 1_000_000
ROWS = 8192


def prepare(path, size):
    """Write a stream of record batches of 64-bit integers, a batch at a time."""
    import numpy
    import pyarrow

    schema = pyarrow.schema([("values", pyarrow.int64())])
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for first in range(0, size // 8, ROWS):
            writer.write_batch(pyarrow.record_batch([pyarrow.array(numpy.arange(first, first + ROWS))], schema=schema))


def scan(path):
    """Read everything. Returns the objects kept at the end, by owner."""
    events.phase("import")
    import pyarrow
    import pyarrow.compute

    release.imported(["pyarrow", "numpy"])
    events.phase("scan")
    source = pyarrow.memory_map(str(path))
    reader = pyarrow.ipc.open_file(source)
    rows = total = 0
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        rows += batch.num_rows
        total += pyarrow.compute.sum(batch.column(0)).as_py()
    if total != rows * (rows - 1) // 2:
        sys.exit(f"{path}: the values add up to {total}, which is wrong")
    events.mark("work", rows=rows, bytes_in=path.stat().st_size, **events.own_memory())
    return {"mapped file": [reader, source]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-dir", type=Path, required=True)
    parser.add_argument("--size-mb", type=int, required=True)
    parser.add_argument("--prepare", action="store_true", help="only write the file")
    args = parser.parse_args()
    path = args.work_dir / "values.arrow"
    if args.prepare:
        prepare(path, args.size_mb * MB)
        print(json.dumps({"bytes": path.stat().st_size}))
    else:
        release.teardown(scan(path))


if __name__ == "__main__":
    events.run(main)
