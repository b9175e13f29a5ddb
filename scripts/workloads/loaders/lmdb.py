"""LMDB: a transaction a batch."""

import lmdb
import numpy
from loaders.how import Batches
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "lmdb", "library", "rows"


class Lmdb(Dataset):
    def __init__(self, path):
        self.path, self.environment = path, None
        environment = self.open()
        self.count = environment.stat()["entries"]
        environment.close()

    def __getstate__(self):
        return {**self.__dict__, "environment": None}

    def __len__(self):
        return self.count

    def open(self):
        return lmdb.open(str(self.path), subdir=False, readonly=True, lock=False, readahead=False)

    def __getitem__(self, rows):
        self.environment = self.environment or self.open()
        numbers = range(rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist()
        with self.environment.begin(buffers=True) as transaction:
            values = [numpy.frombuffer(transaction.get(number.to_bytes(8, "big")), "int32") for number in numbers]
            rows = numpy.stack(values)
        return rows[:, 2:].copy(), rows[:, :2].copy().view("int64")[:, 0]


def make(folder, how):
    dataset = Lmdb(folder / "tokens.lmdb")
    return how.blocks(dataset, Batches(len(dataset), how))
