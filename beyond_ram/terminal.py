"""What a call of the workflow says on the terminal: a line of progress, what failed, what was found, where the log is.

A logger of Snakemake (`logger: beyond-ram` in a profile), by the package snakemake_logger_plugin_beyond_ram. Everything
else that Snakemake says is in its own log, below .snakemake/log.
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

# The line is drawn again so often: its clock ticks.
_TICK_S = 1.0
# Where there is no terminal, the next line comes after so many seconds, or such a part of the time that has passed.
_FIRST_S, _PART = 10.0, 10
# So many jobs are named in a line, and so many lines of a log are shown, each of so many characters.
_NAMED, _LINES, _WIDE = 2, 60, 500
# Snakemake's own words to a person, among some thirty of its lines that are for its log alone.
_SAID = ("Nothing to be done", "Will exit after finishing")
_STOPS = "Terminating processes on user request"
# What it says before every plan.
_BEFORE = ("Assuming unrestricted shared filesystem usage", "Config file ")
_AGAIN = "Trying to restart job "
_LOGS = "Complete log(s): "
_ENDS, _ENDED = "Exiting because a job execution failed", "At least one job did not complete successfully"
_OURS = str(Path(__file__).parent)


@dataclass(frozen=True)
class Told:
    """How far the runs are, in few words, and the cell that a job with some outputs weighs."""

    runs: str
    name: Callable[[Sequence[str]], str]


def about(seconds: float) -> str:
    """A time in words."""
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
    """Takes what Snakemake logs, in the thread of its queue; the line is drawn by a thread too, as time passes."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        from snakemake.logging import ColorizingTextHandler

        asked = self.common_settings
        self._stream: TextIO = sys.stdout if asked.stdout else sys.stderr
        self._snakemakes = ColorizingTextHandler(nocolor=asked.nocolor, stream=self._stream)
        settings: Any = self.settings
        wants_all = asked.dryrun or asked.verbose or asked.printshellcmds or asked.debug_dag
        self._all = wants_all or bool(settings and settings.all_lines)
        self._line = _Line(self._stream)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._began: float | None = None
        self._steps: tuple[int, int] | None = None
        self._told: Told | None = None
        self._running: dict[int, tuple[str, float, bool]] = {}
        self._failed: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._planning = self._stopping = False
        # What Snakemake says of a command that ended, before it says which job has failed. The log of that says more.
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
        """Say it as Snakemake does."""
        self._line.wipe()
        self._snakemakes.formatter = self.formatter
        self._snakemakes.emit(record)

    def _say(self, text: str) -> None:
        self._line.wipe()
        with contextlib.suppress(OSError, ValueError):  # nobody reads any more
            print(text, file=self._stream, flush=True)

    def _take(self, record: logging.LogRecord) -> None:
        about_it = vars(record)
        event = getattr(record, "event", None)
        if event is not None:
            self._happened(str(event), about_it, record)
        elif told := about_it.get("told"):
            self._told = told
            self._draw()
        else:
            self._hear(record)

    def _happened(self, event: str, about_it: Mapping[str, Any], record: logging.LogRecord) -> None:
        if event == "workflow_started":
            self._began = time.monotonic()
            threading.Thread(target=self._tick, daemon=True).start()
            self._planning = not self.common_settings.quiet
        elif event == "run_info":
            self._planning = False
            self._steps = (0, about_it["stats"]["total"])
        elif event == "job_info":
            number, cell = about_it["jobid"], self._cell(about_it)
            self._names[number] = name = cell or self._job(about_it)
            self._running[number] = name, time.monotonic(), bool(cell)
        elif event == "job_finished":
            self._running.pop(about_it["job_id"], None)
            self._failed.pop(about_it["job_id"], None)
        elif event == "progress":
            self._steps = about_it["done"], about_it["total"]
        elif event == "group_error":  # each job of it comes next
            self._group_logs = about_it["aux_logs"]
        elif event == "job_error":
            self._fail(about_it, record)
        elif event == "error":
            if about_it["exception"] == "RuleException":
                self._commands.append(record)
            elif not ((self._failed or self._stopping) and _ENDED in record.getMessage()):
                self._pass(record)
            return
        self._draw()

    def _hear(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if said.startswith(_LOGS):
            for command in self._commands:
                self._pass(command)
            self._say(self._end(said.removeprefix(_LOGS)))
        elif record.levelno >= logging.WARNING:
            # A plugin may say the same of each of a thousand jobs.
            if said not in self._warned and not (self._failed and said.startswith(_ENDS)):
                self._warned.add(said)
                self._pass(record)
        elif self._began is None:
            if not said.startswith(_BEFORE):
                self._pass(record)
        elif said.startswith(_STOPS):
            self._stopping = True
            self._running.clear()
            self._pass(record)
        elif said.startswith(_AGAIN):
            number = int(said.removeprefix(_AGAIN).rstrip("."))
            self._say(f"Tried again: {self._failed.pop(number, '')}")
        elif record.pathname.startswith(_OURS) or said.startswith(_SAID):
            self._planning = False
            self._pass(record)

    def _fail(self, job: Mapping[str, Any], record: logging.LogRecord) -> None:
        """Say what has failed, why, and where its log is."""
        number = job["jobid"]
        self._running.pop(number, None)
        self._failed[number] = name = self._names.get(number) or self._cell(job) or self._job(job)
        command = self._commands.pop(0) if self._commands else None
        if self._stopping:
            return  # it was ended by whoever looks at the terminal
        lines = [f"Failed: {name} (rule {job['rule_name']})"]
        lines += [f"  {message}" for message in (job["rule_msg"],) if message]
        lines += [f"  {key}: {value}" for key, value in job["aux"].items()]
        logs = dict.fromkeys([*job["log"], *(self._group_logs if job["indent"] else ())])
        shown: list[str] = []
        for log in logs:  # its own comes first; one of a scheduler holds what Snakemake said on the node
            shown += [f"  more in {log}"] if shown else self._log(log)
        if not shown and command:
            self._pass(command)
        self._say(self._snakemakes.decorate(record, "\n".join([*lines, *shown])))

    def _log(self, file: str) -> Iterator[str]:
        """A log as it is shown: whole, or the end of a long one."""
        try:
            lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        if lines:
            more = f", the last {_LINES} of {len(lines)} lines" if len(lines) > _LINES else ""
            yield f"  its log, {file}{more}:"
            yield from (f"    {_shown(line)}" for line in lines[-_LINES:])

    def _end(self, logs: str) -> str:
        """How far it came, and where everything is that was not said."""
        done, total = self._steps or (0, 0)
        said = f"{done} of {total} steps" if total else ""
        if said and self._began is not None:
            said += f" in {about(time.monotonic() - self._began)}"
        if self._failed:
            names = list(self._failed.values())
            more = f" and {len(names) - _LINES} more" if len(names) > _LINES else ""
            said += f"; {len(names)} {'ended' if self._stopping else 'failed'}: {'; '.join(names[:_LINES])}{more}"
        return f"{said}{'. ' if said else ''}Snakemake's log: {logs.replace(f'{Path.cwd()}/', '')}"

    def _cell(self, job: Mapping[str, Any]) -> str:
        """The cell that a job weighs; empty for other jobs."""
        return self._told.name([str(path) for path in job["output"]]) if self._told else ""

    def _job(self, job: Mapping[str, Any]) -> str:
        """A job in words: its rule and what that is asked for."""
        wildcards = [str(value) for value in (job.get("wildcards") or {}).values()]
        return " ".join([job["rule_name"].replace("_", " "), *wildcards])

    def _tick(self) -> None:
        while not self._stopped.wait(_TICK_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        self._line.draw("planning" if self._planning else self._text(), passing=self._planning)

    def _text(self) -> str:
        """The line of progress; nothing while no job runs."""
        if not self._running:
            return ""
        # While runs are weighed, they are what counts: a terminal of 80 columns has no room for more.
        weighs = any(weighs for *_, weighs in self._running.values())
        said = [f"{self._steps[0]} of {self._steps[1]} steps"] if self._steps and not weighs else []
        said += [self._told.runs] if self._told else []
        now = time.monotonic()
        # The oldest first: what runs longest is what is waited for.
        names = [f"{name} ({int(now - began)} s)" for name, began, _ in list(self._running.values())[:_NAMED]]
        more = len(self._running) - len(names)
        names += [f"{more} more"] if more else []
        return f"{', '.join(said)}: {', '.join(names)}"


class _Line:
    """One line at the end of a terminal, drawn again and again; elsewhere, lines that come less and less often."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._moves = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn, self._began, self._due = "", time.monotonic(), 0.0

    def draw(self, text: str, *, passing: bool = False) -> None:
        """Draw it; what is `passing` is for a terminal alone."""
        if not text or (passing and not self._moves):
            return
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
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
    """A line of a log, indented as it is, without what moves a terminal's cursor."""
    return " " * (len(line) - len(line.lstrip(" "))) + plain(line, _WIDE)
