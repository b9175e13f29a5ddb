"""A child in its own session outlives its parent, then allocates N MB."""

import os
import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]

size = whole_pages(float(sys.argv[1]))
alive, parents = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.close(parents)
    os.read(alive, 1)  # returns when the parent has ended
    phase("filling")
    memory = private(size)
    touch(memory, size)
    phase("full")
    os._exit(0)
phase("parent")
