"""N MB for a moment, K times over."""

import sys
import time

for _ in range(int(sys.argv[2])):
    held = bytearray(int(sys.argv[1]) * 1_000_000)
    del held
    time.sleep(0.1)
