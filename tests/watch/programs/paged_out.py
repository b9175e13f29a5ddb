"""N MB that the kernel is asked to page out to swap, then M MB more."""

import mmap
import sys
import time

MADV_PAGEOUT = 21
blocks = []
for size_mb in sys.argv[1:]:
    size = int(size_mb) * 1_000_000
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, size, 4096):
        memory[at] = 1
    if not blocks:
        memory.madvise(MADV_PAGEOUT, 0, size // 4096 * 4096)
    blocks.append(memory)
    time.sleep(0.5)
