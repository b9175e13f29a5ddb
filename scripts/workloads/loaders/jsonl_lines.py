"""JSON Lines, a line at a time. Every worker reads all of it and parses its share."""

import itertools
import json

import numpy
from torch.utils.data import IterableDataset

FORMAT, KIND, SHUFFLE = "jsonl", "corrected", "none"


class JsonlLines(IterableDataset):
    def __init__(self, path, how):
        self.path, self.how = path, how

    def __iter__(self):
        mine, count = self.how.places()
        with open(self.path, "rb") as lines:
            for number in itertools.count():
                some = list(itertools.islice(lines, self.how.batch_size))
                if not some:
                    return
                if number % count == mine:
                    rows = [json.loads(line) for line in some]
                    ids = numpy.array([row["ids"] for row in rows], numpy.int32)
                    yield ids, numpy.array([row["label"] for row in rows], numpy.int64)


def make(folder, how):
    if how.shuffled:
        how.cannot("a file of lines has no index: it can only be read from one end to the other")
    return how.stream(JsonlLines(folder / "tokens.jsonl", how))
