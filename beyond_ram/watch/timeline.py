"""Memory over the time of a run: the highest of each tenth, and how much was copied on write."""

import csv
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..records.run_files import COLUMNS

PARTS = 10
COPYING = ("shared_anon_bytes", "copied_on_write_bytes", "shared_read_at_bytes")
"""The last one is the largest sum of anonymous memory over processes at which shared memory was read."""
_KINDS = ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "kept_bytes")
_AT = [COLUMNS.index(kind) for kind in _KINDS]
# Shared memory is a difference of two sums, each wrong by some pages per process and processor.
_UNMAPPED = 0.01


def of_lines(lines: Iterable[bytes], duration_s: float) -> list[dict[str, Any]]:
    """Parse lines of samples.csv. Returns for each tenth of the time its start and the maximum of each kind
    in bytes; None if unknown."""
    tenths: dict[int, list[int | None]] = {}
    for words in csv.reader(map(bytes.decode, lines)):
        part = min(PARTS - 1, int(PARTS * float(words[0]) / max(duration_s, 1e-9)))
        # A kind that is unknown in one line is unknown in all.
        sizes = [int(words[at]) if words[at] else None for at in _AT]
        pairs = zip(tenths.get(part, sizes), sizes, strict=True)
        tenths[part] = [None if a is None or b is None else max(a, b) for a, b in pairs]
    return [
        {"t_s": round(part * duration_s / PARTS, 3), **dict(zip(_KINDS, sizes, strict=True))}
        for part, sizes in sorted(tenths.items())
    ]


class _Reading(NamedTuple):
    processes: frozenset[int]
    anon_bytes: int
    shared_bytes: int


class Copying:
    """Anonymous memory that forked processes share, and how much of it they have copied, in bytes.

    `shared_bytes` is the largest excess of the sum over processes over the number of distinct pages. While the
    processes stay the same and none releases memory, only copying on write lowers that excess; `copied_bytes` adds
    these falls up. It is a lower bound, because copies before the first reading of a process are missing.
    """

    def __init__(self) -> None:
        self.shared_bytes = self.read_at_bytes = self._settled = self._copied = 0
        self._highest: _Reading | None = None

    @property
    def copied_bytes(self) -> int:
        return self._settled + self._copied

    def note(self, processes: frozenset[int], anon_bytes: int, once_bytes: int) -> None:
        """Add a reading: anonymous memory summed over processes, and with each page counted once."""
        now = _Reading(processes, anon_bytes, max(0, anon_bytes - once_bytes))
        self.shared_bytes = max(self.shared_bytes, now.shared_bytes)
        self.read_at_bytes = max(self.read_at_bytes, anon_bytes)
        then = self._highest
        same = then is not None and then.processes == processes
        if then is None or not same or anon_bytes < then.anon_bytes * (1 - _UNMAPPED):
            self._settled, self._copied, self._highest = self.copied_bytes, 0, now
        elif now.shared_bytes > then.shared_bytes:
            self._highest = now
        else:
            self._copied = max(self._copied, then.shared_bytes - now.shared_bytes)

    def record(self) -> dict[str, int]:
        return dict(zip(COPYING, (self.shared_bytes, self.copied_bytes, self.read_at_bytes), strict=True))
