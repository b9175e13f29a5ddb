"""How much of a Parquet file is new to Xet storage after an edit. Each edit is made on the same table.

append       one row in a hundred more, at the end
delete       a hundred rows less, in the middle
insert       a hundred rows more, after a quarter
add-column   one column more, at the end
update       another text in a hundred rows, ten at each of ten places

The storage is a folder that `hf_xet` itself writes to (`local://`): no network, and the same chunks as on the Hub. Each
edit is pushed to a storage of its own that contains only the original table.
"""

import argparse
import inspect
import os
import shutil
import sys
import time
from pathlib import Path

os.environ["HF_HOME"] = os.path.abspath("work/home")  # hf_xet keeps logs and its cache there

import hf_xet
import numpy
import pyarrow.compute
import pyarrow.parquet
from phases import not_applicable, number

WORK = Path("work").resolve()
EDITED_ROWS = 100
PLACES = 10
WORDS = 5000
TEXT_WORDS = (20, 80)


def table(rows, seed):
    """A table of text, numbers and a category, the same for the same seed; mostly text, as on the Hub."""
    random = numpy.random.default_rng(seed)
    letters = numpy.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype="S1")
    # Words and their frequencies are as in text, so that compression works as well as it would there.
    words = [b"".join(random.choice(letters, size)).decode() for size in 2 + random.poisson(5, WORDS)]
    weights = 1 / numpy.arange(1, WORDS + 1)
    lengths = random.integers(*TEXT_WORDS, rows)
    drawn = random.choice(WORDS, int(lengths.sum()), p=weights / weights.sum())
    texts, start = [], 0
    for length in lengths:
        texts.append(" ".join(words[number] for number in drawn[start : start + length]))
        start += length
    return pyarrow.table(
        {
            "id": pyarrow.array(random.integers(0, 2**62, rows)),
            "text": pyarrow.array(texts),
            "score": pyarrow.array(random.normal(size=rows)),
            "label": pyarrow.array(random.integers(0, 20, rows).astype("int32")),
        }
    )


def edits(before, seed):
    """Every edit by name, as a function that returns the edited table."""
    rows = before.num_rows

    def joined(*parts):
        return pyarrow.concat_tables(parts).combine_chunks()

    def update():
        texts, fresh = before["text"].to_pylist(), table(EDITED_ROWS, seed + 1)["text"].to_pylist()
        size = EDITED_ROWS // PLACES
        for place in range(PLACES):
            first = (place * rows) // PLACES + rows // (2 * PLACES)
            texts[first : first + size] = fresh[place * size : (place + 1) * size]
        return before.set_column(1, "text", pyarrow.array(texts))

    return {
        "append": lambda: joined(before, table(max(1, rows // 100), seed + 1)),
        "delete": lambda: joined(before.slice(0, rows // 2), before.slice(rows // 2 + EDITED_ROWS)),
        "insert": lambda: joined(before.slice(0, rows // 4), table(EDITED_ROWS, seed + 1), before.slice(rows // 4)),
        "add-column": lambda: before.append_column("length", pyarrow.compute.utf8_length(before["text"])),
        "update": update,
    }


def write(rows, path, args):
    """Write the table. Returns the CPU time of the writer."""
    chunking = {"use_content_defined_chunking": True} if args.chunking else {}
    cpu = time.process_time()
    pyarrow.parquet.write_table(
        rows, path, compression=args.compression, row_group_size=args.row_group_rows, **chunking
    )
    return time.process_time() - cpu


def push(path, storage):
    """Push a file. Returns bytes that were new to the storage: before compression, and as sent."""
    storage.mkdir(parents=True, exist_ok=True)
    commit = hf_xet.XetSession().new_upload_commit(endpoint=f"local://{storage.resolve()}")
    handle = commit.start_upload_file(str(path))
    chunks = handle.result().dedup_metrics
    sent = commit.wait_to_finish().dedup_metrics
    if chunks.total_bytes != path.stat().st_size:
        sys.exit(f"{path}: hf_xet has seen {chunks.total_bytes} bytes of {path.stat().st_size}")
    return chunks.new_bytes, sent.total_bytes_uploaded


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the table, some 400 bytes each")
    parser.add_argument("--compression", default="snappy", choices=("none", "snappy", "zstd"))
    parser.add_argument("--row-group-rows", type=int, default=1_000_000)
    parser.add_argument("--chunking", action="store_true", help="the content decides where pages end")
    args = parser.parse_args()
    if not hasattr(hf_xet, "XetSession"):
        not_applicable("this release of hf_xet says nothing about deduplication")
    ways = (pyarrow.parquet.ParquetWriter.__init__, pyarrow.parquet.write_table)
    parameters = [name for way in ways for name in inspect.signature(way).parameters]
    if args.chunking and "use_content_defined_chunking" not in parameters:
        not_applicable("this release of pyarrow has no content-defined chunking")
    before = table(args.rows, seed=1)
    path, storage = WORK / "table.parquet", WORK / "storage"
    WORK.mkdir(exist_ok=True)
    paid = write(before, path, args)
    push(path, storage)
    number("Parquet file", path.stat().st_size, "bytes", exact=True)
    for name, make in edits(before, seed=1).items():
        paid += write(make(), path, args)
        own = WORK / f"storage-{name}"
        shutil.copytree(storage, own)
        new, sent = push(path, own)
        shutil.rmtree(own)
        number(f"New after {name}", 100 * new / path.stat().st_size, "% of the file", "lower", exact=True)
        number(f"New bytes after {name}", new, "bytes", exact=True)
        number(f"Sent after {name}", sent, "bytes", exact=True)
    number("CPU time of the writer", paid, "s", "lower")
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
