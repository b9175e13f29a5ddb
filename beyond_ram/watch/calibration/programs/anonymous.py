"""Allocate N MB of anonymous memory, write every page, keep it, release it."""

import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

size = whole_pages(float(sys.argv[1]))
phase("filling")
memory = private(size)
touch(memory, size)
phase("full")
memory.close()
phase("after")
