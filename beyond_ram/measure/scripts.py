"""One run of a script outside of any config: its job, outcome, answer and numbers."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from ..experiment import Cell, Job
from ..experiment.workloads.base import PROGRAMS
from ..experiment.workloads.script import NO_ARGUMENTS, ScriptExperiment, arguments
from ..files import end_of, write
from ..metrics import Events, Record, derive
from ..records import cell_runs
from ..records.run_json import RunRecord, WorkEntry
from ..shipped import FILES
from ..text import last_line
from ..watch import WatchOptions, write_record
from . import processes
from .cell import MeasuringError, Setting, check_end, command, describe, run_once
from .plan import Member, Run
from .private import private_folder

ERRORS = "stderr"
"""Where a program that runs apart writes its errors, in its work folder."""
_MISSING = re.compile(r"(?:No module named|Missing optional dependency) '(\w+)")


def cell_of(experiment: str, stack: str, script: Path, repeat: int, words: Sequence[str] = ()) -> Cell:
    """The cell of a run, for paths and records, which do not repeat the arguments: they may have secrets."""
    axes = (
        ("stack", _plain(stack)),
        ("script", _plain(script.stem)),
        ("arguments", "given" if words else NO_ARGUMENTS),
        ("side", NO_ARGUMENTS),
    )
    return Cell(experiment, axes, repeat)


def job_of(cell: Cell, script: Path, words: Sequence[str]) -> Job:
    """The job of a run."""
    program = str(FILES / PROGRAMS / ScriptExperiment.PROGRAM)
    return Job(path=cell.path, workload=ScriptExperiment.name(), program=program, page_cache="kept",
               arguments=arguments(str(script), list(words)))  # fmt: skip


def measure(
    setting: Setting,
    runs: Path,
    of: tuple[Member, int, str],
    masked: Sequence[str] = (),
    how: WatchOptions | None = None,
) -> Run:
    """Measure a run and write its folder below `runs`; `of` are its member, number and block. A failed run is a result
    too, `failed` with the kind of the error.

    Versions in `masked` count as equal when answers are compared. Raises MeasuringError if the run was ended from
    outside.
    """
    out = runs / setting.job.path
    out.mkdir(parents=True, exist_ok=True)
    with private_folder(setting.work, setting.job.path) as work:
        record = run_once(errors_apart(setting), work, out, how)
        check_end(setting.job, record)
        errors = end_of(work / ERRORS)
        write(out / "stderr.txt", errors)
        answer: WorkEntry = _answer(setting, work, masked) if record["outcome"] == "completed" else {}
    record["work"] |= answer
    describe(setting, out, record)
    write_record(record, out)
    completed, began = record["outcome"] == "completed", record["started_at"] or 0.0
    reason = reason_of(errors, record) if record["outcome"] == "failed" else ""
    return Run(
        *of, f"failed: {_kind(reason)}" if reason else record["outcome"], reason, answer.get("answer_sha256"),
        numbers_of(record, cell_runs.events(out)) if completed else {}, began, began + (record["duration_s"] or 0.0),
        setting.job.path,
    )  # fmt: skip


def numbers_of(record: Record, events: Events) -> dict[str, float]:
    """The metrics of a run that are numbers."""
    return {name: float(value) for name, value in derive(record, events).items() if isinstance(value, int | float)}


def errors_apart(setting: Setting) -> Setting:
    """The setting, changed so that the program writes its errors into its work folder."""
    job = setting.job
    return replace(setting, job=job.but(arguments=(*job.arguments, "--apart")))


def _answer(setting: Setting, work: Path, masked: Sequence[str]) -> WorkEntry:
    status, output = processes.run([*command(setting, work), "--check", *(f"--mask={one}" for one in masked)])
    if status:
        raise MeasuringError(f"{setting.job.path}: its answer could not be read: {processes.ending(status)}")
    return cast(WorkEntry, json.loads(output))


def reason_of(errors: str, record: RunRecord) -> str:
    """The last line of a failed run's errors, or how it ended."""
    return str(record.get("reason") or record["signal"] or last_line(errors, f"exit status {record['exit_status']}"))


def failure(errors: str, record: RunRecord) -> str:
    """The last line of a failed run's errors, or how it ended, and what may be missing."""
    reason = reason_of(errors, record)
    return f"{reason}{missing_package(reason)}"


def missing_package(reason: str) -> str:
    """The end of a message about an error: how to add the package that it misses; empty if it misses none."""
    match = _MISSING.search(reason)
    return f"; if its package is missing: --with {match[1]}, or PEP 723 metadata in the script" if match else ""


def _kind(reason: str) -> str:
    """The kind of an error: its type without its message."""
    match = re.match(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit)?)(?=:|$)", reason)
    return match[1] if match else reason[:60]


def _plain(name: str) -> str:
    """A name that is valid in a path."""
    return re.sub(r"[^A-Za-z0-9._+-]", "-", name) or "script"
