"""Map and read N MB of a file dropped from the page cache, then unmap it: file pages, no anonymous ones."""

import mmap
import os
import sys
import tempfile

from common import PAGE, phase, whole_pages  # type: ignore[import-not-found]

size = whole_pages(float(sys.argv[1]))
with tempfile.TemporaryFile(dir=sys.argv[2]) as file:
    block = memoryview(os.urandom(1 << 16))
    for at in range(0, size, len(block)):
        os.write(file.fileno(), block[: size - at])
    os.fdatasync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    del block
    phase("filling")
    with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as memory:
        for at in range(0, size, PAGE):
            memory[at]
        phase("full")
    phase("after")
