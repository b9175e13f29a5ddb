"""Events of the watched command: read while it runs, written with the watcher's times and readings at the end."""

import json
from pathlib import Path
from typing import Any

VARIABLE = "BEYOND_RAM_EVENTS"
# What of a sample goes beside an event: the whole tree as it was right after the event.
READINGS = ("processes", "rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "pss_bytes", "uss_bytes", "cpu_s")


class Reader:
    """Reads the lines that programs append to the file that BEYOND_RAM_EVENTS names."""

    def __init__(self, path: Path, start_s: float) -> None:
        self.start_s = start_s
        self._file = path.open("rb")
        self._rest = b""

    def close(self) -> None:
        self._file.close()

    def new(self) -> list[dict[str, Any]]:
        """The events that came since the last call, each with `t_s`; a line that is no event is passed over."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        found = []
        for line in lines:
            try:
                event = json.loads(line)
                at = event.pop("monotonic_s")
                found.append({"t_s": round(at - self.start_s, 6), "event": event.pop("event"), **event})
            except (ValueError, KeyError, AttributeError):
                continue
        return found


def with_reading(event: dict[str, Any], row: dict[str, Any] | None) -> dict[str, Any]:
    """An event with the sample that was taken on seeing it, under `tree`."""
    if row is None:
        return event
    reading = {"t_s": row["t_s"], **{key: row[key] for key in READINGS if row[key] != ""}}
    return event | {"tree": reading}
