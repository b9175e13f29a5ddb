"""A list of objects of one page each, only looked at in K forked workers: counting references copies every page.

A bytes object of 4055 bytes takes 33 of header and 8 of malloc's: 4096, so that every object's counter has a page of
its own. RSS cannot see the growth, since the pages were resident in the workers before; PSS and USS can.
"""

import os
import sys

from common import PAGE, phase, whole_pages  # type: ignore[import-not-found]

count, workers = whole_pages(float(sys.argv[1])) // PAGE, int(sys.argv[2])
objects = [bytes(PAGE - 41) for _ in range(count)]
start, starting = os.pipe()
ready, done = os.pipe()
end, ending = os.pipe()


def look(some: list[bytes]) -> None:
    for _one in some:
        pass


for _ in range(workers):
    if os.fork() == 0:
        os.close(ending)
        look(objects[:1])  # the worker's own code is resident before anything is counted
        os.write(done, b".")
        os.read(start, 1)
        look(objects)
        os.write(done, b".")
        os.read(end, 1)
        os._exit(0)
for _ in range(workers):
    os.read(ready, 1)
phase("filling")
os.write(starting, b"." * workers)
for _ in range(workers):
    os.read(ready, 1)
phase("full")
os.close(ending)
for _ in range(workers):
    os.wait()
phase("after")
