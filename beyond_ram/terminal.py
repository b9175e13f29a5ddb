"""Terminal output of a workflow call: one progress line, failures, findings, and the path of the log.

It is a Snakemake logger (`logger: beyond-ram` in a profile), registered by package snakemake_logger_plugin_beyond_ram.
All other Snakemake messages only go to its log, below .snakemake/log.
"""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from .text import plain

# Seconds between two drawings of the line, so that its clock advances.
_TICK_S = 1.0
# Without a terminal: seconds until the next line. They grow with the elapsed time.
_FIRST_S, _PART = 10.0, 10
# Maximum number of jobs in a line, of log lines, and of characters in such a line.
_NAMED, _LINES, _WIDE = 2, 60, 500
# Snakemake's messages that a user needs. Some thirty others only go to its log.
_RELAYED = ("Nothing to be done", "Will exit after finishing")
_STOPS = "Terminating processes on user request"
# Snakemake's messages before every plan, which nobody needs.
_BEFORE = ("Assuming unrestricted shared filesystem usage", "Config file ")
_AGAIN = "Trying to restart job "
_LOGS = "Complete log(s): "
_ENDS, _ENDED = "Exiting because a job execution failed", "At least one job did not complete successfully"
_OURS = str(Path(__file__).parent)


@dataclass(frozen=True)
class Status:
    """Progress of the runs in a few words, and a function that returns the cell of a job from its outputs."""

    runs: str
    name: Callable[[Sequence[str]], str]


def about(seconds: float) -> str:
    """A duration in words."""
    minutes = seconds / 60
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes:.0f} min" if minutes < 100 else f"about {minutes / 60:.1f} h"


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    all_lines: bool = field(
        default=False,
        metadata={"help": "Show all lines of Snakemake, in place of one line of progress.", "required": False},
    )


class LogHandler(LogHandlerBase):
    """Handles Snakemake's log records in the thread of its queue. Another thread redraws the line every second."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        from snakemake.logging import ColorizingTextHandler

        common = self.common_settings
        self._stream: TextIO = sys.stdout if common.stdout else sys.stderr
        self._snakemakes = ColorizingTextHandler(nocolor=common.nocolor, stream=self._stream)
        settings: Any = self.settings
        wants_all = common.dryrun or common.verbose or common.printshellcmds or common.debug_dag
        self._all = wants_all or bool(settings and settings.all_lines)
        self._line = _Line(self._stream)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._began: float | None = None
        self._steps: tuple[int, int] | None = None
        self._status: Status | None = None
        self._running: dict[int, tuple[str, float, bool]] = {}
        self._failed: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._planning = self._stopping = False
        # Snakemake reports a failed command before its job. They are shown only if the job has no log.
        self._commands: list[logging.LogRecord] = []
        self._group_logs: list[str] = []
        self._warned: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if self._all:
            self._pass(record)
            return
        try:
            with self._lock:
                self._take(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        self._stopped.set()
        with self._lock:
            self._line.wipe()
        super().close()

    def _pass(self, record: logging.LogRecord) -> None:
        """Print a record as Snakemake would."""
        self._line.wipe()
        self._snakemakes.formatter = self.formatter
        self._snakemakes.emit(record)

    def _say(self, text: str) -> None:
        self._line.wipe()
        with contextlib.suppress(OSError, ValueError):  # the reader has closed the pipe
            print(text, file=self._stream, flush=True)

    def _take(self, record: logging.LogRecord) -> None:
        fields = vars(record)
        event = getattr(record, "event", None)
        if event is not None:
            self._on_event(str(event), fields, record)
        elif status := fields.get("status"):
            self._status = status
            self._draw()
        else:
            self._on_message(record)

    def _on_event(self, event: str, fields: Mapping[str, Any], record: logging.LogRecord) -> None:
        if event == "workflow_started":
            self._began = time.monotonic()
            threading.Thread(target=self._tick, daemon=True).start()
            self._planning = not self.common_settings.quiet
        elif event == "run_info":
            self._planning = False
            self._steps = (0, fields["stats"]["total"])
        elif event == "job_info":
            number, cell = fields["jobid"], self._cell(fields)
            self._names[number] = name = cell or self._job(fields)
            self._running[number] = name, time.monotonic(), bool(cell)
        elif event == "job_finished":
            self._running.pop(fields["job_id"], None)
            self._failed.pop(fields["job_id"], None)
        elif event == "progress":
            self._steps = fields["done"], fields["total"]
        elif event == "group_error":  # messages about its jobs follow
            self._group_logs = fields["aux_logs"]
        elif event == "job_error":
            self._fail(fields, record)
        elif event == "error":
            if fields["exception"] == "RuleException":
                self._commands.append(record)
            elif not ((self._failed or self._stopping) and _ENDED in record.getMessage()):
                self._pass(record)
            return
        self._draw()

    def _on_message(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if message.startswith(_LOGS):
            for command in self._commands:
                self._pass(command)
            self._say(self._end(message.removeprefix(_LOGS)))
        elif record.levelno >= logging.WARNING:
            # A plugin may repeat the same message for a thousand jobs.
            if message not in self._warned and not (self._failed and message.startswith(_ENDS)):
                self._warned.add(message)
                self._pass(record)
        elif self._began is None:
            if not message.startswith(_BEFORE):
                self._pass(record)
        elif message.startswith(_STOPS):
            self._stopping = True
            self._running.clear()
            self._pass(record)
        elif message.startswith(_AGAIN):
            number = int(message.removeprefix(_AGAIN).rstrip("."))
            self._say(f"Tried again: {self._failed.pop(number, '')}")
        elif record.pathname.startswith(_OURS) or message.startswith(_RELAYED):
            self._planning = False
            self._pass(record)

    def _fail(self, job: Mapping[str, Any], record: logging.LogRecord) -> None:
        """Print which job failed, why, and its log."""
        number = job["jobid"]
        self._running.pop(number, None)
        self._failed[number] = name = self._names.get(number) or self._cell(job) or self._job(job)
        command = self._commands.pop(0) if self._commands else None
        if self._stopping:
            return  # the user ended it
        lines = [f"Failed: {name} (rule {job['rule_name']})"]
        lines += [f"  {message}" for message in (job["rule_msg"],) if message]
        lines += [f"  {key}: {value}" for key, value in job["aux"].items()]
        logs = dict.fromkeys([*job["log"], *(self._group_logs if job["indent"] else ())])
        shown: list[str] = []
        for log in logs:  # the job's own log first; a scheduler's log has Snakemake's output on the node
            shown += [f"  more in {log}"] if shown else self._log(log)
        if not shown and command:
            self._pass(command)
        self._say(self._snakemakes.decorate(record, "\n".join([*lines, *shown])))

    def _log(self, file: str) -> Iterator[str]:
        """The lines of a log to show: all lines, or the end of a long log."""
        try:
            lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        if lines:
            more = f", the last {_LINES} of {len(lines)} lines" if len(lines) > _LINES else ""
            yield f"  its log, {file}{more}:"
            yield from (f"    {_shown(line)}" for line in lines[-_LINES:])

    def _end(self, logs: str) -> str:
        """The last line: number of steps, failures, and the path of the log."""
        done, total = self._steps or (0, 0)
        summary = f"{done} of {total} steps" if total else ""
        if summary and self._began is not None:
            summary += f" in {about(time.monotonic() - self._began)}"
        if self._failed:
            names = list(self._failed.values())
            more = f" and {len(names) - _LINES} more" if len(names) > _LINES else ""
            summary += f"; {len(names)} {'ended' if self._stopping else 'failed'}: {'; '.join(names[:_LINES])}{more}"
        return f"{summary}{'. ' if summary else ''}Snakemake's log: {logs.replace(f'{Path.cwd()}/', '')}"

    def _cell(self, job: Mapping[str, Any]) -> str:
        """The cell that a job measures; empty for other jobs."""
        return self._status.name([str(path) for path in job["output"]]) if self._status else ""

    def _job(self, job: Mapping[str, Any]) -> str:
        """A job in words: its rule and wildcards."""
        wildcards = [str(value) for value in (job.get("wildcards") or {}).values()]
        return " ".join([job["rule_name"].replace("_", " "), *wildcards])

    def _tick(self) -> None:
        while not self._stopped.wait(_TICK_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        self._line.draw("planning" if self._planning else self._text(), passing=self._planning)

    def _text(self) -> str:
        """The progress line; empty while no job runs."""
        if not self._running:
            return ""
        # During measured runs the number of steps is left out: 80 columns are too narrow for both.
        weighs = any(weighs for *_, weighs in self._running.values())
        parts = [f"{self._steps[0]} of {self._steps[1]} steps"] if self._steps and not weighs else []
        parts += [self._status.runs] if self._status else []
        now = time.monotonic()
        # Oldest first.
        names = [f"{name} ({int(now - began)} s)" for name, began, _ in list(self._running.values())[:_NAMED]]
        more = len(self._running) - len(names)
        names += [f"{more} more"] if more else []
        return f"{', '.join(parts)}: {', '.join(names)}"


class _Line:
    """One line at the bottom of a terminal, redrawn in place. Without a terminal: lines at growing intervals."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._moves = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn, self._began, self._due = "", time.monotonic(), 0.0

    def draw(self, text: str, *, passing: bool = False) -> None:
        """Draw the line. A `passing` line only appears on a terminal."""
        if not text or (passing and not self._moves):
            return
        with contextlib.suppress(OSError, ValueError):  # the terminal was closed
            if self._moves:
                columns = os.get_terminal_size(self._stream.fileno()).columns
                self._drawn = plain(text, 10 * _WIDE)[: max(columns - 1, 1)]
                print(f"\r\x1b[K{self._drawn}", end="", file=self._stream, flush=True)
            elif time.monotonic() >= self._due:
                print(f"{time.strftime('%H:%M:%S')} {text}", file=self._stream, flush=True)
                passed = time.monotonic() - self._began
                self._due = time.monotonic() + max(_FIRST_S, passed / _PART)

    def wipe(self) -> None:
        if self._drawn:
            self._drawn = ""
            with contextlib.suppress(OSError, ValueError):
                print("\r\x1b[K", end="", file=self._stream, flush=True)


def _shown(line: str) -> str:
    """A line of a log with its indentation, without control characters."""
    return " " * (len(line) - len(line.lstrip(" "))) + plain(line, _WIDE)
