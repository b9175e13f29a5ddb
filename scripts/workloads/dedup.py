"""Workload `dedup`: write a table as Parquet, edit it, write it again, and push each version to Xet storage.

append       one row in a hundred more, at the end
delete       a hundred rows less, in the middle
insert       a hundred rows more, after a quarter
add-column   one column more, at the end
update       another text in a hundred rows, ten at each of ten places

The storage is a folder that `hf_xet` itself writes to (`local://`): no network, and the same chunks as on the Hub. Each
edit is pushed to a storage of its own that contains only the original table.
"""

import os
import shutil
import sys
import time

import events
import release

PACKAGES = ("pyarrow", "hf-xet", "numpy")
EDITED_ROWS = 100
PLACES = 10
WORDS = 5000
TEXT_WORDS = (20, 80)


def table(rows, seed):
    """A table of text, numbers and a category, the same for the same seed; mostly text, as on the Hub."""
    import numpy
    import pyarrow

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
    import pyarrow

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
    """Write the table. Returns the writer's cost, and the size of the file."""
    import pyarrow.parquet

    chunking = {"use_content_defined_chunking": True} if args.cdc == "on" else {}
    cpu, clock = time.process_time(), time.monotonic()
    pyarrow.parquet.write_table(
        rows, path, compression=args.compression, row_group_size=args.row_group_rows, **chunking
    )
    paid = {"write_cpu_s": time.process_time() - cpu, "write_s": time.monotonic() - clock}
    return {**paid, "file_bytes": path.stat().st_size, "table_bytes": rows.nbytes, "rows": rows.num_rows}


def push(path, storage):
    """Push a file. Returns bytes that were new to the storage: uncompressed (`new_bytes`), and as sent
    (`uploaded_bytes`)."""
    import hf_xet

    storage.mkdir(parents=True, exist_ok=True)
    cpu = time.process_time()
    commit = hf_xet.XetSession().new_upload_commit(endpoint=f"local://{storage.resolve()}")
    handle = commit.start_upload_file(str(path))
    chunks = handle.result().dedup_metrics
    sent = commit.wait_to_finish().dedup_metrics
    if chunks.total_bytes != path.stat().st_size:
        sys.exit(f"{path}: hf_xet has seen {chunks.total_bytes} bytes of {path.stat().st_size}")
    return {
        "new_bytes": chunks.new_bytes,
        "new_chunks": chunks.new_chunks,
        "total_chunks": chunks.total_chunks,
        "uploaded_bytes": sent.total_bytes_uploaded,
        "push_cpu_s": time.process_time() - cpu,
    }


def imports(args):
    events.phase("import")
    import inspect

    import hf_xet
    import pyarrow.compute
    import pyarrow.parquet

    events.emit("provenance", versions=events.versions(PACKAGES))
    if not hasattr(hf_xet, "XetSession"):
        events.not_applicable("this release of hf_xet says nothing about deduplication")
    ways = (pyarrow.parquet.ParquetWriter.__init__, pyarrow.parquet.write_table)
    parameters = [name for way in ways for name in inspect.signature(way).parameters]
    if args.cdc == "on" and "use_content_defined_chunking" not in parameters:
        events.not_applicable("this release of pyarrow has no content-defined chunking")
    events.mark("imported", **events.own_memory(), **release.allocated())


def work(args):
    imports(args)
    events.phase("make")
    before = table(args.table_rows, seed=1)
    path, storage = args.work_dir / "table.parquet", args.work_dir / "storage"
    events.phase("edit")
    written = write(before, path, args)
    events.emit("edit", edit="none", **written, **push(path, storage))
    total = written["file_bytes"]
    after = None
    for name, make in edits(before, seed=1).items():
        after = make()
        written_after = write(after, path, args)
        own = args.work_dir / f"storage-{name}"
        shutil.copytree(storage, own)
        events.emit("edit", edit=name, **written_after, **push(path, own))
        shutil.rmtree(own)
        total += written_after["file_bytes"]
    events.mark("work", rows=before.num_rows, bytes_in=total, **events.own_memory())
    return {"edited table": [after], "table": [before]}


def main():
    args = events.arguments(__doc__, table_rows=int, compression=str, cdc=str, row_group_rows=int)
    os.environ["HF_HOME"] = str(args.work_dir / "home")  # hf_xet keeps logs and its cache there
    release.teardown(work(args))


if __name__ == "__main__":
    events.run(main)
