"""Input files as bytes and lines: opened by name, decompressed, with what their readers share.

pyarrow is imported only for files that need it.
"""

import contextlib
import ctypes
import gzip
import io
import os
import zlib

from trouble import Refused

CHUNK = 1 << 18  # bytes per read: larger reads are not faster, and do not fit into the core's cache
BATCH_BYTES, BATCH_TEXTS = 1 << 16, 64  # texts to encode at once: they fit into a core's cache
HUGE = 1 << 20  # bytes from which a document is read as a stream


class Batch:
    """Some texts. `done`: bytes of input that they used; `where(i)`: the place of text i, for errors."""

    def __init__(self, texts, done, where):
        self.texts, self.done, self.where = texts, done, where


class Stream:
    """One document in pieces of text. `whole_bytes`: its size, if known."""

    def __init__(self, pieces, where, done=lambda: 0, whole_bytes=None):
        self.pieces, self.where, self.done, self.whole_bytes = pieces, where, done, whole_bytes


copies: dict[str, str] = {}
"""The paths of files by their names where these are not paths: of objects of stores, for the unit that is read."""


def path_of(file):
    return copies.get(file, file)


@contextlib.contextmanager
def refusing(file):
    """Turn errors of pyarrow and the system into one line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise Refused(f"{file}: not UTF-8 (0x{error.object[error.start]:02x})") from None
    except (OSError, ValueError, EOFError, zlib.error, LookupError, NotImplementedError) as error:
        message = " ".join(str(error).replace(path_of(file), file).split())[:300] or type(error).__name__
        if "bad_alloc" in message:
            raise MemoryError from None
        if isinstance(error, LookupError):  # of a table of ours: what it says is only a key
            message = f"damaged: {message} is unknown"
        raise Refused(f"{file}: cannot be read ({message})") from None


def unpacked(file, packing):
    """A file to read the content of an open one from."""
    if packing == "gzip":
        return gzip.GzipFile(fileobj=io.BufferedReader(file))  # a header is read byte by byte
    if packing:
        pyarrow = arrow_library()
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd")
    return file


class Source:
    """A file, decompressed, from a position on. `grown()`: bytes of the file read since the last call."""

    def __init__(self, file, packing, start=0, end=None):
        self.file, self.packing, self.reported, self.ended = file, packing, start, False
        size = os.stat(path_of(file)).st_size
        self.last = size if end is None else end  # bytes read ahead belong to the next span
        if packing and not size:
            raise Refused(f"{file}: empty, not a {packing} file")
        self.beneath = open(path_of(file), "rb", buffering=0)
        self.beneath.seek(start)
        self.opened = unpacked(self.beneath, packing)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.beneath.close()

    def into(self, view):
        """Read into a view and return the number of bytes; 0 at the end. Raises Refused."""
        try:
            count = self.opened.readinto(view)
        except (EOFError, OSError, zlib.error) as error:
            if not self.packing:
                raise
            message = " ".join(str(error).split())
            if "too much memory" in message:
                raise Refused(f"{self.file}: its zstd window is above 134 MB; pack it again without --long") from None
            if "not enough memory" in message:
                raise MemoryError from None
            raise Refused(f"{self.file}: truncated, or not a {self.packing} file ({message})") from None
        self.ended = not count
        return count

    def chunks(self):
        view = memoryview(bytearray(CHUNK))
        while count := self.into(view):
            yield bytes(view[:count])

    def grown(self):
        if self.packing == "zstd" and not self.ended:  # zstd reads ahead
            return 0
        now = self.last if self.ended else min(self.beneath.tell(), self.last)
        more, self.reported = now - self.reported, now
        return more


class Buffer:
    """The lines of a source, in a reused buffer.

    `raw[begin:end]`: bytes that are read but not used yet; `base`: the position of `raw[0]` in the decompressed file.
    """

    def __init__(self, source, base):
        self.source, self.base, self.begin, self.end = source, base, 0, 0
        self.room(2 * CHUNK)

    def room(self, size):
        self.raw = bytearray(size)
        self.view = memoryview(self.raw)

    def more(self):
        """Read more bytes; return whether there were any."""
        unread, left, size = self.view[self.begin : self.end], self.end - self.begin, 2 * CHUNK
        while left > size // 2:
            size *= 2
        if size != len(self.raw):
            self.room(size)
        self.view[:left] = unread
        self.base, self.begin = self.base + self.begin, 0
        self.end = left + self.source.into(self.view[left:])
        return self.end > left

    def line(self):
        """Yield the next line in chunks of bytes, without its line break."""
        while True:
            stop = self.raw.find(b"\n", self.begin, self.end)
            last = self.end if stop < 0 else stop
            chunk = bytes(self.view[self.begin : last])
            self.begin = last + (stop >= 0)
            yield chunk
            if stop >= 0 or not self.more():
                return


def arrow_library():
    """pyarrow with the system's allocator, because its own pool keeps freed memory, and without threads, whose stacks
    count against the memory limit."""
    import pyarrow

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    pyarrow.set_io_thread_count(1)
    pyarrow.set_cpu_count(1)
    return pyarrow


LIBC = ctypes.CDLL(None)
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


class Heap:
    """How much free memory stays with the C library. The kernel clears each page that it gives: reading Parquet takes a
    third less CPU time if freed pages are used again."""

    KEPT = 1 << 26  # bytes of input, or free bytes at the end of the heap, after which free memory goes back
    tight = True  # free memory goes back to the system at once

    @property
    def trim_bytes(self):
        """Bytes of input after which free memory goes back to the system."""
        return 1 << 22 if self.tight else self.KEPT

    def settle(self, tight):
        """Set what is kept, and one heap for all threads."""
        self.tight = tight
        if hasattr(LIBC, "mallopt"):
            LIBC.mallopt(M_ARENA_MAX, 1)
            LIBC.mallopt(M_MMAP_THRESHOLD, 1 << 20 if tight else 1 << 25)  # the largest that the C library takes
            LIBC.mallopt(M_TRIM_THRESHOLD, self.trim_bytes)


HEAP = Heap()


def trim():
    """Return free heap memory to the system if the C library can: new objects fill ever more of its gaps."""
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)
