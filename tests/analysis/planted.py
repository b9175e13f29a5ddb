"""A measured program of memory with a known owner, to test the teardown and the causes.

Standard library, and pyarrow for one case. Each epoch allocates `size_mb` as the case says:

flat           allocates and releases it
list           a Python list that the result keeps
cache          a functools.lru_cache of a function in a module
garbage        objects in reference cycles, with the collector switched off
c-leak         malloc'ed memory without a pointer to it
c-once         the same, in the first epoch only: a warm-up that looks like a leak until it is repeated
hidden         Python objects in a global that is no declared owner
fragmentation  many small blocks of which every eighth stays, so that the allocator cannot return their pages
arrow-pool     Arrow buffers, freed, that the pool keeps
mapped-file    a mapped file, read
"""

import ctypes
import functools
import gc
import mmap
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "workloads"))
import events
import release

MB = 1_000_000
BLOCK = 1000
HIDDEN = []


class Planted:
    """State of the cases: kept objects by owner."""

    def __init__(self, size, folder):
        self.size, self.folder = size, folder
        self.held = {"list": [], "mapped file": []}

    def flat(self, epoch):
        bytearray(os.urandom(1)) * self.size

    def list(self, epoch):
        self.held["list"].append([bytes(BLOCK) for _ in range(self.size // BLOCK)])

    def hidden(self, epoch):
        HIDDEN.append([str(number) * 50 for number in range(self.size // 400)])

    def cache(self, epoch):
        for number in range(self.size // BLOCK):
            remembered(epoch, number)

    def garbage(self, epoch):
        gc.disable()
        for _ in range(self.size // BLOCK):
            block = [bytes(BLOCK)]
            block.append(block)

    def c_leak(self, epoch):
        library = libc()
        for _ in range(self.size // BLOCK):
            library.memset(library.malloc(BLOCK), 1, BLOCK)

    def c_once(self, epoch):
        if not epoch:
            self.c_leak(epoch)

    def fragmentation(self, epoch):
        library = libc()
        blocks = [library.malloc(BLOCK // 2) for _ in range(2 * self.size // BLOCK)]
        for block in blocks:
            library.memset(block, 1, BLOCK // 2)
        for number, block in enumerate(blocks):
            if number % 8:  # the remaining one keeps its page
                library.free(block)

    def arrow_pool(self, epoch):
        import pyarrow

        buffers = [pyarrow.allocate_buffer(64 * 1024) for _ in range(self.size // (64 * 1024))]
        for buffer in buffers:
            ctypes.memset(buffer.address, 1, buffer.size)

    def mapped_file(self, epoch):
        path = self.folder / f"file{epoch}"
        with path.open("w+b") as file:
            file.truncate(self.size)
            mapped = mmap.mmap(file.fileno(), self.size)
        for at in range(0, self.size, mmap.PAGESIZE):
            mapped[at]
        self.held["mapped file"].append(mapped)


def libc():
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    return library


@functools.cache
def remembered(epoch, number):
    return bytes(BLOCK)


def main():
    args = events.arguments(__doc__, case=str, size_mb=int, epochs=int)
    case = getattr(Planted(args.size_mb * MB, args.work_dir), args.case.replace("-", "_"), None)
    if case is None:
        sys.exit(f"--case {args.case}: no such case")
    events.phase("import")
    if args.case == "arrow-pool":
        import pyarrow  # noqa: F401
    release.imported(["pyarrow"])
    held = work(args, case)
    release.teardown(held)


def work(args, case):
    events.phase("work")
    for epoch in range(args.epochs):
        case(epoch)
        events.mark("epoch", epoch=epoch, **events.own_memory())
    events.mark("work", rows=args.epochs, bytes_in=args.epochs * args.size_mb * MB, **events.own_memory())
    return {owner: things for owner, things in case.__self__.held.items() if things}


if __name__ == "__main__":
    events.run(main)
