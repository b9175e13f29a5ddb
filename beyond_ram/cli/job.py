"""`beyond-ram job`: one line about a scheduler's job, for its script or epilog."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import cast

from ..records.run_json import RunRecord
from .options import add_json_to, waiting_time


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "job",
        help="what a Slurm job used, what it requested, and what to request next",
        description="Print one line: memory that a job used, requested, and should request next time. Reads the "
        "record of a watcher or, on the job's node while it runs, the kernel's counts.",
    )
    parser.add_argument("job", nargs="?", metavar="JOBID", help="default: the current job")
    parser.add_argument("--record", type=Path, metavar="DIR", help="folder of `watch --out DIR`")
    parser.add_argument(
        "--wait", type=waiting_time, default=0.0, metavar="SECONDS", help="wait so long for the record (default: 0)"
    )
    add_json_to(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the line. Raises ValueError if the job does not run on this machine or has no record."""
    from .. import memory_request
    from ..watch import jobs, targets

    job = arguments.job or os.environ.get("SLURM_JOB_ID")
    if arguments.record:
        record = _read(arguments.record / "run.json", arguments.wait)
        line, request = jobs.of_record(record), memory_request.document(record)["request"]
    elif job is None:
        raise ValueError("which job? beyond-ram job JOBID, or within a job of Slurm")
    else:
        target = targets.slurm_job(job, wait_s=arguments.wait)
        if target.group is None:
            raise ValueError(f"job {job}: the kernel keeps no account of its memory here (ConstrainRAMSpace=no?)")
        line, request = jobs.of_group(*target.group)
    arguments.document = {"job": job, "line": line, "request": request}
    print(f"beyond-ram: job {job}: {line}" if job else f"beyond-ram: {line}")
    return 0


def _read(path: Path, wait_s: float) -> "RunRecord":
    until = time.monotonic() + wait_s
    while not path.is_file() and time.monotonic() < until:
        time.sleep(0.1)
    try:
        record = json.loads(path.read_bytes())
        if not isinstance(record, dict) or not isinstance(record.get("peak"), dict) or "kept" not in record["peak"]:
            raise ValueError
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path}: there is none; `beyond-ram watch --out {path.parent}` writes it") from None
    except ValueError:
        raise ValueError(f"{path}: no record of a watcher, or cut") from None
    return cast("RunRecord", record)
