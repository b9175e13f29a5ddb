"""Touch N MB of memory that the kernel may give in transparent huge pages."""

import ctypes
import mmap
import sys

from common import MB, PAGE, phase, private  # type: ignore[import-not-found]

HUGE = 2 << 20
size = round(float(sys.argv[1]) * MB / HUGE) * HUGE
memory = private(size + HUGE)
first = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
memory.madvise(mmap.MADV_HUGEPAGE, 0, size + HUGE)
phase("filling")
for at in range(first, first + size, PAGE):
    memory[at] = 1
phase("full")
