"""N MB that K forked workers share. Each writes one page in STEP (0: none), some at a time."""

import mmap
import os
import sys
import time

size, workers, step = int(sys.argv[1]) * 1_000_000, int(sys.argv[2]), int(sys.argv[3])
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at] = 1
for _ in range(workers):
    if os.fork() == 0:
        for at in range(0, size if step else 0, 4096 * max(step, 1)):
            memory[at] = 2
            if at % (4096 * step * 1000) == 0:
                time.sleep(0.01)
        time.sleep(1)
        os._exit(0)
for _ in range(workers):
    os.wait()
