"""N MB, then another program in the same process: what it held is gone, and the next one's peak is its own."""

import os
import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

size, then = whole_pages(float(sys.argv[1])), sys.argv[2]
phase("filling first")
memory = private(size)
touch(memory, size)
phase("full first")
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", sys.argv[3], then])
