"""Memory over the time of a run: the maximum of each tenth, and what was copied on write."""

import csv
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..run_files import COLUMNS

PARTS = 10
COPYING = ("shared_anon_bytes", "copied_on_write_bytes")
_KINDS = ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "kept_bytes")
_AT = [COLUMNS.index(kind) for kind in _KINDS]
# Shared memory is a difference of two sums, each with an error of some pages per process and processor.
_UNMAPPED = 0.01


def of_lines(lines: Iterable[bytes], duration_s: float) -> list[dict[str, Any]]:
    """From the lines of samples.csv: for each tenth of the time, its start and the maximum of each kind in bytes; None
    if unknown."""
    highest: dict[int, list[int | None]] = {}
    for words in csv.reader(map(bytes.decode, lines)):
        part = min(PARTS - 1, int(PARTS * float(words[0]) / max(duration_s, 1e-9)))
        # A kind that is unknown in one line is unknown in all.
        sizes = [int(words[at]) if words[at] else None for at in _AT]
        pairs = zip(highest.get(part, sizes), sizes, strict=True)
        highest[part] = [None if one is None or other is None else max(one, other) for one, other in pairs]
    return [
        {"t_s": round(part * duration_s / PARTS, 3), **dict(zip(_KINDS, sizes, strict=True))}
        for part, sizes in sorted(highest.items())
    ]


class _Reading(NamedTuple):
    processes: frozenset[int]
    anon_bytes: int
    shared_bytes: int


class Copying:
    """Anonymous memory that forked processes share, and that they no longer share, in bytes.

    `shared_bytes` is how much more the sum over processes was than the pages there were, at its highest. While the same
    processes are there and none gives memory back, it becomes less by what is copied on write alone: `copied_bytes`
    adds that up. What is copied before the first reading of a process is not in it: a lower bound.
    """

    def __init__(self) -> None:
        self.shared_bytes = self._settled = self._copied = 0
        self._highest: _Reading | None = None

    @property
    def copied_bytes(self) -> int:
        return self._settled + self._copied

    def note(self, processes: frozenset[int], anon_bytes: int, once_bytes: int) -> None:
        """One reading: the sum of anonymous memory over processes, and the same with each page counted once."""
        now = _Reading(processes, anon_bytes, max(0, anon_bytes - once_bytes))
        self.shared_bytes = max(self.shared_bytes, now.shared_bytes)
        then = self._highest
        same = then is not None and then.processes == processes
        if then is None or not same or anon_bytes < then.anon_bytes * (1 - _UNMAPPED):
            self._settled, self._copied, self._highest = self.copied_bytes, 0, now
        elif now.shared_bytes > then.shared_bytes:
            self._highest = now
        else:
            self._copied = max(self._copied, then.shared_bytes - now.shared_bytes)

    def record(self) -> dict[str, int]:
        return dict(zip(COPYING, (self.shared_bytes, self.copied_bytes), strict=True))
