"""Counts words of records in worker processes: the program of docs/tutorial.md. It needs more memory than it should.

python examples/out_of_memory.py [--records N] [--workers N] [--packed]
"""

import argparse
import multiprocessing
import random
from array import array

RECORDS = []  # filled before the workers are forked, so they inherit it


class Packed:
    """Any number of texts in two objects: one block of bytes, and the offset of each text."""

    def __init__(self, texts):
        self.block, self.begins = bytearray(), array("Q", [0])
        for text in texts:
            self.block += text.encode()
            self.begins.append(len(self.block))

    def __getitem__(self, number):
        return self.block[self.begins[number] : self.begins[number + 1]].decode()


def texts(count):
    """Yield texts, as if read from a file."""
    for number in range(count):
        yield f"record {number} " + "some words of its text " * 8


def words(numbers):
    return sum(len(RECORDS[0][number].split()) for number in numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--packed", action="store_true", help="keep the texts in two objects, not one object each")
    how = parser.parse_args()
    RECORDS.append(Packed(texts(how.records)) if how.packed else list(texts(how.records)))
    order = list(range(how.records))
    random.Random(1).shuffle(order)
    batches = [order[first : first + 1000] for first in range(0, how.records, 1000)]
    with multiprocessing.get_context("fork").Pool(how.workers) as pool:
        print(sum(pool.imap_unordered(words, batches)), "words")


if __name__ == "__main__":
    main()
