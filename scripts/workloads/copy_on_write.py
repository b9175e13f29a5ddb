"""Workload `copy-on-write`: records that a dataset keeps in memory, read by the workers of a DataLoader.

Reading a Python object writes its reference count, and a forked worker that writes to a page gets a copy of it. The
same records are kept in five ways; the worker that reads a record checks it.

dicts    a list of dictionaries
strings  a list of strings
numpy    two arrays
arrow    a table
tensor   two tensors in shared memory
"""

import itertools

import events
import release
from account import Account, of_run
from load import LIBRARIES, epoch, still

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


class Table:
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


HOLDINGS = {"dicts": Dicts, "strings": Strings, "numpy": Arrays, "arrow": Table, "tensor": Tensors}


def checked(records):
    """Check a batch in the process that read it. Returns numbers of whole records, how many are not whole, and the
    worker."""
    import torch.utils.data

    worker = torch.utils.data.get_worker_info()
    whole = [number for number, text in records if text == text_of(number)]
    return whole, len(records) - len(whole), worker.id if worker else 0


class Records(Account):
    def take(self, numbers, wrong, worker):
        self.add(len(numbers) + wrong, worker, numbers, wrong)


def work(args):
    events.phase("import")
    import torch.utils.data

    release.imported(LIBRARIES)
    events.phase("open")
    dataset, account = HOLDINGS[args.holding](args.records), Records(args.records)
    events.mark("baseline", **events.own_memory())
    how = {"multiprocessing_context": args.start, "persistent_workers": True} if args.workers else {}
    generator = torch.Generator().manual_seed(1)
    loader = torch.utils.data.DataLoader(
        dataset,
        BATCH_ROWS,
        shuffle=args.order == "shuffled",
        generator=generator,
        num_workers=args.workers,
        collate_fn=checked,
        **how,
    )
    accounts = []
    for number in range(args.epochs):
        accounts.append(epoch(loader, account, number))
        still("delivered")
    events.mark(
        "work", rows=args.records, bytes_in=args.records * TEXT_BYTES, **of_run(accounts), **events.own_memory()
    )
    return {"loader": [loader], "records": [dataset]}


def main():
    kinds = {"holding": str, "records": int, "order": str, "workers": int, "start": str, "epochs": int}
    release.teardown(work(events.arguments(__doc__, **kinds)))


if __name__ == "__main__":
    events.run(main)
