"""Reads a mapped Arrow file of rows from beginning to end: all of it is resident, and little is needed."""

import argparse
from pathlib import Path

import pyarrow
import pyarrow.compute
from phases import number

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--tokens-dir", type=Path, required=True)
(file,) = (parser.parse_args().tokens_dir / "arrow").glob("*.arrow")
with pyarrow.memory_map(str(file)) as source:
    reader = pyarrow.ipc.open_file(source)
    rows = 0
    for at in range(reader.num_record_batches):
        batch = reader.get_batch(at)
        rows += batch.num_rows
        pyarrow.compute.sum(batch["ids"].flatten())
number("Mapped file", file.stat().st_size, "bytes", exact=True)
number("Rows", rows, "rows", exact=True)
