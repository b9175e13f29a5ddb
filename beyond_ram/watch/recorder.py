"""samples.csv, bounded: however long the run, never more than a fixed number of lines.

A line is written for every `per_line` samples; it is the one among them with the highest RSS, a real reading, so
peaks survive and rss = anon + file + shmem holds in every line. When the file is full, neighbours are joined in the
same way and `per_line` doubles. 12 hours at 20 ms are 2.2 million samples: they end as 10,000 to 20,000 lines of some
100 bytes, one for every 128 samples. The first 400 s of a run at 20 ms are kept line by line.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

COLUMNS = (  # noqa: SIM905
    "t_s phase processes rss_bytes anon_bytes file_bytes shmem_bytes swap_bytes pss_bytes uss_bytes cpu_s read_bytes "
    "written_bytes minor_faults major_faults pss_anon_bytes"
).split()
MAX_LINES = 20_000
_RSS, _PSS = COLUMNS.index("rss_bytes"), COLUMNS.index("pss_bytes")
# PSS is rare, so a line that has it stands for its neighbours where it is this close to their peak.
_CLOSE = 0.99

Row = Sequence[object]


class Recorder:
    """Writes rows in the order of COLUMNS; an empty string stands for what was not sampled."""

    def __init__(self, path: Path, max_lines: int = MAX_LINES) -> None:
        self.path, self.max_lines = path, max_lines
        self.samples = self.lines = 0
        self.per_line = 1
        self._best: Row | None = None
        self._pending = 0
        self._file = self._new(path)

    def write(self, row: Row) -> None:
        self.samples += 1
        self._best = row if self._best is None else _better(self._best, row)
        self._pending += 1
        if self._pending >= self.per_line:
            self._put()

    def close(self) -> None:
        self._put()
        self._file.close()

    def _put(self) -> None:
        if self._best is None:
            return
        self._file.write(",".join(map(str, self._best)) + "\n")
        self._best, self._pending = None, 0
        self.lines += 1
        if self.lines >= self.max_lines:
            self._halve()

    def _halve(self) -> None:
        self._file.close()
        joined = self.path.with_name(self.path.name + ".joined")
        with self.path.open(encoding="utf-8") as old, self._new(joined) as new:
            next(old)
            self.lines = 0
            for row in _pairs(old):
                new.write(",".join(row))
                self.lines += 1
        joined.replace(self.path)
        self.per_line *= 2
        self._file = self.path.open("a", newline="", encoding="utf-8")

    @staticmethod
    def _new(path: Path) -> TextIO:
        file = path.open("w", newline="", encoding="utf-8", buffering=65536)
        file.write(",".join(COLUMNS) + "\n")
        return file


def _better(one: Row, other: Row) -> Row:
    high, low = (one, other) if int(str(one[_RSS])) >= int(str(other[_RSS])) else (other, one)
    if low[_PSS] != "" and high[_PSS] == "" and int(str(low[_RSS])) >= _CLOSE * int(str(high[_RSS])):
        return low
    return high


def _pairs(lines: Iterator[str]) -> Iterator[Sequence[str]]:
    """Rows of neighbouring lines, joined two by two."""
    for line in lines:
        first = line.split(",")
        second = next(lines, None)
        yield first if second is None else [str(value) for value in _better(first, second.split(","))]
