"""Measure a running command: read events, take samples, write lines. The command runs without it too.

The steps are independent: a step that fails is noted and retried, and the others go on.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..records.run_files import RUN_FILES
from ..records.run_json import ProcessEntry
from . import events, machine, timeline, trend
from .delivery import Delivery
from .missing import printable
from .outfile import OutFile
from .recorder import Recorder
from .sampler import Counting, Sampler
from .terminal_line import LiveLine
from .tree import Tree


@dataclass(frozen=True, kw_only=True)
class InstrumentOptions:
    """What every measurement is given."""

    interval_ms: int = 20
    inputs: Sequence[Path] = ()
    """Files whose page cache residency is recorded before and after."""
    on_event: Callable[[dict[str, Any], int], None] | None = None
    """Called with every event of the command and the id of the command's process."""
    live: bool = False
    """Show a line on the terminal while it runs."""
    memory_limit_bytes: int | None = None
    """Memory limit of the whole tree; the caller must evict the inputs first."""
    timeout_s: float | None = None
    """Time limit. A command is killed with all its descendants (outcome `timed_out`); an attached program goes on
    (outcome `detached`)."""

    def __post_init__(self) -> None:
        if self.interval_ms < 1:
            raise ValueError(f"the interval must be at least 1 ms, not {self.interval_ms}")


class Instrument:
    """The parts of a measurement; None for those that could not be set up."""

    def __init__(self, options: InstrumentOptions, delivery: Delivery, counting: Counting) -> None:
        self.options, self.delivery, self.missing, self.counting = options, delivery, delivery.missing, counting
        self.shows = False
        """Whether programs may wait until their events are read: nobody else reads these."""
        self.sampler: Sampler | None = None
        self.reader: events.EventReader | None = None
        self.log: events.Log | None = None
        self.line = LiveLine() if options.live else None
        self._cpu_s = self.missing.attempt("duty cycle", time.process_time, None)
        self.started_at: float | None = None
        """Unix time of the command's start, in seconds."""

    def begin(self, began_s: float, tree: Tree | None, raw_events: Path | None, start: dict[str, Any]) -> None:
        """Open everything and take the first sample. `start` are the fields of the first event.

        `tree` is measured; None if no process can be read.
        """
        self.missing.began_s = began_s
        self.started_at = self.missing.attempt("start time", lambda: time.time() - (time.monotonic() - began_s), None)
        with self.missing.step("events"):
            if raw_events:
                self.reader = events.EventReader(raw_events, began_s, self.missing)
        samples, event_lines = (self.delivery.scratch / name for name in RUN_FILES[:2])
        self.log = self.missing.attempt("events.jsonl", lambda: events.Log(event_lines, self.missing), None)
        with self.missing.step("samples"):
            if tree and (reason := tree.reader.why_not()):
                self.missing.note("samples", reason)
            elif tree:
                self.sampler = Sampler(samples, began_s, tree, counting=self.counting, missing=self.missing)
        self._write([{"t_s": 0.0, "event": "start", **start}])
        if self.sampler:
            self.sampler.sample()

    def interval_s(self) -> float:
        requested_s = self.options.interval_ms / 1000
        return self.sampler.interval_s(requested_s) if self.sampler else requested_s

    def ceiling(self) -> tuple[str, int] | None:
        """The lowest ceiling of growth and its bytes: the run's limit, the job's limit, or the machine's memory."""
        around = self.counting.around
        limit_bytes = around.limit_bytes if around else None
        return trend.ceiling(self.options.memory_limit_bytes, limit_bytes, machine.memory_bytes())

    def spent_s(self) -> float | None:
        """CPU time of this process since the start, in seconds; None if unknown."""
        now_s = self.missing.attempt("duty cycle", time.process_time, None)
        return None if now_s is None or self._cpu_s is None else now_s - self._cpu_s

    def ignore_events_until_s(self) -> float:
        return self.sampler.ignore_events_until_s() if self.sampler else -math.inf

    def look(self, pid: int) -> None:
        """Take new events and a sample."""
        new = self.missing.attempt("events", self.reader.new, []) if self.reader else []
        row = self._take(new)
        for event in new:
            with self.missing.step("what was to be done at an event"):
                if self.options.on_event:
                    self.options.on_event(event, pid)
        with self.missing.step("pauses at events"):
            if self.reader and self.shows:
                self.reader.show()
        if row and self.line and self.sampler:
            with self.missing.step("the line on the terminal") as step:
                self.line.show(row, self.sampler, self.ceiling())
            if step.failed:
                self.line = None

    def finish(self, duration_s: float, exit_status: int | None) -> list[ProcessEntry]:
        """Take the last sample, right after the command has ended. Returns its processes that still run."""
        if self.line:
            with self.missing.step("the line on the terminal"):
                self.line.clear()
        if self.sampler:
            with self.missing.step("samples"):
                self.sampler.finish(duration_s)
        self._last_events()
        self._write([{"t_s": round(duration_s, 6), "event": "end", "exit_status": exit_status}])
        if self.log:
            with self.missing.step("the order of events"):
                self.log.order()
        if self.sampler:
            with self.missing.step("samples.csv"):
                self.sampler.recorder.put()
            with self.missing.step("the course of memory"):
                lines = self.sampler.recorder.file.content().splitlines()[1:]
                self.sampler.course = timeline.of_lines(lines, duration_s)
            return self.missing.attempt("what still runs", self.sampler.left_running, [])
        return []

    def deliver(self) -> None:
        """Move the files into the requested folder."""
        self.delivery.put(self.missing.attempt("files", self._files, []))

    def _files(self) -> list[OutFile]:
        """samples.csv and events.jsonl, empty if they could not be begun."""
        samples, event_lines = (self.delivery.scratch / name for name in RUN_FILES[:2])
        rows = self.sampler.recorder if self.sampler else Recorder(samples)
        return [rows.file, self.log.file if self.log else OutFile(event_lines)]

    def close(self) -> None:
        for part in (self.sampler, self.reader, self.log):
            with self.missing.step("samples and events"):
                if part:
                    part.close()

    def _last_events(self) -> None:
        while self.reader:
            at = self.reader.at
            new = self.missing.attempt("events", self.reader.new, None)
            self._write(new or [])
            if new is None or self.reader.at == at:
                break
        if self.reader and self.reader.unfinished:
            self.missing.note("events", "the last line has no end")

    def _take(self, new: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Take one sample for the new events and write it beside them. At the start of a phase it is the phase's first
        sample."""
        row = None
        for event in new:
            if event["event"] == "phase":
                row = None
                with self.missing.step("phases"):
                    if self.sampler:
                        name = printable(str(event.get("phase", "")))
                        row = self.sampler.begin_phase(name, event["t_s"])
                self._write([event], row)
        others = [event for event in new if event["event"] != "phase"]
        if others or row is None:
            row = self.sampler.sample(event=bool(others)) if self.sampler else None
            self._write(others, row)
        return row

    def _write(self, new: list[dict[str, Any]], row: dict[str, Any] | None = None) -> None:
        """Write events, with the sample taken right after them under `tree`."""
        with self.missing.step("events.jsonl"):
            names = ["t_s", *(name for name in events.READINGS if row and row[name] != "")]
            reading = {"tree": {name: row[name] for name in names}} if row else {}
            if self.log:
                self.log.write([event | reading for event in new])
