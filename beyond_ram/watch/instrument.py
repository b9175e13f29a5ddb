"""What weighs a command while it runs: events in, samples and lines out. None of it is needed for the command to run.

Each of its steps is on its own: one that fails is noted and tried again, and the others go on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import events
from .charges import Around
from .groups import Group
from .live import Line
from .missing import Missing
from .outfile import OutFile
from .recorder import Recorder
from .sampler import Sampler
from .sharing import Sharing
from .tree import Tree

OnEvent = Callable[[dict[str, Any], int], None]


@dataclass
class Counting:
    """Who counts each page of the tree once; None for who cannot be had."""

    group: Group | None = None
    around: Around | None = None
    sharing: Sharing | None = None


@dataclass
class Instrument:
    """The parts that could be had; None for one that could not."""

    missing: Missing
    sampler: Sampler | None = None
    reader: events.Reader | None = None
    log: events.Log | None = None
    line: Line | None = None
    on_event: OnEvent | None = None

    def begin(
        self,
        began_s: float,
        tree: Tree | None,
        files: Sequence[Path],
        raw_events: Path | None,
        counting: "Counting",
        max_lines: int,
        start: dict[str, Any],
    ) -> None:
        """Open everything, and take the first sample; `start` is what the first event says.

        `tree` is what is weighed; None where nothing can be.
        """
        with self.missing.step("events"):
            if raw_events:
                self.reader = events.Reader(raw_events, began_s, self.missing)
        with self.missing.step("events.jsonl"):
            self.log = events.Log(files[1], self.missing)
        with self.missing.step("samples"):
            if tree and (reason := tree.reader.why_not()):
                self.missing.note("samples", reason)
            elif tree:
                self.sampler = Sampler(
                    files[0],
                    began_s,
                    tree,
                    group=counting.group,
                    around=counting.around,
                    sharing=counting.sharing,
                    max_lines=max_lines,
                    missing=self.missing,
                )
        self._write([{"t_s": 0.0, "event": "start", **start}])
        self._sample(event=False)

    def interval_s(self, requested_s: float) -> float:
        return self.sampler.interval_s(requested_s) if self.sampler else requested_s

    def ignore_events_until_s(self) -> float:
        return self.sampler.ignore_events_until_s() if self.sampler else -math.inf

    def look(self, pid: int) -> None:
        """Take the events that came, and a sample."""
        new: list[dict[str, Any]] = []
        with self.missing.step("events"):
            if self.reader:
                new = self.reader.new()
        row = self._take(new)
        for event in new if self.on_event else ():
            with self.missing.step("what was to be done at an event"):
                if self.on_event:
                    self.on_event(event, pid)
        if row and self.line and self.sampler:
            with self.missing.step("the line on the terminal") as step:
                self.line.show(row, self.sampler.peaks.highest_rss_bytes)
            if step.failed:
                self.line = None

    def finish(self, duration_s: float, exit_status: int | None) -> list[dict[str, Any]]:
        """The last look, right after the command has ended; what of it still runs, as the last sample saw it."""
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
                self.sampler.note_course(duration_s)
            with self.missing.step("what still runs"):
                return self.sampler.left_running()
        return []

    def files(self, scratch: Path, names: tuple[str, ...]) -> list[OutFile]:
        """samples.csv and events.jsonl; with nothing in it for what could not be begun."""
        samples = self.sampler.recorder.file if self.sampler else Recorder(scratch / names[0]).file
        return [samples, self.log.file if self.log else OutFile(scratch / names[1])]

    def close(self) -> None:
        for part in (self.sampler, self.reader, self.log):
            with self.missing.step("samples and events"):
                if part:
                    part.close()

    def _last_events(self) -> None:
        while self.reader:
            at, new = self.reader.at, None
            with self.missing.step("events"):
                new = self.reader.new()
            self._write(new or [])
            if new is None or self.reader.at == at:
                break
        if self.reader and self.reader.unfinished:
            self.missing.note("events", "the last line has no end")

    def _take(self, new: list[dict[str, Any]]) -> dict[str, Any] | None:
        """One sample for the events that came, written beside them; after a phase's start the first of that phase."""
        row = None
        for event in new:
            if event["event"] == "phase":
                row = None
                with self.missing.step("phases"):
                    if self.sampler:
                        row = self.sampler.begin_phase(events.phase_name(event), event["t_s"])
                self._write([event], row)
        others = [event for event in new if event["event"] != "phase"]
        if others or row is None:
            row = self._sample(event=bool(others))
            self._write(others, row)
        return row

    def _sample(self, *, event: bool) -> dict[str, Any] | None:
        with self.missing.step("samples"):
            return self.sampler.sample(event=event) if self.sampler else None
        return None

    def _write(self, new: list[dict[str, Any]], row: dict[str, Any] | None = None) -> None:
        with self.missing.step("events.jsonl"):
            if self.log:
                self.log.write([events.with_reading(event, row) for event in new])
