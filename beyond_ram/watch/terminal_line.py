"""The line that a terminal shows while a command runs."""

import math
import os
import time
from typing import TYPE_CHECKING, Any

from ..units import duration, short_size
from . import trend
from .summary import megabytes

if TYPE_CHECKING:
    from .sampler import Sampler

_EVERY_S = 0.5


class LiveLine:
    """One line on stderr, renewed in place twice a second and cleared at the end."""

    def __init__(self) -> None:
        self._shown_s = -math.inf

    def show(self, row: dict[str, Any], sampler: "Sampler", ceiling: tuple[str, int] | None) -> None:
        now = time.monotonic()
        if now - self._shown_s < _EVERY_S:
            return
        self._shown_s = now
        line = text(row, sampler.peaks.highest_rss_bytes, sampler.trend.growth(), ceiling)
        os.write(2, f"\r\x1b[K{line}".encode())

    def clear(self) -> None:
        if self._shown_s > -math.inf:
            os.write(2, b"\r\x1b[K")


def text(
    row: dict[str, Any], peak_bytes: int, growth: trend.GrowthRate | None = None, ceiling: tuple[str, int] | None = None
) -> str:
    minutes, seconds = divmod(int(row["t_s"]), 60)
    hours, minutes = divmod(minutes, 60)
    if "" in (row["anon_bytes"], row["shmem_bytes"], row["file_bytes"]):
        kinds = f"RSS {megabytes(row['rss_bytes'])}"
    elif row.get("kept_bytes", "") != "":
        kinds = f"kept {megabytes(row['kept_bytes'])} · file {megabytes(row['file_bytes'])}"
    else:
        kinds = f"anonymous {megabytes(row['anon_bytes'] + row['shmem_bytes'])} · file {megabytes(row['file_bytes'])}"
    rising = f" · +{growth.bytes_per_s / 1e6:,.3g} MB/s" if growth else ""
    if growth and ceiling:
        rising += f", {short_size(ceiling[1])} in {duration(growth.reaches_in_s(ceiling[1]))}"
    return f"{kinds} · peak RSS {megabytes(peak_bytes)} · {hours}:{minutes:02}:{seconds:02}{rising}"
