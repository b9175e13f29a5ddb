"""Events of the watched command: read while it runs, written with the watcher's times and readings at the end."""

import json
from pathlib import Path
from typing import Any

VARIABLE = "BEYOND_RAM_EVENTS"
# What of a sample goes beside an event: the whole tree as it was right after the event.
READINGS = (
    "processes",
    "rss_bytes",
    "anon_bytes",
    "file_bytes",
    "shmem_bytes",
    "swap_bytes",
    "pss_bytes",
    "uss_bytes",
    "pss_anon_bytes",
    "cpu_s",
    "read_bytes",
    "major_faults",
)


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
                found.append({"t_s": round(max(0.0, at - self.start_s), 6), "event": str(event.pop("event")), **event})
            except (ValueError, KeyError, AttributeError, TypeError):
                continue
        return found


class Log:
    """events.jsonl, written as events come; keeps only what the record needs of them, however many there are."""

    _NAMES_KEPT, _PROCESSES_KEPT = 1000, 10_000

    def __init__(self, path: Path) -> None:
        self.last: dict[str, dict[str, Any]] = {}
        self.hwm_bytes: dict[int, int] = {}
        self.has_phases = False
        self._path, self._ordered, self._latest_s = path, True, 0.0
        self._file = path.open("w", encoding="utf-8")

    def write(self, events: list[dict[str, Any]]) -> None:
        for event in sorted(events, key=lambda event: event["t_s"]):
            self._file.write(json.dumps(event, ensure_ascii=False) + "\n")
            self._ordered &= event["t_s"] >= self._latest_s
            self._latest_s = max(self._latest_s, event["t_s"])
            self.has_phases |= event["event"] == "phase"
            if event["event"] in self.last or len(self.last) < self._NAMES_KEPT:
                self.last[event["event"]] = event
            mark, pid = event.get("hwm_bytes"), event.get("pid")
            if isinstance(mark, int) and isinstance(pid, int) and len(self.hwm_bytes) < self._PROCESSES_KEPT:
                self.hwm_bytes[pid] = max(mark, self.hwm_bytes.get(pid, 0))

    def close(self) -> None:
        """Close the file; where several processes' events came out of order, put its lines in order first."""
        self._file.close()
        if not self._ordered:
            lines = self._path.read_text(encoding="utf-8").splitlines()
            lines.sort(key=lambda line: json.loads(line)["t_s"])
            self._path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def with_reading(event: dict[str, Any], row: dict[str, Any] | None) -> dict[str, Any]:
    """An event with the sample that was taken on seeing it, under `tree`."""
    if row is None:
        return event
    reading = {"t_s": row["t_s"], **{key: row[key] for key in READINGS if row[key] != ""}}
    return event | {"tree": reading}
