"""N MB written to a memfd, never mapped."""

import os
import sys
import time

file = os.memfd_create("measured")
for _ in range(int(sys.argv[1])):
    os.write(file, bytes(1_000_000))
time.sleep(0.5)
