"""Mode `engine` of the workload `tokenize`: runs `beyond-ram tokenize` over the same files.

The encoder is the stack's own. The process layout is the same: this process plans, joins, and runs the first worker as
a thread; workers read, encode and write flat ids. Memory in its events is the sum over all its processes. Imports the
engine, and what that imports.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

import events
import progress

ENGINE = Path(__file__).resolve().parents[2] / "beyond_ram" / "tokenize" / "engine"
KINDS = ("anon_bytes", "file_bytes", "shmem_bytes", "rss_bytes")


def memory_of(processes):
    """Resident memory by kind, in bytes, summed over processes; 0 for those that have ended."""
    read = [events.memory_of(process) for process in processes]
    return {kind: sum(one.get(kind, 0) for one in read) for kind in KINDS}


def reporting(encoder, bytes_in, bytes_of_files):
    """A subclass of the engine's pool that emits events. `bytes_in` is the text, `bytes_of_files` its files."""
    import pool

    class Reporting(pool.Pool):
        """A pool that emits its progress at fixed shares of the input."""

        share_reported = -1

        def give(self, worker):
            if self.share_reported < 0:
                self.share_reported = 0
                events.mark("baseline", encoder=encoder, **self.memory())
                events.phase("map 0")
            super().give(worker)

        def on_message(self, worker, message):
            super().on_message(worker, message)
            # Bytes at the border of two units are read for both.
            share = min(self.progress.done, bytes_of_files) * progress.MOST // max(bytes_of_files, 1)
            if "at" in message and share > self.share_reported:
                self.share_reported = share
                events.emit("progress", bytes_in=share * bytes_in // progress.MOST, **self.memory())

        def memory(self):
            return memory_of([worker.pid for worker in self.workers])

    return Reporting


def tokenize(args, chosen, result, packages):
    """Run the workload in this mode. It keeps nothing at its end."""
    events.phase("import")
    sys.path.append(str(ENGINE))  # last, so that it hides none of the program's own modules
    try:
        import run
        import tokenizers
        import xxhash  # noqa: F401
    except ImportError as error:
        events.not_applicable(f"this stack has no {error.name}")
    events.imported(packages)
    events.phase("load tokenizer")
    files = [args.corpus / entry["path"] for entry in chosen]
    bytes_in, bytes_of_files = sum(entry["text_bytes"] for entry in chosen), sum(file.stat().st_size for file in files)

    out = args.work_dir / "cache" / "engine"
    flags = [f"--tokenizer={(args.tokenizer or args.corpus / 'tokenizer')}", f"--out={out}", "--format=bin"]
    flags += [f"--workers={args.num_proc}"] if args.num_proc else []
    encoder = f"engine, tokenizers {tokenizers.__version__}"
    pool_class = reporting(encoder, bytes_in, bytes_of_files)
    status = run.main([*flags, "--", *map(str, files)], pool_class)
    if status:
        sys.exit(status)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    rows, dtype = summary["documents"], "<u2" if summary["dtype"] == "uint16" else "<u4"
    written = sum((out / f"tokens{ending}").stat().st_size for ending in (".bin", ".idx"))
    made = {"shard": 0, "rows": rows, "from_cache": False, "tokenizer_calls": rows}
    events.mark("shard", **made, cache_bytes_written=written, **memory_of(["self"]))
    result.write_text(json.dumps({"engine": str(out / "tokens"), "dtype": dtype}))
    events.mark("work", rows=rows, bytes_in=bytes_in, **memory_of(["self"]))


def check(result):
    """Count and hash the ids of a flat file; the index has the number of documents."""
    import numpy

    digest, tokens = hashlib.sha256(), 0
    with open(f"{result['engine']}.bin", "rb") as flat:
        while raw := flat.read(1 << 20):
            ids = numpy.frombuffer(raw, result["dtype"])
            digest.update(ids.astype("<i4").tobytes())
            tokens += len(ids)
    with open(f"{result['engine']}.idx", "rb") as index:
        rows = struct.unpack("<9sQBQQ", index.read(34))[3]
        assert numpy.frombuffer(index.read(4 * rows), "<i4").sum() == tokens, "the index and the ids disagree"
    return {"rows": rows, "tokens": tokens, "ids_sha256": digest.hexdigest()}
