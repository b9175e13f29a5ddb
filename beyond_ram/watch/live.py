"""The line that a terminal shows while a command runs."""

import math
import os
import time
from typing import Any

from .summary import megabytes

_EVERY_S = 0.5


class Line:
    """One line on stderr, renewed in place twice a second; gone at the end."""

    def __init__(self) -> None:
        self._shown_s = -math.inf

    def show(self, row: dict[str, Any], peak_bytes: int) -> None:
        now = time.monotonic()
        if now - self._shown_s < _EVERY_S:
            return
        self._shown_s = now
        os.write(2, f"\r\x1b[K{text(row, peak_bytes)}".encode())

    def clear(self) -> None:
        if self._shown_s > -math.inf:
            os.write(2, b"\r\x1b[K")


def text(row: dict[str, Any], peak_bytes: int) -> str:
    minutes, seconds = divmod(int(row["t_s"]), 60)
    hours, minutes = divmod(minutes, 60)
    if "" in (row["anon_bytes"], row["shmem_bytes"], row["file_bytes"]):
        kinds = f"RSS {megabytes(row['rss_bytes'])}"
    else:
        kinds = f"anonymous {megabytes(row['anon_bytes'] + row['shmem_bytes'])} · file {megabytes(row['file_bytes'])}"
    return f"{kinds} · peak {megabytes(peak_bytes)} · {hours}:{minutes:02}:{seconds:02}"
