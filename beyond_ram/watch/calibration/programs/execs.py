"""Allocate N MB, then exec another program. exec frees the memory; the next peak belongs to the new program."""

import os
import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

size, then = whole_pages(float(sys.argv[1])), sys.argv[2]
phase("filling first")
memory = private(size)
touch(memory, size)
phase("full first")
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", sys.argv[3], then])
