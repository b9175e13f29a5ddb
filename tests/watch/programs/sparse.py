"""N GB of addresses, one page read in each 2 MiB: page tables, and next to nothing resident."""

import mmap
import sys
import time

MAP_NORESERVE = 0x4000
size = int(sys.argv[1]) << 30
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
for at in range(0, size, 2 << 20):
    memory[at]
time.sleep(0.5)
