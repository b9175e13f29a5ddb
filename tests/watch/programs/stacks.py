"""N threads that wait: kernel stacks, and little else."""

import sys
import threading
import time

threading.stack_size(64 << 10)
threads = [threading.Thread(target=time.sleep, args=(1.5,)) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
