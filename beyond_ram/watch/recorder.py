"""samples.csv, bounded: never more than a fixed number of lines, however long the run.

Of every `per_line` samples, the one with the highest RSS is written, or one with PSS whose RSS is at most 1 % lower. It
is a real reading, so peaks are kept to 1 % and rss = anon + file + shmem holds in every line. When the file is full,
neighbouring lines are merged in the same way and `per_line` doubles. 12 hours at 20 ms are 2.2 million samples: they
end as 10,000 to 20,000 lines of some 100 bytes, one for every 128 samples. The first 400 s of a run at 20 ms are kept
line by line.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..records.run_files import COLUMNS
from .missing import Missing
from .outfile import OutFile

MAX_LINES = 20_000
_RSS, _PSS = COLUMNS.index("rss_bytes"), COLUMNS.index("pss_bytes")
# PSS is read seldom, so a line with PSS represents its neighbours if it is this close to their peak.
_CLOSE = 0.99

Row = Sequence[object]


class Recorder:
    """Writes rows in the order of COLUMNS; an empty string means not sampled."""

    def __init__(self, path: Path, missing: Missing | None = None) -> None:
        self.samples = self.lines = 0
        self.per_line = 1
        self.file = OutFile(path, missing)
        self._best: Row | None = None
        self._pending = 0
        self.file.append(",".join(COLUMNS) + "\n")

    def write(self, row: Row) -> None:
        self.samples += 1
        self._best = row if self._best is None else _better(self._best, row)
        self._pending += 1
        if self._pending >= self.per_line:
            self.put()

    def put(self) -> None:
        """Write the line for the samples since the last one."""
        if self._best is None:
            return
        row, self._best, self._pending = self._best, None, 0
        if self.lines >= 2 * MAX_LINES:
            raise RuntimeError("no room: its lines could not be joined")
        self.lines += 1
        self.file.append(_text(row))
        if self.lines >= MAX_LINES:
            self._halve()

    def close(self) -> None:
        self.put()
        self.file.close()

    def _halve(self) -> None:
        lines = csv.reader(line.decode() for line in io.BytesIO(self.file.content()))  # names contain no line break
        # One buffer, freed as a whole: thousands of small ones fragment the memory of a long run.
        joined, count = bytearray(_text(next(lines)).encode()), 0
        for row in _pairs(lines):
            joined += _text(row).encode()
            count += 1
        self.file.replace(joined)
        self.lines = count
        self.per_line *= 2


def _text(row: Row) -> str:
    """A row as a CSV line."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def _better(one: Row, other: Row) -> Row:
    high, low = (one, other) if int(str(one[_RSS])) >= int(str(other[_RSS])) else (other, one)
    if low[_PSS] != "" and high[_PSS] == "" and int(str(low[_RSS])) >= _CLOSE * int(str(high[_RSS])):
        return low
    return high


def _pairs(rows: Iterator[Row]) -> Iterator[Row]:
    """Merge neighbouring rows two by two."""
    for first in rows:
        second = next(rows, None)
        yield first if second is None else _better(first, second)
