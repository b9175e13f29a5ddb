"""N MB written to a file in /dev/shm, never mapped."""

import os
import sys
import tempfile
import time

with tempfile.TemporaryFile(dir="/dev/shm") as file:
    for _ in range(int(sys.argv[1])):
        os.write(file.fileno(), bytes(1_000_000))
    time.sleep(0.5)
