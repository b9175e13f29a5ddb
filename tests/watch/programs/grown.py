"""A buffer that grows by M MB at a time to N MB."""

import sys
import time

memory = bytearray()
while len(memory) < int(sys.argv[1]) * 1_000_000:
    memory.extend(bytes(int(sys.argv[2]) * 1_000_000))
    time.sleep(0.01)
