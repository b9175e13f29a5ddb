"""Write N MB of shared memory once and read it in K workers: resident in each, in memory once."""

import mmap
import sys

from common import PAGE, by_workers, phase, touch, whole_pages  # type: ignore[import-not-found]

size, workers = whole_pages(float(sys.argv[1])), int(sys.argv[2])
memory = mmap.mmap(-1, size)


def read(part: int) -> None:
    for at in range(0, part, PAGE):
        memory[at]


by_workers(workers, lambda: read(PAGE), lambda: read(size), lambda: touch(memory, size))
memory.close()
phase("after")
