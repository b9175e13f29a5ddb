"""A file of N MB, mapped privately and written in memory."""

import mmap
import os
import sys
import tempfile
import time

size = int(sys.argv[1]) * 1_000_000
with tempfile.TemporaryFile(dir=sys.argv[2]) as file:
    for _ in range(int(sys.argv[1])):
        os.write(file.fileno(), bytes(1_000_000))
    memory = mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE)
    for at in range(0, size, 4096):
        memory[at] = 1
    time.sleep(0.5)
