"""N MB locked in memory: anonymous, or of a file in the folder (argv 3)."""

import ctypes
import mmap
import os
import sys
import tempfile
import time

size = int(sys.argv[1]) * 1_000_000
libc = ctypes.CDLL(None, use_errno=True)
libc.mlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
if sys.argv[2] == "anonymous":
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
else:
    with tempfile.TemporaryFile(dir=sys.argv[3]) as file:
        for _ in range(size // 1_000_000):
            os.write(file.fileno(), bytes(1_000_000))
        os.fsync(file.fileno())
        memory = mmap.mmap(file.fileno(), size)
if libc.mlock(ctypes.addressof(ctypes.c_char.from_buffer(memory)), size):
    sys.exit(f"mlock: {os.strerror(ctypes.get_errno())}")
time.sleep(0.5)
