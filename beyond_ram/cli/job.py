"""`beyond-ram job`: a line on a scheduler's job, for its script or its epilog."""

import argparse
import json
import os
import time
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "job",
        help="one line on a job of Slurm: used, asked for, next time",
        description="One line: what a job used, what it asked for, what to ask for next time. From the record of a "
        "watcher, or, on its node while it runs, from the kernel's account of it.",
    )
    parser.add_argument("job", nargs="?", metavar="JOBID", help="default: the job that this runs in")
    parser.add_argument("--record", type=Path, metavar="DIR", help="folder of a watcher's run.json (watch --out DIR)")
    parser.add_argument(
        "--wait", type=_seconds, default=0.0, metavar="SECONDS", help="for the record to be there (default: 0)"
    )
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: a time to wait is from 0 to 3600 seconds")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Raises ValueError where there is no such job here, or no record."""
    from ..watch import jobs, targets

    job = arguments.job or os.environ.get("SLURM_JOB_ID")
    if arguments.record:
        line = jobs.of_record(_read(arguments.record / "run.json", arguments.wait))
    elif job is None:
        raise ValueError("which job? beyond-ram job JOBID, or within a job of Slurm")
    else:
        target = targets.slurm_job(job, wait_s=arguments.wait)
        if target.group is None:
            raise ValueError(f"job {job}: the kernel keeps no account of its memory here (ConstrainRAMSpace=no?)")
        line = jobs.of_group(*target.group)
    print(f"beyond-ram: job {job}: {line}" if job else f"beyond-ram: {line}")
    return 0


def _read(path: Path, wait_s: float) -> dict[str, object]:
    until = time.monotonic() + wait_s
    while not path.is_file() and time.monotonic() < until:
        time.sleep(0.1)
    try:
        record = json.loads(path.read_bytes())
        if not isinstance(record, dict) or not isinstance(record.get("peak"), dict) or "kept" not in record["peak"]:
            raise ValueError
    except FileNotFoundError:
        raise ValueError(f"{path}: there is none; `beyond-ram watch --out {path.parent}` writes it") from None
    except ValueError:
        raise ValueError(f"{path}: no record of a watcher, or cut") from None
    return record
