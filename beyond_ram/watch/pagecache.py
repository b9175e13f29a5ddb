"""How much of a file is in the page cache; evict it without root; notice changes by other processes."""

import contextlib
import ctypes
import errno
import mmap
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
# Of sync_file_range(2): the whole file; write what is dirty, and wait for it.
_NONE, _WRITE_AND_WAIT = ctypes.c_int64(0), 7
# Readahead and the last page of a file cause changes up to this size.
_DRIFT_SHARE, _DRIFT_BYTES = 0.01, 4 << 20


class Residency(NamedTuple):
    resident_bytes: int
    total_bytes: int

    @property
    def share(self) -> float:
        return self.resident_bytes / self.total_bytes


def residency(paths: Iterable[Path]) -> Residency | None:
    """Bytes of the files in the page cache, in whole pages, by mincore(2); None for empty files.

    Raises OSError if a file cannot be opened or mapped.
    """
    resident = pages = 0
    for path in paths:
        # Without O_NONBLOCK, opening a FIFO would wait for a writer.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as handle:
            status = os.fstat(handle.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "no regular file", str(path))
            size = status.st_size
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
                # Only the lowest bit of each byte is defined.
                resident += (int.from_bytes(vector.raw) & int.from_bytes(b"\x01" * count)).bit_count()
                pages += count
            finally:
                _libc.munmap(address, size)
    return Residency(resident * mmap.PAGESIZE, pages * mmap.PAGESIZE) if pages else None


def evict(paths: Iterable[Path]) -> None:
    """Drop the files' pages from the page cache (POSIX_FADV_DONTNEED), after writing dirty ones."""
    for path in paths:
        with path.open("rb") as handle:
            # fdatasync flushes the disk's own cache too, which takes many times as long.
            if _libc.sync_file_range(handle.fileno(), _NONE, _NONE, _WRITE_AND_WAIT):
                os.fdatasync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fill(paths: Iterable[Path]) -> None:
    """Read the files once, so that they are in the page cache if they fit."""
    buffer = bytearray(1 << 20)
    for path in paths:
        with path.open("rb", buffering=0) as handle:
            while handle.readinto(buffer):
                pass


def read_ahead_bytes(paths: Iterable[Path]) -> int | None:
    """How far the kernel reads ahead on the device of the first file; None if it does not say.

    Read from /sys/class/bdi, which has file systems without a block device too.
    """
    with contextlib.suppress(OSError, ValueError, StopIteration):
        device = next(iter(paths)).stat().st_dev
        of_device = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        return 1024 * int(of_device.read_text())
    return None


def drift(before: Residency | None, after: Residency | None, read_bytes: int | None) -> str | None:
    """A one-sentence warning if residency changed by more than the watched tree can have caused; else None.

    `read_bytes` is what the tree read from storage, of all files; None if unknown. Another process read what became
    resident beyond that. What was dropped, another process or memory pressure dropped, or the tree itself evicted.
    """
    if before is None or after is None:
        return None
    grown = after.resident_bytes - before.resident_bytes
    limit = max(_DRIFT_BYTES, int(_DRIFT_SHARE * after.total_bytes))
    if read_bytes is not None and grown - read_bytes > limit:
        return (
            f"{(grown - read_bytes) / 1e6:,.0f} MB of the input became resident that this command did not read: "
            "another process read it"
        )
    if -grown > limit:
        return f"{-grown / 1e6:,.0f} MB of the input were dropped from the page cache during the run"
    return None


def record(before: Residency | None, after: Residency | None, read_bytes: int | None) -> dict[str, Any]:
    """The entry of run.json about the page cache of the inputs."""
    residency = after or before
    return {
        "input_bytes": residency.total_bytes if residency else None,
        "input_resident_before": before.share if before else None,
        "input_resident_after": after.share if after else None,
        "warning": drift(before, after, read_bytes),
    }
