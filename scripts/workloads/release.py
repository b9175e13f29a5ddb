"""The teardown: release a workload's owners one at a time at its end. Standard library only.

A workload returns the objects that it keeps as a dict of lists, by owner, in release order: an owner can only free what
no later one keeps. `teardown` emits an event `released` after each step, and the watcher adds the memory, read from
outside. The first steps release no owner: unused memory of the Arrow pool, unused memory of the allocator, Python's
unreachable cycles. These three are released again after each later step, so that the memory freed with an owner belongs
to it.
"""

import ctypes
import gc
import re
import sys

import events

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


def allocated():
    """Bytes in use by the allocators' own count: evidence besides the kernel's readings, not a replacement."""
    return {"heap": heap(), "arrow_bytes": arrow_pool(), "python_blocks": sys.getallocatedblocks()}


def imported(packages, **fields):
    """Emit the end of the imports: the versions of some packages, and the memory before the work."""
    events.emit("provenance", versions=events.versions(packages), **fields)
    events.mark("imported", **events.own_memory(), **allocated())


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


def caches():
    """Empty the caches of imported modules: every functools.lru_cache, re, linecache, fsspec's instances."""
    for thing in gc.get_objects():
        if type(thing).__name__ == "_lru_cache_wrapper":
            thing.cache_clear()
    re.purge()
    if "linecache" in sys.modules:
        sys.modules["linecache"].clearcache()
    if "fsspec" in sys.modules:
        sys.modules["fsspec"].AbstractFileSystem.clear_instance_cache()


def teardown(held):
    """Release everything in `held`, {owner: [objects]}, owner by owner. `held` is empty at the end."""
    events.phase("release")
    _mark_released(0, "nothing")
    steps = [("arrow pool, unused", unused_arrow), ("allocator, unused", trim), ("garbage", tidy)]
    for number, (owner, free) in enumerate(steps, start=1):
        free()
        _mark_released(number, owner)
    for owner in list(held):
        del held[owner][:]
        del held[owner]
        tidy()
        number += 1
        _mark_released(number, owner)
    caches()
    tidy()
    _mark_released(number + 1, "caches of modules")


def _mark_released(step, owner):
    events.mark("released", rung=step, owner=owner, **allocated())
