"""N MB for a moment, K times over."""

import sys
import time

for _ in range(int(sys.argv[2])):
    memory = bytearray(int(sys.argv[1]) * 1_000_000)
    del memory
    time.sleep(0.1)
