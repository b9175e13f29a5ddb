"""What holds the memory of a program at its end: a run of its own, in which that is released. It is never compared."""

import time
from collections.abc import Callable
from pathlib import Path

from ..experiment import Job
from ..experiment.workloads.base import PROGRAMS, WHY_PROGRAM
from ..experiment.workloads.script import ScriptExperiment, arguments
from ..files import end_of, read_json, write
from ..records import cell_runs
from ..records.run_json import WhyEntry
from ..shipped import FILES
from ..stacks.locks import has_package
from ..text import foreign
from ..watch import WatchOptions, write_record
from .cell import MeasuringError, Setting, check_end, run_once
from .private import private_folder
from .scripts import ERRORS, errors_apart, failure, reason_of

_PROGRAM = str(FILES / PROGRAMS / WHY_PROGRAM)
# As the program writes it.
_RESULT, _LAST = "why.json", "sites"
# memray sees each object only where Python takes it from malloc.
_MEMRAY = {"PYTHONMALLOC": "malloc"}
# Releasing takes longer than the run: many times as long as it at most, and some minutes.
_PATIENCE, _PATIENCE_S = 10, 300


class EndedEarlyError(MeasuringError):
    """The script ended before what it holds could be released."""


def add_why(setting: Setting, runs: Path) -> None:
    """Run a cell's program once more, and put what holds its memory at its end into the record of its run.

    Nothing is done for a run that did not finish its work. Raises MeasuringError where the run was ended from outside.
    """
    out = runs / setting.job.path
    record = cell_runs.record(out)
    if not record["completed_work"]:
        return
    with private_folder(setting.work, f"why/{setting.job.path}") as folder:
        try:
            record["why"] = explain(setting, folder, _PATIENCE * (record["duration_s"] or 0.0) + _PATIENCE_S)
        except EndedEarlyError as reason:
            record["why"] = {"not_run": str(reason)}
    without = record["measuring_s"]
    record["measuring_s"] = round(time.monotonic() - setting.began, 3)
    record["why"]["measuring_s"] = record["measuring_s"] - without
    write_record(record, out)


def explain(setting: Setting, out: Path, timeout_s: float, show: Callable[[str], None] = lambda line: None) -> WhyEntry:
    """Run the script and release what it holds at its end; the result of the program, with the peak of the run.

    With memray in its environment a second run gives the call sites of what stayed. Raises EndedEarlyError where a run
    has no result, MeasuringError where it was ended from outside.
    """
    show("running the script, and releasing what it holds")
    result = _explained(setting, out / "run", timeout_s)
    if has_package(setting.lock, "memray"):
        show("running it again under memray")
        result["sites"] = _explained(setting, out / "memray", timeout_s, memray=True)["sites"]
    return result


def _explained(setting: Setting, out: Path, timeout_s: float, memray: bool = False) -> WhyEntry:
    job = setting.job.but(program=_PROGRAM, arguments=(*_script(setting.job), *(["--memray"] if memray else [])))
    setting = errors_apart(Setting(job, setting.python, setting.lock, setting.work))
    out.mkdir(parents=True, exist_ok=True)
    with private_folder(setting.work, job.path) as work:
        record = run_once(setting, work, out, WatchOptions(timeout_s=timeout_s, environment=_MEMRAY if memray else {}))
        errors = end_of(work / ERRORS)
        write(out / "stderr.txt", errors)
        write_record(record, out)
        check_end(job, record)
        path = work / _RESULT
        if not path.is_file():
            raise EndedEarlyError(f"cannot say: the script ended early: {failure(errors, record)}")
        result: WhyEntry = read_json(path, "steps")
    error = result.get("error") or (reason_of(errors, record) if result.get("status") else "")
    result["error"] = foreign(error) or None
    if _LAST not in result:
        result["ended_early"] = str(record["signal"] or f"{record['outcome']}, exit status {record['exit_status']}")
    # The heap at the end is read from inside, maybe after the last sample.
    return result | {"peak_bytes": max(record["peak"]["anon_bytes"] or 0, result["end_bytes"])}


def _script(job: Job) -> tuple[str, ...]:
    """The file to run as a script, and its arguments. A program of ours also takes a work folder."""
    own = job.workload == ScriptExperiment.name()
    return job.arguments if own else arguments(job.program, [*job.arguments, "--work-dir", "work"])
