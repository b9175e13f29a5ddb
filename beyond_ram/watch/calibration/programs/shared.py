"""N MB of shared memory, written once and read by K workers: resident in each, in memory once."""

import mmap
import os
import sys

from common import PAGE, phase, touch, whole_pages  # type: ignore[import-not-found]

size, workers = whole_pages(float(sys.argv[1])), int(sys.argv[2])
memory = mmap.mmap(-1, size)
start, starting = os.pipe()
ready, done = os.pipe()
end, ending = os.pipe()


def read(part: int) -> None:
    for at in range(0, part, PAGE):
        memory[at]


for _ in range(workers):
    if os.fork() == 0:
        os.close(ending)
        read(PAGE)  # the worker's own code is resident before anything is counted
        os.write(done, b".")
        os.read(start, 1)
        read(size)
        os.write(done, b".")
        os.read(end, 1)  # ends with the parent's end of it
        os._exit(0)
for _ in range(workers):
    os.read(ready, 1)
phase("filling")
touch(memory, size)
os.write(starting, b"." * workers)
for _ in range(workers):
    os.read(ready, 1)
phase("full")
os.close(ending)
for _ in range(workers):
    os.wait()
memory.close()
phase("after")
