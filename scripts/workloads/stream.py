"""Workload `stream`: read a repository through a DataLoader, and account for every row.

stream    load_dataset(streaming=True)
download  load_dataset: into the cache, then from disk
s3        streamed from S3-compatible storage, through fsspec
"""

import argparse
import dataclasses
import inspect
import json
import os
import pathlib
import sys
import time
import traceback
import zlib

import events
from account import Account, of_run

PACKAGES = [
    "datasets",
    "huggingface-hub",
    "fsspec",
    "pyarrow",
    "torch",
    "numpy",
    "s3fs",
    "requests",
    "httpx",
    "aiohttp",
]
BATCH_ROWS = 32


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--manifest", type=json.loads, required=True, help="what to stream, in JSON")
    parser.add_argument("--mode", choices=("stream", "download", "s3"), default="stream")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--start", choices=("fork", "spawn", "none"), default="none", help="of the workers")
    parser.add_argument("--buffering", default="default")
    parser.add_argument("--shuffle-buffer", type=int, default=0)
    parser.add_argument("--input-shards", type=int, default=0, help="of which the buffer is filled at a time")
    parser.add_argument("--prefetch-factor", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    return parser.parse_args(argv)


class Collate:
    """Makes a batch in the process that read its rows: worker, number of rows, numbers of whole rows, number of
    other rows, bytes, and the process's memory then."""

    def __init__(self, checked):
        self.checked = checked

    def __call__(self, rows):
        import torch.utils.data

        worker = torch.utils.data.get_worker_info()
        whole = [row for row in rows if zlib.crc32(row["payload"]) == int(row["crc"])] if self.checked else rows
        numbers = [int(row["row"]) for row in whole] if self.checked else []
        size = sum(len(row["payload"]) for row in rows) if self.checked else None
        memory = events.own_memory().get("anon_bytes")
        return (worker.id if worker else -1), len(rows), numbers, len(rows) - len(whole), size, memory


def in_worker(number):
    """Emit the event of a worker's start."""
    events.emit("worker", worker=number, **events.own_memory())


def buffered(name):
    """The arguments of load_dataset for a read-ahead setting of Parquet."""
    if name == "default":
        return {}
    import pyarrow.dataset
    from datasets.packaged_modules.parquet.parquet import ParquetConfig

    if "fragment_scan_options" not in {field.name for field in dataclasses.fields(ParquetConfig)}:
        events.not_applicable("this release of datasets has no fragment_scan_options")
    if name in ("pre-buffer", "no-pre-buffer"):
        options = {"pre_buffer": name == "pre-buffer"}
    else:
        _, limit, _, size = name.split("-")
        if not hasattr(pyarrow, "CacheOptions"):
            events.not_applicable("this release of pyarrow has no CacheOptions")
        cache = pyarrow.CacheOptions(prefetch_limit=int(limit), range_size_limit=int(size) << 20)
        options = {"cache_options": cache, "pre_buffer": True}
    return {"fragment_scan_options": pyarrow.dataset.ParquetFragmentScanOptions(**options)}


def opened(args):
    """Open the data with the client of this mode."""
    import datasets

    manifest = args.manifest
    if args.mode == "s3":
        options = json.loads(os.environ["BEYOND_RAM_S3"])
        files = f"s3://{options.pop('bucket')}/{manifest['id']}/**/*.parquet"
        data = datasets.load_dataset(
            "parquet", data_files={"train": files}, split="train", streaming=True, storage_options=options
        )
    else:
        streaming = args.mode != "download"
        how = buffered(args.buffering) if streaming else {}
        data = datasets.load_dataset(
            manifest["id"], manifest["config"], split=manifest["split"], streaming=streaming, **how
        )
    if args.shuffle_buffer and args.mode != "download":
        data = data.shuffle(seed=1, buffer_size=args.shuffle_buffer, **interleaved(data, args.input_shards))
    return data


def interleaved(data, shards):
    """The arguments of `shuffle` for this many shards at once."""
    if not shards:
        return {}
    if "max_buffer_input_shards" not in inspect.signature(data.shuffle).parameters:
        events.not_applicable("the shuffle of this release of datasets has no max_buffer_input_shards")
    return {"max_buffer_input_shards": shards}


def loader_of(args, data):
    import torch.utils.data

    how: dict[str, object] = {"shuffle": True} if args.mode == "download" and args.shuffle_buffer else {}
    if args.workers:
        how |= {"prefetch_factor": args.prefetch_factor, "multiprocessing_context": args.start}
        how |= {"worker_init_fn": in_worker}
    checked = args.manifest["rows"] is not None
    return torch.utils.data.DataLoader(
        data, batch_size=BATCH_ROWS, num_workers=args.workers, collate_fn=Collate(checked), **how
    )


class StreamedRows(Account):
    """The account of rows that the reading process has checked, with their bytes and its memory.

    Only generated rows have numbers and sums; for others `expected` is None.
    """

    def __init__(self, expected):
        generated = expected is not None
        super().__init__(expected, numbered=generated, checked=generated)
        self.bytes = 0 if generated else None
        self.memory = {}

    def take(self, batch):
        worker, rows, numbers, wrong, size, memory = batch
        self.add(rows, worker, numbers, wrong)
        self.bytes = None if self.bytes is None else self.bytes + size
        if memory is not None:
            self.memory[worker] = max(memory, self.memory.get(worker, 0))


def epochs(args, loader, began):
    """Read everything, epoch by epoch. Returns the account of each."""
    accounts = []
    for epoch in range(args.epochs):
        events.phase(f"epoch {epoch}")
        account, started, first = StreamedRows(args.manifest["rows"]), time.monotonic(), None
        accounts.append(account)
        try:
            for batch in loader:
                if first is None:
                    first = time.monotonic()
                    if not epoch:
                        events.emit("first_batch", duration_s=round(first - began, 6))
                account.take(batch)
        except Exception as error:
            totals = account.totals()
            events.emit("epoch", epoch=epoch, duration_s=round(time.monotonic() - started, 6), finished=False, **totals)
            gave_up(error)
        events.emit(
            "epoch",
            epoch=epoch,
            duration_s=round(time.monotonic() - started, 6),
            first_batch_s=round((first or started) - started, 6),
            finished=True,
            bytes=account.bytes,
            worker_anon_bytes=account.memory,
            **account.totals(),
        )
    return accounts


def gave_up(error):
    """End the run, because the client gave up: the reason is the result."""
    if isinstance(error, ImportError) and (reason := events.lacking(error)):
        events.not_applicable(reason)
    traceback.print_exception(error)
    # An error in a worker has a traceback as message, with the error itself in its last line.
    lines = str(error).strip().splitlines() or [""]
    last, name = lines[-1].strip(), type(error).__name__
    reason = (last if last.startswith(name) else f"{name}: {last}")[:300]
    events.emit("gave_up", reason=reason)
    sys.exit(1)


def work(args):
    events.phase("import")
    import datasets
    import torch.utils.data  # noqa: F401

    (getattr(datasets, "disable_progress_bars", None) or datasets.disable_progress_bar)()
    # The clock at the watcher's time, to place the endpoint's log on this run's time axis.
    events.imported(PACKAGES, clock_s=time.monotonic())
    if args.mode == "s3" and "s3fs" not in events.versions(["s3fs"]):
        events.not_applicable("this stack has no s3fs")
    events.phase("resolve")
    began = time.monotonic()
    try:
        data = opened(args)
    except Exception as error:
        gave_up(error)
    # The pause at the mark is not part of the time to the first batch.
    began += events.mark("resolved", duration_s=round(time.monotonic() - began, 6), **events.own_memory())
    accounts = epochs(args, loader_of(args, data), began)
    events.phase("end")
    totals = of_run([account.totals() for account in accounts])
    if accounts[-1].bytes is not None:
        totals["bytes_in"] = sum(account.bytes for account in accounts)
    events.mark("work", rows=sum(account.delivered for account in accounts), **totals)


def main():
    args = arguments()
    args.work_dir.mkdir(parents=True, exist_ok=True)
    work(args)


if __name__ == "__main__":
    events.run(main)
