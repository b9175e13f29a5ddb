"""Settings for every peer.

A peer is a module with LIBRARIES, whose versions are recorded; a function `tokenize(how)`, which writes the ids of all
documents below `how.out`, as its library documents it; and a function `documents(how)`, which reads them back, an array
a document, in the order of the files. What it cannot do for this tokenizer it says with `how.cannot`. Libraries are
imported on top, so that they are in no rate.
"""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path


class NotApplicableError(Exception):
    """This peer does not have the requested setting; the text is the reason."""


@dataclass
class How:
    files: list
    """JSON Lines, in order."""
    per_file: list
    """Documents of each."""
    tokenizer: str
    """Folder with tokenizer.json."""
    out: str
    workers: int
    batch_size: int
    """Documents handed to the tokenizer at once, where the library leaves that to its user."""

    def cannot(self, reason):
        raise NotApplicableError(reason)

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
        """The function that gives the ids of a list of texts, with as little else as this release can."""
        import encoders

        tokenizer = encoders.whole(Path(self.tokenizer))
        return lambda texts: encoders.ids_of_batch(tokenizer, texts)

    def dtype(self):
        """The smallest numpy type for every id."""
        import encoders

        return "<u2" if encoders.entries(Path(self.tokenizer)) <= 1 << 16 else "<u4"


class Flat:
    """Ids one after the other in `ids.bin`, and how many each document has in `lengths.bin`."""

    def __init__(self, how):
        self.ids, self.lengths = Path(how.out, "ids.bin"), Path(how.out, "lengths.bin")
        self.dtype = how.dtype()

    def write(self, batches):
        """Batches of arrays or lists of ids, of which nothing is kept."""
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
    """Documents out of flat ids, by where each ends."""
    for first, last in itertools.pairwise([0, *ends]):
        yield ids[first:last]


def lists(file):
    """Documents of a ParquetFile with a column of lists of ids."""
    for batch in file.iter_batches(64, columns=["input_ids"]):
        for document in batch.column("input_ids"):
            yield document.values.to_numpy(zero_copy_only=False)
