"""A token dataset from its two .npy files, to write it in another format or to check delivered rows."""

import json

import numpy

HALF = 1 << 15
LABELS = 1000


class MappedRows:
    """`ids` [rows, width] int32 and `labels` [rows] int64, mapped; `sums` [rows] int64 on request."""

    def __init__(self, folder):
        described = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
        self.folder, self.count, self.width = folder, described["rows"], described["width"]
        self.bytes = described["bytes"]
        # In your own data, a row's label is its number.
        self.own = bool(described.get("path"))

    def chunks(self, size):
        """Copies of `size` rows and their labels at a time, in order."""
        ids = numpy.load(self.folder / "npy" / "ids.npy", mmap_mode="r")
        labels = numpy.load(self.folder / "npy" / "labels.npy")
        for start in range(0, self.count, size):
            yield numpy.array(ids[start : start + size]), labels[start : start + size]

    def fill(self, ids, labels):
        """Copy all rows into two arrays or similar, a chunk at a time."""
        start = 0
        for some, their_labels in self.chunks(4096):
            ids[start : start + len(some)] = some
            labels[start : start + len(some)] = their_labels
            start += len(some)

    def sums(self):
        return numpy.load(self.folder / "sums.npy")

    def labels_of(self, numbers):
        """The labels of rows by number."""
        return numbers if self.own else numbers % LABELS


class Contents:
    """Rows identified by their contents, for data without numbers and without labels.

    The first of equal rows represents all: `times` [rows] is how often each must come.
    """

    def __init__(self, sums):
        self.distinct, self.first, counts = numpy.unique(sums, return_index=True, return_counts=True)
        self.times = numpy.zeros(len(sums), numpy.uint32)
        self.times[self.first] = counts

    def numbers_of(self, sums):
        """The numbers of rows with these sums; some other number for an unknown row."""
        return self.first[numpy.searchsorted(self.distinct, sums).clip(max=len(self.distinct) - 1)]


def numbers_of(ids):
    """The numbers of delivered rows: ids [n, width] -> [n] int64."""
    return ids[:, 0].astype(numpy.int64) * HALF + ids[:, 1]


def sums_of(ids):
    """The sum of each row's bytes as 64-bit integers, modulo 2**64: ids [n, width] int32 -> [n] int64.

    With an odd width, the last id counts as one of them.
    """
    if ids.shape[1] % 2:
        return ids[:, :-1].copy().view(numpy.int64).sum(axis=1) + ids[:, -1]
    return ids.view(numpy.int64).sum(axis=1)
