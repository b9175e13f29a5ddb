"""N GB of addresses, of which one page in 2 MiB is read: page tables, and little resident memory."""

import mmap
import sys
import time

MAP_NORESERVE = 0x4000
size = int(sys.argv[1]) << 30
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
for at in range(0, size, 2 << 20):
    memory[at]
time.sleep(0.5)
