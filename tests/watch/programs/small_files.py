"""N MB in tmpfs, in files of 20 kB."""

import sys
import tempfile
import time
from pathlib import Path

with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    for number in range(int(sys.argv[1]) * 50):
        Path(folder, str(number)).write_bytes(bytes(20_000))
    time.sleep(0.5)
