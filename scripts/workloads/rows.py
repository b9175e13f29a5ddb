"""A token dataset as its two .npy files, for whoever writes it in another format or checks what was delivered."""

import json

import numpy

HALF = 1 << 15


class Rows:
    """`ids` [rows, width] int32 and `labels` [rows] int64, mapped; `sums` [rows] int64 where they are asked for."""

    def __init__(self, folder):
        described = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
        self.folder, self.count, self.width = folder, described["rows"], described["width"]
        self.bytes = described["bytes"]

    def chunks(self, size):
        """Copies of `size` rows and their labels, one after the other."""
        ids = numpy.load(self.folder / "npy" / "ids.npy", mmap_mode="r")
        labels = numpy.load(self.folder / "npy" / "labels.npy")
        for start in range(0, self.count, size):
            yield numpy.array(ids[start : start + size]), labels[start : start + size]

    def sums(self):
        return numpy.load(self.folder / "sums.npy")


def numbers_of(ids):
    """The numbers of delivered rows: ids [n, width] -> [n] int64."""
    return ids[:, 0].astype(numpy.int64) * HALF + ids[:, 1]


def sums_of(ids):
    """The sum of each row's bytes as 64-bit integers, modulo 2**64: ids [n, width] int32 -> [n] int64."""
    return ids.view(numpy.int64).sum(axis=1)
