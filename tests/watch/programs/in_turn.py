"""K workers that share N MB. Each holds M MB of its own for a moment, one after another."""

import os
import sys
import time

memory = bytearray(int(sys.argv[1]) * 1_000_000)
workers = int(sys.argv[3])
for worker in range(workers):
    if os.fork() == 0:
        time.sleep(0.2 + 0.15 * worker)
        own = bytearray(int(sys.argv[2]) * 1_000_000)
        time.sleep(0.05)
        del own
        time.sleep(0.2 + 0.15 * (workers - worker))
        os._exit(0)
for _ in range(workers):
    os.wait()
