"""N MB shared by a tree of forks, two children each, K levels deep."""

import os
import sys
import time

memory = bytearray(int(sys.argv[1]) * 1_000_000)
for _ in range(int(sys.argv[2])):
    if os.fork() and os.fork():
        os.wait()
        os.wait()
        os._exit(0)
time.sleep(1)
