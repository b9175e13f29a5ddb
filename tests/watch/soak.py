"""Run the watcher for a million samples.

    python soak.py SAMPLES HOURS LINES FOLDER

It watches a program until there are SAMPLES samples in HOURS hours. The watcher, its guard and its files are the real
ones, with one difference: instead of waiting for the next sample, the loop sets its clock forward.
It prints a line of JSON: the counts beside the watcher, and the watcher's anonymous memory during the run.
"""

import json
import re
import sys
import time
from pathlib import Path

from beyond_ram.records.run_files import COLUMNS
from beyond_ram.watch import WatchOptions, recorder, watch, write_record
from beyond_ram.watch.recorder import Recorder
from beyond_ram.watch.waiting import Waiting

READINGS = 200
# The command begins at most this much after this program.
LATER_S = 10
SPIKE = 90_000_000
# Memory goes up and down, children come and go, there are events, and one large spike.
PROGRAM = f"""
import json, os, sys, time
enough, events, n = sys.argv[1], os.environ["BEYOND_RAM_EVENTS"], 0
def tell(event, **said):
    with open(events, "a") as file:
        file.write(json.dumps({{"event": event, "monotonic_s": time.monotonic(), **said}}) + "\\n")
while not os.path.exists(enough):
    n += 1
    block = bytearray(100_000 * (1 + n % 97))
    time.sleep(0.001)
    if n % 50 == 0:
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {{}}), 0)
    if n % 1000 == 0:
        tell("phase", phase=f"part {{n // 1000 % 7}}")
    if n == 300:
        block = bytearray({SPIKE})
        time.sleep(0.2)
"""
KINDS = ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes")


class Clock:
    """The machine's clock, plus the time that it was set forward."""

    def __init__(self):
        self.ahead_s, self._machine = 0.0, time.monotonic

    def now(self):
        return self._machine() + self.ahead_s

    def forward_to(self, when_s):
        self.ahead_s += max(0.0, when_s - self.now())


def own_anon_bytes():
    match = re.search(r"^RssAnon:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert match
    return int(match[1]) << 10


def main():
    samples, hours, lines, folder = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    clock = Clock()
    time.monotonic = clock.now
    began_s = clock.now()
    real_s = time.perf_counter()
    highest, own, taken = dict.fromkeys(KINDS, 0), [], 0
    write, until = Recorder.write, Waiting.until

    def counted(self, row):
        nonlocal taken
        taken += 1
        for kind in KINDS:
            highest[kind] = max(highest[kind], row[COLUMNS.index(kind)])
        if taken % max(1, samples // READINGS) == 0:
            own.append((taken, own_anon_bytes()))
        if taken >= samples and clock.now() - began_s >= 3600 * hours + LATER_S:
            (folder / "enough").touch()
        write(self, row)

    def at_once(self, due_s, _):
        flags = until(self, 0.0, 0.0)
        if not any(flags):
            clock.forward_to(due_s)
        return flags

    Recorder.write, Waiting.until = counted, at_once
    folder.mkdir(parents=True)
    command = [sys.executable, "-I", "-S", "-B", "-c", PROGRAM, str(folder / "enough")]
    interval_ms = max(1, round(3_600_000 * hours / samples))
    recorder.MAX_LINES = lines
    record = watch(command, folder / "out", WatchOptions(interval_ms=interval_ms))
    write_record(record, folder / "out")
    result = {"taken": taken, "highest": highest, "own_anon_bytes": own, "real_s": time.perf_counter() - real_s}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
