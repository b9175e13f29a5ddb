"""Allocate N MB in eight threads of one process at once."""

import sys
import threading

from common import PAGE, phase, private, touch, whole_pages  # type: ignore[import-not-found]

THREADS = 8
part = whole_pages(float(sys.argv[1]) / THREADS)
mappings: list[object] = []


def take() -> None:
    memory = private(part)
    touch(memory, part, PAGE)
    mappings.append(memory)


phase("filling")
threads = [threading.Thread(target=take) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
phase("full")
