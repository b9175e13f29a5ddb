"""Events of the watched command: read while it runs, written at the end with the watcher's times and readings."""

import json
import math
import os
import time
from pathlib import Path
from typing import Any

from .. import mask_secrets
from .missing import Missing
from .outfile import OutFile

VARIABLE = "BEYOND_RAM_EVENTS"
READ = ".read"
"""Suffix of the file by whose length the watcher shows how much of the events it has read, and the memory after it."""
# The values of a sample beside an event: the process tree right after the event.
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
    "pss_shmem_bytes",
    "kept_bytes",
    "cpu_s",
    "read_bytes",
    "major_faults",
)
LINE_BYTES = 1 << 20
"""The longest line that counts as an event, in bytes."""
PLAIN = b"phase "
"""The prefix of lines from programs that cannot write JSON; the rest is the name of a phase."""
_LONGEST_PHASE = 10_000  # characters in which secrets are looked for; the rest is dropped
# Programs round their times.
_EARLY_S = 1.0
# Fields that only the watcher sets.
_OURS = ("t_s", "event", "tree", "monotonic_s")


class EventReader:
    """Reads the lines that programs append to the file that BEYOND_RAM_EVENTS names."""

    def __init__(self, path: Path, start_s: float, missing: Missing | None = None) -> None:
        self.start_s = start_s
        self._path, self._missing = path, missing or Missing()
        self._descriptor = -1
        self.at = 0
        """Number of bytes read so far."""
        self._rest, self._too_long = b"", False
        self._lines: list[bytes] = []
        self._shown = 0

    def close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def show(self) -> None:
        """Let programs that wait at an event go on: it was read, and the memory after it."""
        if self.at > self._shown:
            os.truncate(f"{self._path}{READ}", self.at)
            self._shown = self.at

    def new(self) -> list[dict[str, Any]]:
        """The events since the last call, each with `t_s`, from at most 1 MB of lines. A line that is no event is
        skipped, with a note."""
        if not self._lines:
            self._read()
        new_events = []
        while self._lines:
            with self._missing.step("events"):
                if event := self._event(self._lines[0]):
                    new_events.append(event)
            del self._lines[0]
        return new_events

    @property
    def unfinished(self) -> bool:
        """Whether the last line has no line end."""
        return bool(self._rest)

    def _read(self) -> None:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        data = os.pread(self._descriptor, LINE_BYTES, self.at)
        *lines, rest = (self._rest + data).split(b"\n")
        too_long = self._too_long or len(rest) > LINE_BYTES
        if self._too_long and lines:
            del lines[0]  # the rest of a line that was too long
            too_long = len(rest) > LINE_BYTES
        if too_long and not self._too_long:
            self._missing.note("events", f"a line longer than {LINE_BYTES} bytes was passed over")
        self.at += len(data)
        self._rest, self._lines, self._too_long = b"" if too_long else rest, lines, too_long

    def _event(self, line: bytes) -> dict[str, Any] | None:
        if not line.strip():
            return None
        if line.startswith(PLAIN):
            name = line.removeprefix(PLAIN).decode(errors="replace").strip()
            phase = mask_secrets.in_text(name[:_LONGEST_PHASE])
            return {"t_s": self._placed(time.monotonic()), "event": "phase", "phase": phase}
        try:
            # NaN and infinities become null, because JSON does not have them.
            event = json.loads(line, parse_constant=lambda _: None)
            at, name = event["monotonic_s"], str(event["event"])
            if not isinstance(at, int | float) or not math.isfinite(at):
                raise TypeError
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            self._missing.note("events", "lines that are no events were passed over")
            return None
        fields = {key: value for key, value in event.items() if key not in _OURS}
        if name == "phase" and isinstance(fields.get("phase"), str):
            fields["phase"] = mask_secrets.in_text(fields["phase"][:_LONGEST_PHASE])
        return {"t_s": self._placed(at), "event": name, **fields}

    def _placed(self, monotonic_s: float) -> float:
        """The time of an event in seconds since the start.

        A time before the start or in the future comes from another clock (a time namespace). Such an event gets the
        time of its reading.
        """
        now = time.monotonic() - self.start_s
        at = monotonic_s - self.start_s
        return round(max(0.0, at) if -_EARLY_S < at <= now else now, 6)


class Log:
    """events.jsonl, written as events arrive. Keeps in memory only what the record needs, however many events there
    are."""

    _KEPT = ("work", "provenance")
    _PROCESSES_KEPT = 10_000

    def __init__(self, path: Path, missing: Missing | None = None) -> None:
        self.last: dict[str, dict[str, Any]] = {}
        self.hwm_bytes: dict[int, int] = {}
        self.file = OutFile(path, missing)
        self._missing = missing or Missing()
        self._ordered, self._latest_s = True, 0.0

    def write(self, events: list[dict[str, Any]]) -> None:
        for event in sorted(events, key=lambda event: event["t_s"]):
            with self._missing.step("events"):
                event, text = self._written(event)
                self.file.append(text)
            self._ordered &= event["t_s"] >= self._latest_s
            self._latest_s = max(self._latest_s, event["t_s"])
            if event["event"] in self._KEPT:
                self.last[event["event"]] = event
            mark, pid = event.get("hwm_bytes"), event.get("pid")
            if isinstance(mark, int) and isinstance(pid, int) and len(self.hwm_bytes) < self._PROCESSES_KEPT:
                self.hwm_bytes[pid] = max(mark, self.hwm_bytes.get(pid, 0))

    def _written(self, event: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """An event and its line, in ASCII, because a program's text may have unpaired surrogates or characters that
        some tools treat as line ends."""
        try:
            return event, json.dumps(event, allow_nan=False) + "\n"
        except (ValueError, RecursionError):  # 1e999, or nested too deeply
            self._missing.note("events", "fields that JSON cannot hold were left out")
            finite = {key: item for key, item in event.items() if not isinstance(item, float) or math.isfinite(item)}
            plain = {key: value for key, value in finite.items() if not isinstance(value, list | dict)}
            return plain, json.dumps(plain, allow_nan=False) + "\n"

    def order(self) -> None:
        """Sort the lines by time if events of several processes arrived out of order."""
        if not self._ordered:
            lines = [line for line in self.file.content().split(b"\n") if line]
            lines.sort(key=lambda line: json.loads(line)["t_s"])
            self.file.replace(b"".join(line + b"\n" for line in lines))
            self._ordered = True

    def close(self) -> None:
        self.order()
        self.file.close()
