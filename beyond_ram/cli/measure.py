"""`beyond-ram measure`: measure one cell, as called by the rules."""

import argparse
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiment import Job


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("measure", help="measure one cell of an experiment (called by rules)")
    parser.add_argument("--runs", type=Path, required=True, help="folder for all runs")
    parser.add_argument("--work", type=Path, required=True, help="folder for private work folders")
    parser.add_argument("--python", required=True, help="interpreter of the stack")
    parser.add_argument("--lock", type=Path, required=True, help="lock of the stack")
    parser.add_argument("--code", help="digest of the code and lock, for the record")
    parser.add_argument(
        "jobs", nargs="+", metavar="JOB", help="a job as JSON; two for an interrupted run and its rerun"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..measure.cell import ProgramError, Setting, measure, printed, write_failed
    from ..measure.interruption import measure_interrupted
    from ..measure.limit import measure_limit
    from ..measure.processes import age_s
    from ..measure.why import add_why
    from ..parent_process import end_with_snakemake, restore_threads
    from ..records.run_files import RUN_FILES
    from ..text import last_line

    # If the user ends the run, delete the private folder too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    end_with_snakemake()
    restore_threads()
    jobs = [_job(job) for job in arguments.jobs]
    # The budget includes the start of this interpreter.
    began = time.monotonic() - age_s()
    settings = [
        Setting(job, arguments.python, arguments.lock, arguments.work, began=began, code=arguments.code) for job in jobs
    ]
    try:
        if len(settings) == 1:
            (measure_limit if jobs[0].find_limit else measure)(settings[0], arguments.runs)
            if jobs[0].why:
                add_why(settings[0], arguments.runs)
        else:
            interrupted, rerun = settings
            measure_interrupted(interrupted, rerun, arguments.runs)
    except ProgramError as error:
        print(f"beyond-ram: {error}", file=sys.stderr)
        for setting in settings:
            folder = arguments.runs / setting.job.path
            if not (folder / RUN_FILES[2]).exists():
                write_failed(setting, folder, last_line(printed(setting.job), str(error)))
    return 0


def _job(text: str) -> "Job":
    """Read a job. Raises ValueError if it is invalid."""
    from pydantic import ValidationError

    from ..experiment import Job, parse

    try:
        job = Job.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"JOB: {'.'.join(map(str, fault['loc'])) or 'no job in JSON'}: {fault['msg']}") from None
    parse(job.path)
    return job
