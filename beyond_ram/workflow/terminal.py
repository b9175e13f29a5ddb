"""Terminal output of a workflow call: one line of progress, failures as Snakemake shows them, findings.

It is a Snakemake logger (`logger: beyond-ram` in a profile), registered by package snakemake_logger_plugin_beyond_ram.
All other Snakemake messages only go to its log, below .snakemake/log.

Without it the 100 jobs of config/tiny.yaml take 1,498 lines (here 120, or one on a terminal), none with an experiment
or the time that is left. `--quiet rules` leaves five lines a job, and hides which run failed and its log. A plugin that
draws bars (snakemake-logger-plugin-rich) draws eight times a second beside the measured run.
"""

import difflib
import functools
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from snakemake_interface_logger_plugins.base import LogHandlerBase

from .. import mask_secrets
from ..text import plain

_MEASURING = ("measure", "measure_interrupted")
# Snakemake's messages that a user needs. Some thirty others only go to its log.
_NOTHING = "Nothing to be done"
_RELAYED = (_NOTHING, "Will exit after finishing", "Terminating processes", "Trying to restart", "Complete")
# Its messages before every plan, which nobody needs.
_BEFORE = ("Assuming unrestricted shared filesystem usage", "Config file ")
_OURS = str(Path(__file__).parents[1])
TARGETS: dict[str, str] = {}
"""The targets that may be asked for by name; tables and figures also by their own names. rules/outputs.smk fills it."""
BRIEF: list[str] = []
"""The file with the lines of the report for a terminal. rules/report.smk names it."""
# Around the log of a failed job, so that what is open in a command does not hide it.
_RULE = re.compile("^(=+)$", re.MULTILINE)
# A line about a job, without its command; and what changes in it from job to job and holds no secret: path, numbers.
_OF_JOB = re.compile(r"\w+ \w+:|    \w+: .*|\[[\w: ]+\]|")
_CHANGING = re.compile(r"(?:/[\w.+-]+~[\w.+-]*)+|(?<=^    jobid: )\d+|(?<=^    priority: )\d+")
# Yellow and red.
_COLOURS = {logging.WARNING: 33, logging.ERROR: 31, logging.CRITICAL: 31}


class LogHandler(LogHandlerBase):
    """Handles Snakemake's log records in the thread of its queue."""

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        common = self.common_settings
        self._stream: TextIO = sys.stdout if common.stdout else sys.stderr
        self._all = common.dryrun or common.verbose or common.printshellcmds or common.debug_dag
        self._redraws = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._colours = {} if common.nocolor or not self._redraws else _COLOURS
        self._steps, self._runs, self._measured = "", 0, 0
        self._started, self._began = False, 0.0
        self._measuring: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if not self._all and not self._shown(record):
                return
            if self._redraws:
                print("\r\x1b[K", end="", file=self._stream, flush=True)
            # A failed job shows its command and its log.
            if text := _masked(record, self.format(record)):
                colour = self._colours.get(record.levelno)
                print(f"\x1b[{colour}m{text}\x1b[0m" if colour else text, file=self._stream, flush=True)
            if record.getMessage().startswith(_NOTHING):
                self._stream.writelines(_failed_before())
            if getattr(record, "exception", "") == "MissingRuleException":
                print(_nearest_target(record.getMessage()), file=self._stream, flush=True)
        except Exception:  # an error in a message must not end a run
            self.handleError(record)

    def _shown(self, record: logging.LogRecord) -> bool:
        """Draw the line of progress after an event. Returns whether the record is shown as Snakemake shows it."""
        event, fields = getattr(record, "event", None), vars(record)
        if event is None:
            if not self._started:  # such as of --unlock
                return not record.getMessage().startswith(_BEFORE)
            ours = record.pathname.startswith(_OURS) or record.getMessage().startswith(_RELAYED)
            return ours or record.levelno >= logging.WARNING
        if event == "workflow_started":
            self._started = True
        elif event == "run_info":
            self._runs = sum(fields["stats"].get(rule, 0) for rule in _MEASURING)
        elif event == "progress":
            self._steps = f"{fields['done']} of {fields['total']} steps: "
        elif event == "job_info":
            self._begin(fields)
        elif event == "job_finished" and fields["job_id"] in self._measuring:
            self._measured += 1
        return event in ("job_error", "group_error", "error")

    def _begin(self, job: Mapping[str, Any]) -> None:
        """Draw the line of a job that begins: a measured run with its experiment, any other by its rule."""
        wildcards = [str(value) for value in (job.get("wildcards") or {}).values()]
        if job["rule_name"] not in _MEASURING:
            self._draw(f"{self._steps}{' '.join([job['rule_name'].replace('_', ' '), *wildcards])}")
            return
        self._measuring.add(job["jobid"])
        self._began = self._began or time.monotonic()
        left = self._runs - self._measured
        line = f"measured {self._measured} of {max(self._runs, self._measured + 1)} runs"
        if self._measured and left > 0:
            line += f", {_about((time.monotonic() - self._began) / self._measured * left)} left"
        self._draw(f"{line}: {''.join(wildcards[:1]).partition('/')[0]}")

    def _draw(self, text: str) -> None:
        if self._redraws:
            line = plain(text, 500)[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{line}", end="", file=self._stream, flush=True)
        else:
            print(f"{time.strftime('%H:%M:%S')} {text}", file=self._stream, flush=True)


def _masked(record: logging.LogRecord, text: str) -> str:
    """A message without secrets.

    That of a job has one thing a line, and most lines are as of the job before, but for their run and their numbers. So
    each is searched once. To search the messages of ten thousand jobs as texts takes 12 s of processor time.
    """
    lines = text.split("\n")
    of_job = getattr(record, "event", None) == "job_info" and all(map(_OF_JOB.fullmatch, lines))
    if of_job and not any(map(_has_secret, {_CHANGING.sub("", line) for line in lines})):
        return text
    return "".join(map(mask_secrets.in_text, _RULE.split(text)))


@functools.lru_cache
def _has_secret(line: str) -> bool:
    return mask_secrets.in_text(line) != line


def _nearest_target(message: str) -> str:
    """A line with the nearest target to the one that Snakemake cannot make."""
    wrong = plain(message.partition("No rule to produce ")[2].partition(" (if ")[0], 200)
    close = [TARGETS[name] for name in difflib.get_close_matches(wrong, TARGETS, 1)]
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"beyond-ram: no target {wrong!r}; {hint}`snakemake --lt` lists all"


def _failed_before() -> list[str]:
    """The lines of the report about runs that failed, which a call that makes nothing would not show."""
    lines = [
        line for path in BRIEF if Path(path).is_file() for line in Path(path).read_text().splitlines(keepends=True)
    ]
    return [line for line in lines if re.match(r"\d+ runs? failed", line)]


def _about(seconds: float) -> str:
    """A duration in words."""
    minutes = seconds / 60
    return "less than a minute" if minutes < 1 else f"about {minutes:.0f} min"
