"""Settings for every peer.

A peer is a module with a function `tokenize(how)`, which writes the ids of all
documents below `how.out`, in the way its library documents; and a function `documents(how)`, which reads them back, an
array per document, in the order of the files. It calls `how.cannot` if it cannot use this tokenizer. Libraries are
imported at the top, so that imports count in no rate.
"""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path


class CannotRunError(Exception):
    """This peer does not have the requested setting; the text is the reason."""


@dataclass
class Task:
    files: list
    """JSON Lines, in order."""
    per_file: list
    """Number of documents in each file."""
    tokenizer: str
    """Folder with tokenizer.json."""
    out: str
    workers: int
    batch_size: int
    """Documents handed to the tokenizer at once, if the library lets its user decide."""

    def cannot(self, reason):
        raise CannotRunError(reason)

    def texts(self, files=None):
        """The documents of some files, one at a time."""
        for file in self.files if files is None else files:
            with open(file, encoding="utf-8") as lines:
                for line in lines:
                    yield json.loads(line)["text"]

    def batches(self, files=None):
        """Lists of at most `batch_size` documents."""
        texts = self.texts(files)
        while batch := list(itertools.islice(texts, self.batch_size)):
            yield batch

    def encoder(self):
        """A function that returns the ids of a list of texts, with the least extra work in this release."""
        import encoders

        tokenizer = encoders.whole(Path(self.tokenizer))
        return lambda texts: encoders.ids_of_batch(tokenizer, texts)

    def dtype(self):
        """The smallest numpy type for every id."""
        import encoders

        return "<u2" if encoders.entries(Path(self.tokenizer)) <= 1 << 16 else "<u4"


class FlatIds:
    """FlatIds ids in `ids.bin`, and the length of each document in `lengths.bin`."""

    def __init__(self, how):
        self.ids, self.lengths = Path(how.out, "ids.bin"), Path(how.out, "lengths.bin")
        self.dtype = how.dtype()

    def write(self, batches):
        """Write batches of arrays or lists of ids; keep none of them."""
        import numpy

        with open(self.ids, "wb") as ids, open(self.lengths, "wb") as lengths:
            for batch in batches:
                for document in batch:
                    ids.write(numpy.asarray(document, self.dtype).tobytes())
                    lengths.write(len(document).to_bytes(8, "little"))

    def documents(self):
        import numpy

        ends = numpy.cumsum(numpy.fromfile(self.lengths, "<u8"), dtype="u8").tolist()
        ids = numpy.memmap(self.ids, self.dtype, "r") if self.ids.stat().st_size else numpy.zeros(0, self.dtype)
        return cut(ids, ends)


def cut(ids, ends):
    """Documents from flat ids, by the end of each."""
    for first, last in itertools.pairwise([0, *ends]):
        yield ids[first:last]


def lists(file):
    """Documents of a ParquetFile with a column of lists of ids."""
    for batch in file.iter_batches(64, columns=["input_ids"]):
        for document in batch.column("input_ids"):
            yield document.values.to_numpy(zero_copy_only=False)
