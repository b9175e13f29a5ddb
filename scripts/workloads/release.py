"""Memory of allocators: what they have handed out, and to return what they keep unused. Standard library only."""

import ctypes
import gc
import sys

_FIELDS = ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


def heap():
    """Bytes that glibc's malloc has handed out and bytes that it keeps unused; empty with another allocator.

    Source: mallinfo2(3). `in_use_bytes` includes blocks with a mapping of their own.
    """
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return {}
    function.restype = _Mallinfo
    info = function()
    if not info.uordblks and not info.hblkhd:  # another allocator replaces malloc
        return {}
    return {"in_use_bytes": info.uordblks + info.hblkhd, "unused_bytes": info.fordblks}


def arrow_pool():
    """Bytes that Arrow's default pool has handed out; None if Arrow is not loaded."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow.total_allocated_bytes() if pyarrow else None


def unused_arrow():
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow and hasattr(pyarrow.default_memory_pool(), "release_unused"):
        pyarrow.default_memory_pool().release_unused()


def trim():
    """Return the memory that glibc's malloc keeps unused; does nothing with another allocator."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


def tidy():
    gc.collect()
    unused_arrow()
    trim()
