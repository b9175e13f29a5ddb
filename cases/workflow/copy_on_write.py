"""Records that a dataset keeps in memory, read by the workers of a DataLoader: what each worker copies.

Reading a Python object writes its reference count, and a forked worker that writes to a page gets a copy of it. The
same records are kept in five ways; the worker that reads a record checks it.

dicts    a list of dictionaries
strings  a list of strings
numpy    two arrays
arrow    a table
tensor   two tensors in shared memory
"""

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

from phases import number

BATCH_ROWS, CHUNK_ROWS, TEXT_BYTES = 256, 10_000, 64


def text_of(number):
    """The text of a record, which contains its number."""
    return f"{number:08d}" * (TEXT_BYTES // 8)


class Dicts:
    def __init__(self, count):
        self.rows = [{"number": number, "text": text_of(number)} for number in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        row = self.rows[at]
        return row["number"], row["text"]


class Strings:
    def __init__(self, count):
        self.texts = [text_of(number) for number in range(count)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, at):
        return at, self.texts[at]


class Arrays:
    """Texts of equal length, so that only the record that is read becomes an object."""

    def __init__(self, count):
        import numpy

        self.numbers = numpy.arange(count)
        self.texts = numpy.fromiter((text_of(number).encode() for number in range(count)), f"S{TEXT_BYTES}", count)

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, at):
        return int(self.numbers[at]), self.texts[at].decode()


class Records:
    def __init__(self, count):
        import pyarrow

        numbers = iter(range(count))
        chunks = iter(lambda: list(itertools.islice(numbers, CHUNK_ROWS)), [])
        batches = [pyarrow.record_batch({"number": some, "text": [*map(text_of, some)]}) for some in chunks]
        self.table = pyarrow.Table.from_batches(batches).combine_chunks()

    def __len__(self):
        return len(self.table)

    def __getitem__(self, at):
        return self.table["number"][at].as_py(), self.table["text"][at].as_py()


class Tensors:
    def __init__(self, count):
        import torch

        arrays = Arrays(count)
        self.numbers = torch.from_numpy(arrays.numbers).share_memory_()
        self.texts = torch.from_numpy(arrays.texts.view("uint8").reshape(count, TEXT_BYTES)).share_memory_()

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, at):
        return int(self.numbers[at]), bytes(self.texts[at].numpy()).decode()


HOLDINGS = {"dicts": Dicts, "strings": Strings, "numpy": Arrays, "arrow": Records, "tensor": Tensors}


def checked(records):
    """The numbers of the whole records of a batch, checked in the process that read it."""
    return [number for number, text in records if text == text_of(number)]


def memory():
    """RSS, PSS, USS and anonymous PSS of this process and its children, in bytes, when workers have filled their queues
    and wait."""
    time.sleep(0.3)
    children = [Path(f"/proc/self/task/{task}/children").read_text().split() for task in os.listdir("/proc/self/task")]
    total = dict.fromkeys(("Rss", "Pss", "Private", "Pss_Anon"), 0)
    for process in ("self", *itertools.chain(*children)):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
            name, size = line.split()[:2]
            name = "Private" if name.startswith("Private_") else name[:-1]
            if name in total:
                total[name] += int(size) * 1024
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--holding", choices=HOLDINGS, required=True)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--start", choices=("fork", "forkserver", "spawn"), default="fork")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    import torch.utils.data

    loader = torch.utils.data.DataLoader(
        HOLDINGS[args.holding](args.records),
        BATCH_ROWS,
        shuffle=True,
        generator=torch.Generator().manual_seed(1),
        num_workers=args.workers,
        collate_fn=checked,
        multiprocessing_context=args.start,
        persistent_workers=True,
    )
    first = None
    for epoch in range(args.epochs):
        times = bytearray(args.records)
        for batch in loader:
            for record in batch:
                times[record] += 1
            first = first or memory()
        if set(times) != {1}:
            sys.exit(f"epoch {epoch}: {times.count(0)} of {args.records} records did not come whole, or some twice")
        last = memory()
        number(f"Copied by epoch {epoch}", last["Pss_Anon"] - first["Pss_Anon"], "bytes", "lower")
    for name, label in (("Pss", "PSS"), ("Private", "USS"), ("Rss", "RSS")):
        number(f"{label} after the last epoch", last[name], "bytes")


if __name__ == "__main__":
    main()
