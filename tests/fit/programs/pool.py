"""A pool of processes whose results the parent keeps."""

import multiprocessing
import sys

options = {name: int(value) for name, value in (word.split("=") for word in sys.argv[2:])}


def encoded(start):
    return [list(range(row, row + 16)) for row in range(start, start + options["chunk"])]


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(options["processes"]) as pool:
        results = list(pool.imap(encoded, range(0, options["rows"], options["chunk"])))
