"""A pool of K spawned workers that share nothing, N MB in each."""

import multiprocessing
import sys
import time


def hold(size):
    memory = bytearray(size)
    time.sleep(0.5)
    return len(memory)


if __name__ == "__main__":
    workers = int(sys.argv[2])
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(hold, [int(sys.argv[1]) * 1_000_000] * workers, chunksize=1)
