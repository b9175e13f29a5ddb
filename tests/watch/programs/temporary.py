"""K files of N MB on disk, written and deleted one after another, with M MB of anonymous memory."""

import os
import sys
import tempfile

memory = bytearray(int(sys.argv[3]) * 1_000_000)
for _ in range(int(sys.argv[2])):
    with tempfile.TemporaryFile(dir=sys.argv[4]) as file:
        for _ in range(int(sys.argv[1])):
            os.write(file.fileno(), memory[:1_000_000])
