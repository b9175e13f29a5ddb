"""N MB, and K children one after another: forks that end at once, or another program (argv 3)."""

import os
import subprocess
import sys
import time

memory = bytearray(int(sys.argv[1]) * 1_000_000)
for _ in range(int(sys.argv[2])):
    if sys.argv[3] == "exec":
        subprocess.run(["true"], check=True)
    elif os.fork() == 0:
        time.sleep(0.02)
        os._exit(0)
    else:
        os.wait()
time.sleep(0.3)
