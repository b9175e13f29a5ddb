"""The line of progress and the messages that are shown, which real calls in rules/test_terminal.py do not reach."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from beyond_ram.workflow import terminal
from beyond_ram.workflow.terminal import LogHandler


class Terminal(io.StringIO):
    def __init__(self, *, redraws):
        super().__init__()
        self.redraws = redraws

    def isatty(self):
        return self.redraws


class Console:
    """A handler and its output."""

    def __init__(self, handler, stream):
        self.handler, self.stream = handler, stream

    def __call__(self, message, event=None, level=logging.INFO, **fields):
        record = logging.LogRecord("snakemake", level, "x.py", 1, message, None, None)
        vars(record).update(fields | ({"event": event} if event else {}))
        self.handler.emit(record)

    def job(self, number, rule, **wildcards):
        self("", LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards)

    @property
    def lines(self):
        return [line.partition(" ")[2] for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def console_of(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")

    def make(*, redraws=False, **options):
        stream = Terminal(redraws=redraws)
        monkeypatch.setattr(terminal.sys, "stderr", stream)
        common = dict.fromkeys(("dryrun", "verbose", "printshellcmds", "debug_dag", "stdout"), False)
        settings = SimpleNamespace(**(common | {"quiet": None, "nocolor": True} | options))
        handler = LogHandler(settings, None)
        handler.setFormatter(DefaultFormatter())
        console = Console(handler, stream)
        console("Workflow has started!", LogEvent.WORKFLOW_STARTED)
        console("stats", LogEvent.RUN_INFO, stats={"measure": 3, "measure_interrupted": 1, "total": 9})
        return console

    return make


def test_line_has_runs_experiment_and_time_left(console_of, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    console = console_of()
    console("", LogEvent.PROGRESS, done=1, total=9)
    console.job(1, "tokens", tokens="few")
    for number in (2, 3):
        console.job(number, "measure", run=f"growth/stack~current/rep~{number}")
        now[0] += 120
        console("", LogEvent.JOB_FINISHED, job_id=number)
    console.job(4, "measure_interrupted", interrupted_head="staircase/stack~current", interrupted_tail="rep~1")
    assert console.lines == [
        "1 of 9 steps: tokens few",
        "measured 0 of 4 runs: growth",
        "measured 1 of 4 runs, about 6 min left: growth",
        "measured 2 of 4 runs, about 4 min left: staircase",
    ]


def test_line_on_a_terminal_is_cut_and_wiped_before_a_message(console_of, tmp_path, monkeypatch):
    console = console_of(redraws=True)
    console.job(1, "measure", run="long" * 99)
    summary = tmp_path / "summary.txt"
    summary.write_text("3 runs of 1 setting.\n2 runs failed, the first in experiment x: late (logs)\nNo finding.\n")
    monkeypatch.setattr(terminal, "BRIEF", [str(summary)])
    console("Nothing to be done")
    _, line, message = console.stream.getvalue().split("\r\x1b[K")
    assert len(line) == 39
    assert message == "Nothing to be done\n2 runs failed, the first in experiment x: late (logs)\n"


def test_errors_and_warnings_are_shown_and_other_messages_are_not(console_of):
    console = console_of()
    console("Select jobs to execute...")
    console("WorkflowError: no stack", LogEvent.ERROR, logging.ERROR, exception="WorkflowError")
    console("No account given", level=logging.WARNING)
    assert console.stream.getvalue() == "WorkflowError: no stack\nNo account given\n"


@pytest.mark.parametrize("option", ["dryrun", "verbose", "printshellcmds", "debug_dag"])
def test_all_lines_of_snakemake_are_shown_on_request(console_of, option):
    console = console_of(**{option: True})
    console("Building DAG of jobs...")
    console("", LogEvent.PROGRESS, done=1, total=4)
    assert "Building DAG of jobs...\n1 of 4 steps (25%) done\n" in console.stream.getvalue()


def test_no_secret_of_a_failed_job_is_shown(console_of, tmp_path):
    """Its command, and its log, which what is open in the command does not hide."""
    log = tmp_path / "log"
    log.write_text("working\nValueError: bad token=hunter2\n")
    console = console_of()
    console.handler.setFormatter(DefaultFormatter(show_failed_logs=True))
    shell = """x --arguments '["--token", "hunter2'"""
    job = {"rule_name": "measure", "jobid": 1, "input": [], "output": [], "log": [str(log)], "conda_env": None}
    console("", LogEvent.JOB_ERROR, level=logging.ERROR, shellcmd=shell, aux={}, **job)
    shown = console.stream.getvalue()
    assert "hunter2" not in shown and "--token" in shown and "working\nValueError: bad token=***" in shown


@pytest.mark.parametrize(
    "changed",
    [
        {"reason": "Params have changed: before: --token=hunter2"},
        {"reason": "Params have changed: before: '--token',\n'hunter2'"},
        {"input": ["https://me:hunter2@host/x~1"]},
    ],
)
def test_no_secret_of_a_planned_job_is_shown(console_of, changed):
    console = console_of(dryrun=True)
    run = "growth/stack~current/num_files~1/rep~1"
    job = {"rule_name": "measure", "jobid": 7, "input": ["a/manifest.json"], "output": [f"runs/{run}/run.json"]}
    job |= {"log": [], "reason": "Forced execution", "wildcards": {"run": run}, "priority": 3, "rule_msg": None}
    job |= {"benchmark": None, "resources": {}, "threads": 1, "is_checkpoint": False, "is_handover": False}
    job |= {"local": False, "indent": ""}
    console("", LogEvent.JOB_INFO, **job)
    plain = console.stream.getvalue()
    assert f"    output: runs/{run}/run.json\n" in plain
    assert "    jobid: 7\n    reason: Forced execution\n" in plain
    console("", LogEvent.JOB_INFO, **job | changed)
    assert "hunter2" not in console.stream.getvalue()
    assert "***" in console.stream.getvalue()
