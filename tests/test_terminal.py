"""Terminal output that real calls in rules/test_terminal.py do not reach: long runs, a narrow terminal, logs."""

import io
import logging
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from beyond_ram import terminal
from beyond_ram.terminal import LogHandler, LogHandlerSettings, Status


class Terminal(io.StringIO):
    def __init__(self, *, moves: bool) -> None:
        super().__init__()
        self.moves = moves

    def isatty(self) -> bool:
        return self.moves

    def fileno(self) -> int:
        return -1


class Console:
    """A handler and its output."""

    def __init__(self, handler: LogHandler, stream: Terminal) -> None:
        self.handler, self.stream = handler, stream

    def __call__(
        self, message: str, event: LogEvent | None = None, level: int = logging.INFO, file: str = "x.py", **fields: Any
    ) -> None:
        record = logging.LogRecord("snakemake", level, file, 1, message, None, None)
        vars(record).update(fields)
        if event:
            vars(record)["event"] = event
        self.handler.emit(record)

    def job(self, number: int, rule: str, **wildcards: str) -> None:
        self("", LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards, output=["x"])

    def failed(self, number: int, *logs: Path, **fields: Any) -> None:
        job = {
            "jobid": number,
            "rule_name": "weigh",
            "rule_msg": None,
            "output": [],
            "aux": {},
            "indent": False,
        }
        fields = job | {"log": [str(log) for log in logs]} | fields
        self("", LogEvent.JOB_ERROR, logging.ERROR, **fields)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    created: list[LogHandler] = []
    monkeypatch.setattr(terminal.os, "get_terminal_size", lambda _: SimpleNamespace(columns=40))
    monkeypatch.setenv("TERM", "xterm")

    def make(*, moves: bool = False, all_lines: bool = False, **options: Any) -> Console:
        stream = Terminal(moves=moves)
        monkeypatch.setattr(terminal.sys, "stderr", stream)
        common = dict.fromkeys(("dryrun", "verbose", "printshellcmds", "debug_dag", "stdout", "nocolor"), False)
        settings: Any = SimpleNamespace(**(common | {"quiet": None, "nocolor": True} | options))
        handler = LogHandler(settings, LogHandlerSettings(all_lines=all_lines))
        handler.setFormatter(DefaultFormatter())
        created.append(handler)
        return Console(handler, stream)

    yield make
    for handler in created:
        handler.close()


def begin(console: Console, steps: int = 9) -> None:
    console("Workflow has started!", LogEvent.WORKFLOW_STARTED)
    console("stats", LogEvent.RUN_INFO, stats={"total": steps})


@pytest.mark.slow
def test_without_a_terminal_lines_become_rare(handlers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    console = handlers()
    begin(console, 20000)
    at = []
    for number in range(20000):  # five and a half hours, a job a second
        console.job(number, "corpus", name="c")
        now[0] += 1
        before = console.text.count("\n")
        console("", LogEvent.PROGRESS, done=number, total=20000)
        if console.text.count("\n") > before:
            at.append(number)
        console("", LogEvent.JOB_FINISHED, job_id=number)
    assert 40 < console.text.count("\n") < 90
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert gaps[0] < gaps[-1] < 20000 / 9
    assert "\r" not in console.text
    assert "\x1b" not in console.text


def test_line_on_a_terminal_is_cut_and_removed_at_the_end(handlers: Any) -> None:
    console = handlers(moves=True)
    begin(console)
    console("", status=Status("weighed 3 of 8 runs, about 7 min left", lambda outputs: ""))
    console.job(1, "weigh", run="growth/" + "long" * 99)
    console("Complete log(s): /somewhere/x.log")
    drawn = console.text.split("\r\x1b[K")
    assert "0 of 9 steps, weighed 3 of 8 runs, abou" in drawn
    assert all(len(line) < 40 for line in drawn if "log" not in line)
    *_, last = drawn
    assert last.startswith("0 of 9 steps in less than a minute. Snakemake's log: /somewhere/x.log")


def test_many_running_jobs_are_counted(handlers: Any) -> None:
    console = handlers(moves=True)
    console("", LogEvent.RUN_INFO, stats={"total": 9})
    for number in range(5):
        console.job(number, "figure_staircase")
    assert console.handler._text() == "0 of 9 steps: figure staircase (0 s), figure staircase (0 s), 3 more"
    for number in range(5):
        console("", LogEvent.JOB_FINISHED, job_id=number)
    assert console.handler._text() == ""


def test_only_the_end_of_a_long_log_is_shown(handlers: Any, tmp_path: Path) -> None:
    console, log = handlers(), tmp_path / "x.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    console.failed(1, log)
    assert f"{log}, the last 60 of 1000 lines:" in console.text
    assert "line 999" in console.text
    assert "line 939\n" not in console.text


@pytest.mark.parametrize("content", ["", None], ids=["empty", "missing"])
def test_command_is_shown_if_there_is_no_log(handlers: Any, tmp_path: Path, content: str | None) -> None:
    console, log = handlers(), tmp_path / "x.log"
    if content is not None:
        log.write_text(content)
    console("RuleException:\nCommand 'x' died", LogEvent.ERROR, logging.ERROR, exception="RuleException")
    assert console.text == ""
    console.failed(1, log, rule_msg="SLURM status is: 'OUT_OF_MEMORY'", aux={"external_jobid": "77"})
    assert "Command 'x' died" in console.text
    assert "SLURM status is: 'OUT_OF_MEMORY'" in console.text
    assert "external_jobid: 77" in console.text


def test_other_errors_are_shown_at_once(handlers: Any) -> None:
    console = handlers()
    console("WorkflowError:\nno stack 'curent'", LogEvent.ERROR, logging.ERROR, exception="WorkflowError")
    assert "no stack 'curent'" in console.text


def test_retried_job_has_not_failed(handlers: Any) -> None:
    console = handlers()
    begin(console)
    console.job(3, "corpus", name="words")
    console.failed(3)
    console("Trying to restart job 3.")
    console("Complete log(s): /x.log")
    assert "Tried again: corpus words" in console.text
    assert "failed:" not in console.text.splitlines()[-1]


def test_each_failed_job_of_a_group_is_shown(handlers: Any, tmp_path: Path) -> None:
    console, log = handlers(), tmp_path / "x.log"
    log.write_text("oom-kill\n")
    console("", LogEvent.GROUP_ERROR, logging.ERROR, job_error_info=[], aux_logs=[str(log)])
    for number in (1, 2):  # as Snakemake does
        console.failed(number, indent=True)
    assert console.text.count("Failed: weigh") == 2
    assert "oom-kill" in console.text


@pytest.mark.parametrize("option", ["all_lines", "dryrun", "verbose", "printshellcmds", "debug_dag"])
def test_all_lines_of_snakemake_are_shown_on_request(handlers: Any, option: str) -> None:
    console = handlers(**{option: True})
    begin(console)
    console("Building DAG of jobs...")
    console("", LogEvent.PROGRESS, done=1, total=4)
    assert "Building DAG of jobs...\n1 of 4 steps (25%) done\n" in console.text


def test_closed_terminal_ends_nothing(handlers: Any) -> None:
    console = handlers(moves=True)
    begin(console)
    console.job(1, "corpus", name="words")
    console.stream.close()
    console("", LogEvent.PROGRESS, done=1, total=4)
    console.failed(1)
    console.handler.close()


def test_first_log_with_content_is_shown(handlers: Any, tmp_path: Path) -> None:
    console, empty, own, scheduler = handlers(), *(tmp_path / name for name in ("empty.log", "own.log", "77.log"))
    for log, content in ((empty, ""), (own, "killed\n"), (scheduler, "Building DAG of jobs...\n")):
        log.write_text(content)
    console.failed(1, empty, own, scheduler)
    assert console.text.splitlines()[1:] == [f"  its log, {own}:", "    killed", f"  more in {scheduler}"]


def test_repeated_warning_is_shown_once(handlers: Any) -> None:
    console = handlers()
    for _ in range(1000):
        console("No SLURM account given, trying to guess.", level=logging.WARNING)
    assert console.text.count("No SLURM account given") == 1
