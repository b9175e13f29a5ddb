"""Allocate N MB of anonymous memory and have the kernel page it out."""

import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

MADV_PAGEOUT = 21
size = whole_pages(float(sys.argv[1]))
memory = private(size)
touch(memory, size)
phase("filling")
memory.madvise(MADV_PAGEOUT, 0, size)
phase("full")
