"""What the page cache holds of a file, and how to make it let go, without root."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def resident_share(paths: Iterable[Path]) -> float | None:
    """The share of the files' pages that the page cache holds, from 0 to 1, by mincore(2); None for no pages at all.

    Raises OSError where a file cannot be opened or mapped.
    """
    resident = pages = 0
    for path in paths:
        with path.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            if not size:
                continue
            address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle.fileno(), 0)
            if address in (None, ctypes.c_void_p(-1).value):
                raise OSError(ctypes.get_errno(), f"{path}: cannot be mapped")
            try:
                count = -(-size // mmap.PAGESIZE)
                vector = ctypes.create_string_buffer(count)
                if _libc.mincore(address, size, vector):
                    raise OSError(ctypes.get_errno(), f"{path}: mincore failed")
                resident += sum(byte & 1 for byte in vector.raw)
                pages += count
            finally:
                _libc.munmap(address, size)
    return resident / pages if pages else None


def evict(paths: Iterable[Path]) -> None:
    """Ask the kernel to drop the files' clean pages (POSIX_FADV_DONTNEED); dirty ones are written first."""
    for path in paths:
        with path.open("rb") as handle:
            os.fdatasync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
