"""What the terminal says where no real call comes to (rules/test_terminal.py): long runs, a narrow terminal, logs."""

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


class Said:
    """A handler, and what it has written."""

    def __init__(self, handler: LogHandler, stream: Terminal) -> None:
        self.handler, self.stream = handler, stream

    def __call__(
        self, message: str, event: LogEvent | None = None, level: int = logging.INFO, file: str = "x.py", **known: Any
    ) -> None:
        record = logging.LogRecord("snakemake", level, file, 1, message, None, None)
        vars(record).update(known)
        if event:
            vars(record)["event"] = event
        self.handler.emit(record)

    def job(self, number: int, rule: str, **wildcards: str) -> None:
        self("", LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards, output=["x"])

    def failed(self, number: int, *logs: Path, **known: Any) -> None:
        job = {
            "jobid": number,
            "rule_name": "weigh",
            "rule_msg": None,
            "output": [],
            "aux": {},
            "indent": False,
        }
        known = job | {"log": [str(log) for log in logs]} | known
        self("", LogEvent.JOB_ERROR, logging.ERROR, **known)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[LogHandler] = []
    monkeypatch.setattr(terminal.os, "get_terminal_size", lambda _: SimpleNamespace(columns=40))
    monkeypatch.setenv("TERM", "xterm")

    def make(*, moves: bool = False, all_lines: bool = False, **asked: Any) -> Said:
        stream = Terminal(moves=moves)
        monkeypatch.setattr(terminal.sys, "stderr", stream)
        common = dict.fromkeys(("dryrun", "verbose", "printshellcmds", "debug_dag", "stdout", "nocolor"), False)
        known: Any = SimpleNamespace(**(common | {"quiet": None, "nocolor": True} | asked))
        handler = LogHandler(known, LogHandlerSettings(all_lines=all_lines))
        handler.setFormatter(DefaultFormatter())
        made.append(handler)
        return Said(handler, stream)

    yield make
    for handler in made:
        handler.close()


def begin(said: Said, steps: int = 9) -> None:
    said("Workflow has started!", LogEvent.WORKFLOW_STARTED)
    said("stats", LogEvent.RUN_INFO, stats={"total": steps})


def test_elsewhere_than_on_a_terminal_lines_become_rare(handlers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    said = handlers()
    begin(said, 20000)
    at = []
    for number in range(20000):  # five and a half hours, a job a second
        said.job(number, "corpus", name="c")
        now[0] += 1
        before = said.text.count("\n")
        said("", LogEvent.PROGRESS, done=number, total=20000)
        if said.text.count("\n") > before:
            at.append(number)
        said("", LogEvent.JOB_FINISHED, job_id=number)
    assert 40 < said.text.count("\n") < 90
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert gaps[0] < gaps[-1] < 20000 / 9
    assert "\r" not in said.text
    assert "\x1b" not in said.text


def test_on_a_terminal_the_line_is_cut_to_its_width_and_gone_at_the_end(handlers: Any) -> None:
    said = handlers(moves=True)
    begin(said)
    said("", status=Status("weighed 3 of 8 runs, about 7 min left", lambda outputs: ""))
    said.job(1, "weigh", run="growth/" + "long" * 99)
    said("Complete log(s): /somewhere/x.log")
    drawn = said.text.split("\r\x1b[K")
    assert "0 of 9 steps, weighed 3 of 8 runs, abou" in drawn
    assert all(len(line) < 40 for line in drawn if "log" not in line)
    *_, last = drawn
    assert last.startswith("0 of 9 steps in less than a minute. Snakemake's log: /somewhere/x.log")


def test_jobs_that_run_are_counted_where_they_are_many(handlers: Any) -> None:
    said = handlers(moves=True)
    said("", LogEvent.RUN_INFO, stats={"total": 9})
    for number in range(5):
        said.job(number, "figure_staircase")
    assert said.handler._text() == "0 of 9 steps: figure staircase (0 s), figure staircase (0 s), 3 more"
    for number in range(5):
        said("", LogEvent.JOB_FINISHED, job_id=number)
    assert said.handler._text() == ""


def test_of_a_long_log_the_end_is_shown_and_that_is_said(handlers: Any, tmp_path: Path) -> None:
    said, log = handlers(), tmp_path / "x.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    said.failed(1, log)
    assert f"{log}, the last 60 of 1000 lines:" in said.text
    assert "line 999" in said.text
    assert "line 939\n" not in said.text


@pytest.mark.parametrize("content", ["", None], ids=["empty", "missing"])
def test_without_a_log_the_command_is_told(handlers: Any, tmp_path: Path, content: str | None) -> None:
    said, log = handlers(), tmp_path / "x.log"
    if content is not None:
        log.write_text(content)
    said("RuleException:\nCommand 'x' died", LogEvent.ERROR, logging.ERROR, exception="RuleException")
    assert said.text == ""
    said.failed(1, log, rule_msg="SLURM status is: 'OUT_OF_MEMORY'", aux={"external_jobid": "77"})
    assert "Command 'x' died" in said.text
    assert "SLURM status is: 'OUT_OF_MEMORY'" in said.text
    assert "external_jobid: 77" in said.text


def test_another_error_is_told_at_once(handlers: Any) -> None:
    said = handlers()
    said("WorkflowError:\nno stack 'curent'", LogEvent.ERROR, logging.ERROR, exception="WorkflowError")
    assert "no stack 'curent'" in said.text


def test_a_job_that_is_tried_again_has_not_failed(handlers: Any) -> None:
    said = handlers()
    begin(said)
    said.job(3, "corpus", name="words")
    said.failed(3)
    said("Trying to restart job 3.")
    said("Complete log(s): /x.log")
    assert "Tried again: corpus words" in said.text
    assert "failed:" not in said.text.splitlines()[-1]


def test_jobs_of_a_group_are_told_each(handlers: Any, tmp_path: Path) -> None:
    said, log = handlers(), tmp_path / "x.log"
    log.write_text("oom-kill\n")
    said("", LogEvent.GROUP_ERROR, logging.ERROR, job_error_info=[], aux_logs=[str(log)])
    for number in (1, 2):  # as Snakemake goes on
        said.failed(number, indent=True)
    assert said.text.count("Failed: weigh") == 2
    assert "oom-kill" in said.text


@pytest.mark.parametrize("asked", ["all_lines", "dryrun", "verbose", "printshellcmds", "debug_dag"])
def test_asked_for_all_lines_come_as_snakemake_writes_them(handlers: Any, asked: str) -> None:
    said = handlers(**{asked: True})
    begin(said)
    said("Building DAG of jobs...")
    said("", LogEvent.PROGRESS, done=1, total=4)
    assert "Building DAG of jobs...\n1 of 4 steps (25%) done\n" in said.text


def test_a_terminal_that_goes_away_ends_nothing(handlers: Any) -> None:
    said = handlers(moves=True)
    begin(said)
    said.job(1, "corpus", name="words")
    said.stream.close()
    said("", LogEvent.PROGRESS, done=1, total=4)
    said.failed(1)
    said.handler.close()


def test_of_several_logs_the_first_that_says_something_is_shown(handlers: Any, tmp_path: Path) -> None:
    said, empty, own, scheduler = handlers(), *(tmp_path / name for name in ("empty.log", "own.log", "77.log"))
    for log, content in ((empty, ""), (own, "killed\n"), (scheduler, "Building DAG of jobs...\n")):
        log.write_text(content)
    said.failed(1, empty, own, scheduler)
    assert said.text.splitlines()[1:] == [f"  its log, {own}:", "    killed", f"  more in {scheduler}"]


def test_the_same_warning_of_each_job_comes_once(handlers: Any) -> None:
    said = handlers()
    for _ in range(1000):
        said("No SLURM account given, trying to guess.", level=logging.WARNING)
    assert said.text.count("No SLURM account given") == 1
