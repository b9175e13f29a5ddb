"""How fast kept memory grows, and when it reaches a limit: during the run, and at its end."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from ..records.run_json import GrowthEntry
from ..units import duration, short_size

# Each bin keeps its highest reading, so a saw-tooth shows as its upper edge. When full, neighbours are merged.
_BINS, _FIRST_BIN_S = 64, 0.1
# The last half of the time is divided into parts; memory grows if each is higher than the one before by more than
# noise.
_PARTS = 5
_LEAST_S, _LEAST_BYTES, _LEAST_SHARE = 1.0, 8_000_000, 0.03
# Growth that slows down to less than this share of its rate is levelling off.
_STEADY = 0.5
LIMIT, AROUND, MACHINE = "limit", "around", "machine"


@dataclass(frozen=True)
class GrowthRate:
    """A rate of growth over the last half of the time."""

    bytes_per_s: float
    over_s: float
    now_bytes: int
    """The highest reading of the last part: the very last one may come when the program has freed memory at its end."""

    def reaches_in_s(self, size_bytes: int) -> float:
        """Seconds from that reading to this size; 0 if it is reached already."""
        return max(0.0, (size_bytes - self.now_bytes) / self.bytes_per_s)

    def record(self, ceiling: tuple[str, int] | None) -> dict[str, Any]:
        entry: dict[str, Any] = {"bytes_per_s": round(self.bytes_per_s), "over_s": round(self.over_s, 3)}
        entry |= {"now_bytes": self.now_bytes, "ceiling": None, "ceiling_bytes": None, "reaches_in_s": None}
        if ceiling:
            reaches_in_s = round(self.reaches_in_s(ceiling[1]), 1)
            entry |= {"ceiling": ceiling[0], "ceiling_bytes": ceiling[1], "reaches_in_s": reaches_in_s}
        return entry


class Trend:
    """The readings of a run, in a bounded number of bins."""

    def __init__(self) -> None:
        self._bins: dict[int, tuple[float, int]] = {}
        self._width_s = _FIRST_BIN_S

    def note(self, t_s: float, size_bytes: int) -> None:
        self._put(t_s, size_bytes)
        if len(self._bins) > _BINS:
            self._width_s *= 2
            readings, self._bins = list(self._bins.values()), {}
            for reading in readings:
                self._put(*reading)

    def _put(self, t_s: float, size_bytes: int) -> None:
        number = int(t_s / self._width_s)
        if number not in self._bins or size_bytes >= self._bins[number][1]:
            self._bins[number] = (t_s, size_bytes)

    def growth(self) -> GrowthRate | None:
        """The growth that still goes on; None for a level, a fall, or too short a time."""
        readings = list(self._bins.values())
        if not readings:
            return None
        end_s = readings[-1][0]
        late = [(t_s, size) for t_s, size in readings if t_s >= end_s / 2]
        if len(late) < 2 * _PARTS or late[-1][0] - late[0][0] < _LEAST_S / 2:
            return None
        edges = [len(late) * part // _PARTS for part in range(_PARTS + 1)]
        tops = [max(late[begin:end], key=lambda one: one[1]) for begin, end in pairwise(edges)]
        grown = tops[-1][1] - tops[0][1]
        rates = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(tops)]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for at, a in enumerate(tops) for b in tops[at + 1 :]]
        rate = median(slopes)
        if grown < max(_LEAST_BYTES, _LEAST_SHARE * tops[-1][1]) or min(rates) <= 0:
            return None
        if median(rates[-2:]) < _STEADY * rate:
            return None
        return GrowthRate(rate, late[-1][0] - late[0][0], tops[-1][1])


def unseen_bytes_per_s(size_bytes: float, duration_s: float) -> float:
    """The rate below which growth of so much memory is not told from noise in a run of this length."""
    return max(_LEAST_BYTES, _LEAST_SHARE * size_bytes) / (duration_s / 2 * (_PARTS - 1) / _PARTS)


def unseen(size_bytes: float, duration_s: float) -> str:
    """What a run without growth cannot exclude."""
    return f"growth below {unseen_bytes_per_s(size_bytes, duration_s) / 1e6:,.2g} MB/s would not be seen"


def ceiling(own_bytes: int | None, around_bytes: int | None, machine_bytes: int | None) -> tuple[str, int] | None:
    """The lowest limit that the growth can reach: the run's, its surrounding group's, or the machine's memory."""
    limits = ((LIMIT, own_bytes), (AROUND, around_bytes), (MACHINE, machine_bytes))
    return min(((name, size) for name, size in limits if size), key=lambda one: one[1], default=None)


def sentence(growth: GrowthEntry, outcome: str) -> str:
    """The rate at which a run grew, and the time to the limit if it may still be running."""
    rate = f"{growth['bytes_per_s'] / 1e6:,.3g} MB/s over the last {duration(growth['over_s'])}"
    at_bytes, in_s = growth["ceiling_bytes"], growth["reaches_in_s"]
    if not growth["ceiling"] or at_bytes is None or in_s is None or outcome != "detached":
        return rate
    names = {LIMIT: "the limit of ", AROUND: "the job's limit of ", MACHINE: "the machine's "}
    what = names.get(growth["ceiling"], "")
    ends = f"{what}{short_size(at_bytes)} in {duration(in_s)}"
    return f"{rate}; at that rate it reaches {ends}"
