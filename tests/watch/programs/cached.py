"""N MB written to a file on disk and read twice, with M MB of anonymous memory: heavy page cache."""

import os
import sys
import tempfile
import time

memory = bytearray(int(sys.argv[2]) * 1_000_000)
with tempfile.TemporaryFile(dir=sys.argv[3]) as file:
    for _ in range(int(sys.argv[1])):
        os.write(file.fileno(), memory[:1_000_000])
    for _ in range(2):
        file.seek(0)
        while file.read(1 << 20):
            pass
    time.sleep(0.3)
