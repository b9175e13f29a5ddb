"""A list of one-page objects, read by K forked workers: counting references copies every page.

A bytes object of 4055 bytes takes 33 of header and 8 of malloc's: 4096, so each object's counter has its own page. RSS
does not show the growth, because the pages were resident in the workers before; PSS and USS do.
"""

import sys

from common import PAGE, by_workers, phase, whole_pages  # type: ignore[import-not-found]

count, workers = whole_pages(float(sys.argv[1])) // PAGE, int(sys.argv[2])
objects = [bytes(PAGE - 41) for _ in range(count)]


def look(some: list[bytes]) -> None:
    for _one in some:
        pass


by_workers(workers, lambda: look(objects[:1]), lambda: look(objects), lambda: None)
phase("after")
