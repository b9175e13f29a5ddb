"""A corpus through another program that turns text into files of ids: a module of `peers`, over the same files.

The program decides what it keeps between documents, its number of processes, and its output files. Afterwards the ids
are read back and hashed, which counts in no rate.
"""

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

from phases import not_applicable, number

# The calls of each release of tokenizers.
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "workloads"))
BEGAN = time.monotonic()


def cpu_s():
    """CPU time of this process, its descendants, and those that have ended (each counts in its parent, which may live:
    a server of multiprocessing forks the workers)."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    below = [pid for pid in parents if pid != os.getpid() and is_below(pid, parents)]
    return sum(use.ru_utime + use.ru_stime for use in uses) + sum(map(ticks.get, below)) / os.sysconf("SC_CLK_TCK")


def is_below(pid, parents):
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder with manifest.json and a tokenizer")
    parser.add_argument("--mode", required=True, help="module of peers")
    parser.add_argument("--num-files", type=int, help="take the first N files (default: all)")
    parser.add_argument("--num-proc", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch-size", type=int, default=20, help="documents handed to the tokenizer at once")
    args = parser.parse_args()
    # Before any import, because some libraries read it then. With several workers, each uses one core.
    os.environ["RAYON_NUM_THREADS"] = os.environ["POLARS_MAX_THREADS"] = str(args.num_proc)
    from peers import how as settings

    try:
        peer = importlib.import_module(f"peers.{args.mode}")
    except ImportError as error:
        not_applicable(str(error))
    chosen = json.loads((args.corpus / "manifest.json").read_text(encoding="utf-8"))["files"][: args.num_files]
    out = Path("ids").resolve()
    out.mkdir()
    files = [str((args.corpus / entry["path"]).resolve()) for entry in chosen]
    tokenizer, documents = (args.corpus / "tokenizer").resolve(), [entry["documents"] for entry in chosen]
    how = settings.Task(files, documents, str(tokenizer), str(out), args.num_proc, args.batch_size)
    try:
        peer.tokenize(how)
    except settings.CannotRunError as reason:
        not_applicable(str(reason))
    seconds, used = time.monotonic() - BEGAN, cpu_s()
    digest, tokens = hashlib.sha256(), 0
    for ids in peer.documents(how):
        digest.update(ids.astype("<i4").tobytes())
        tokens += len(ids)
    number("Tokens per CPU-second", tokens / used, "tokens/CPU-s", "higher")
    number("Tokens per second", tokens / seconds, "tokens/s", "higher")
    number("Text", sum(entry["text_bytes"] for entry in chosen), "bytes", exact=True)
    number("Tokens", tokens, "tokens", exact=True)
    number("Hash of the ids", int(digest.hexdigest()[:12], 16), "48 bits of SHA-256", exact=True)
    number("Written", sum(path.stat().st_size for path in out.rglob("*") if path.is_file()), "bytes", "lower")


if __name__ == "__main__":
    main()
