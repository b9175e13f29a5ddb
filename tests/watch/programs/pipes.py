"""N full pipes of 64 KiB: kernel memory that no file in /proc/PID shows."""

import os
import resource
import sys
import time

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
for _ in range(int(sys.argv[1])):
    _, end = os.pipe()
    os.set_blocking(end, False)
    while True:
        try:
            os.write(end, bytes(1 << 16))
        except BlockingIOError:
            break
time.sleep(0.5)
