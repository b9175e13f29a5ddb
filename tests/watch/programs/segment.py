"""N MB of shared memory by name, written by one of K workers and read by all of them."""

import os
import sys
import time
from multiprocessing.shared_memory import SharedMemory

size, workers = int(sys.argv[1]) * 1_000_000, int(sys.argv[2])
segment = SharedMemory(create=True, size=size)
for worker in range(workers):
    if os.fork() == 0:
        part = size // workers
        segment.buf[worker * part : (worker + 1) * part] = bytes([worker]) * part
        time.sleep(0.3)
        sum(segment.buf[at] for at in range(0, size, 4096))
        time.sleep(0.3)
        os._exit(0)
for _ in range(workers):
    os.wait()
segment.close()
segment.unlink()
