"""Touch N MB in transparent huge pages, one byte per 2 MiB."""

import ctypes
import mmap
import sys

from common import MB, not_applicable, phase  # type: ignore[import-not-found]

HUGE, MADV_HUGEPAGE, MADV_COLLAPSE = 2 << 20, 14, 25


def is_huge(address: int) -> bool:
    """Whether a mapping has nothing but huge pages."""
    sizes: dict[str, int] = {}
    inside = False
    with open("/proc/self/smaps", encoding="ascii", errors="replace") as smaps:  # noqa: PTH123 (as small as can be)
        for line in smaps:
            name, _, rest = line.partition(" ")
            if "-" in name:
                begin, end = (int(part, 16) for part in name.split("-"))
                inside = begin <= address < end
            elif inside:
                sizes[name] = int(rest.split()[0]) if rest.strip().endswith("kB") else 0
    return 0 < sizes["Rss:"] == sizes["AnonHugePages:"]


size = round(float(sys.argv[1]) * MB / HUGE) * HUGE
memory = mmap.mmap(-1, size + HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
first = -address % HUGE
memory.madvise(MADV_HUGEPAGE, 0, size + HUGE)
phase("filling")
for at in range(first, first + size, HUGE):
    memory[at] = 1
if not is_huge(address + first):
    # Where memory is fragmented, a page fault gets a small page, and the kernel may make it huge at any later time.
    try:
        memory.madvise(MADV_COLLAPSE, first, size)
    except OSError as error:
        not_applicable(f"the kernel had too few huge pages: {error.strerror}")
phase("full")
