"""Run K children one after the other; each allocates N MB and ends before most samples see it."""

import os
import sys

from common import phase, private, touch, whole_pages  # type: ignore[import-not-found]
from phases import emit


def resident_bytes() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 (as small as can be)
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


size, children = whole_pages(float(sys.argv[1])), int(sys.argv[2])
reading, writing = os.pipe()
phase("filling")
most = 0
for _ in range(children):
    if os.fork() == 0:
        before = resident_bytes()
        memory = private(size)
        touch(memory, size)
        os.write(writing, before.to_bytes(8, "little"))
        os._exit(0)
    most = max(most, int.from_bytes(os.read(reading, 8), "little"))
    os.wait()
usage = os.times()
emit("truth", children=children, one_process_bytes=most + size, cpu_s=sum(usage[:4]))
phase("after")
