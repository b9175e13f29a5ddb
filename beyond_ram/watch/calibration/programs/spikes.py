"""Allocate N MB for 5 to 50 ms, once per phase: most spikes fall between two samples."""

import sys
import time

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

size, spikes = whole_pages(float(sys.argv[1])), int(sys.argv[2])
for spike in range(spikes):
    phase(f"spike {spike}")
    began = time.monotonic()
    memory = private(size)
    touch(memory, size)
    last_s = 0.005 + 0.045 * spike / max(spikes - 1, 1)
    time.sleep(max(0.0, last_s - (time.monotonic() - began)))
    memory.close()
phase("after")
