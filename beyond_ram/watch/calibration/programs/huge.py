"""Touch N MB in transparent huge pages (argv 2: thp) or reserved ones (hugetlb), one byte per 2 MiB."""

import ctypes
import mmap
import sys

from common import MB, phase  # type: ignore[import-not-found]

HUGE, MAP_HUGETLB, MADV_HUGEPAGE = 2 << 20, 0x40000, 14
size = round(float(sys.argv[1]) * MB / HUGE) * HUGE
flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
if sys.argv[2] == "hugetlb":
    memory, first = mmap.mmap(-1, size, flags | MAP_HUGETLB), 0
else:
    memory = mmap.mmap(-1, size + HUGE, flags)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    first = -address % HUGE
    memory.madvise(MADV_HUGEPAGE, 0, size + HUGE)
phase("filling")
for at in range(first, first + size, HUGE):
    memory[at] = 1
phase("full")
