"""Measure one cell: private folder, cache state, watched workload, record."""

import hashlib
import json
import re
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from ..experiment import Job, Served, parse
from ..files import DamagedError, end_of, read_json, write
from ..records import cell_runs
from ..records.run_files import COLUMNS, RUN_FILES
from ..records.run_json import RunRecord
from ..stacks.locks import has_package, lock_sha256
from ..stacks.scripts import moved
from ..stacks.variants import reason as cannot_be
from ..text import last_line
from ..units import MB, percent
from ..watch import LimitError, WatchOptions, machine, pagecache, watch, write_record
from ..watch.summary import lacking
from . import integrity, processes, randomised, remedies, served
from .attempts import again_until_done
from .private import private_folder

# Signals of a terminal or a scheduler. A run that they end has no result.
_EXTERNAL_SIGNALS = {"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"}
_NO_ROOM = ", killed for want of memory: this job, or the machine, has too little"
# A smaller share of the input in the page cache makes no run warm.
_STAYED = 0.05
# The names of scripts/corpora/shards.py.
_CORPUS_FILE = re.compile(r"files/[0-9]+\.jsonl")


class MeasuringError(RuntimeError):
    """A cell could not be measured. The message is one line."""


class ProgramError(MeasuringError):
    """A program failed that a run needs beside its own: an outcome of the run."""


@dataclass(frozen=True)
class Setting:
    """A job with its folders on this machine."""

    job: Job
    python: str
    """Python interpreter of the cell's stack."""
    lock: Path
    work: Path
    """Folder for private work folders. It is on the file system that is measured."""
    began: float = field(default_factory=time.monotonic)
    """Start of the measuring, on the clock of `time.monotonic`."""
    code: str | None = None
    """Digest of the cell's code and lock."""
    reads: tuple[Path, ...] = ()
    """Files and folders that it reads beside its input. They are evicted like it."""


def measure(setting: Setting, runs: Path) -> None:
    """Measure one run and write its folder below `runs`. A warm run follows a complete run in the same private folder.

    A program that fails is an outcome. Raises MeasuringError if the run was ended from outside or could not begin, and
    ProgramError if what belongs to it failed: the run before it, the check of its result.
    """
    job = setting.job
    with private_folder(setting.work, job.path) as work:
        prepare(setting, work)
        out = runs / job.path
        if job.limit_mb:
            record = again_until_done(lambda: run_once(setting, work, out), out)
        else:
            record = _measured_served(setting, work, out, job.served) if job.served else run_once(setting, work, out)
        finish(setting, work, out, record)


def _measured_served(setting: Setting, work: Path, out: Path, spec: Served) -> RunRecord:
    """Measure a run together with its endpoint. Add its requests to the record and write requests.csv."""
    if cannot_be(setting.lock):
        return run_once(setting, work, out)
    if spec.storage == "s3" and not has_package(setting.lock, "moto"):
        return not_run(command(setting, work), out, "this stack has no S3 server: its lock lacks moto")
    xet, repository = spec.conditions.get("xet") == "yes", Path(spec.repository)
    if xet and not has_package(setting.lock, "hf-xet"):
        return not_run(command(setting, work), out, "this stack has no Xet: its lock lacks hf-xet")
    if xet or setting.job.workload == "script":  # Xet storage is kept beside the files, and a script may push
        repository = served.copied(repository, work / "served")
    try:
        with served.serving(spec, repository, work, setting.python) as endpoint:
            record = run_once(setting, work, out, WatchOptions(environment=endpoint.environment, needed=endpoint.lives))
    except served.ServingError as reason:
        raise MeasuringError(f"{setting.job.path}: {reason}") from None
    # The endpoint logs a request after answering it, so the log is complete only when the endpoint has ended.
    (out / served.FILE).unlink(missing_ok=True)
    if record["outcome"] != "not_applicable":
        events, requests = cell_runs.events(out), endpoint.requests()
        record["work"] |= served.summary(requests, record["pid"], events)
        served.write_csv(served.joined(requests, record["pid"], events), out / served.FILE)
    return record


def prepare(setting: Setting, work: Path) -> None:
    """Prepare a run: make its input and, for a warm run, the caches of a complete run."""
    if cannot_be(setting.lock):
        return
    integrity.check_interpreter(setting.python)
    integrity.check_packages(setting.python)
    if setting.job.corpus:
        corpus_files(Path(setting.job.corpus, "manifest.json"))
    integrity.check_data(setting.job)
    if setting.job.warmed:
        status, output = processes.run(command(setting, work))
        sys.stderr.write(output.decode(errors="replace"))
        if status:
            raise _error(f"{setting.job.path}: the run before it failed", status)


def command(setting: Setting, work: Path) -> list[str]:
    """The command line of the workload."""
    job = setting.job
    inputs = ["--corpus", job.corpus] if job.corpus else []
    inputs += ["--tokens-dir", job.tokens] if job.tokens else []
    if job.served:
        manifest = read_json(Path(job.served.repository, "manifest.json"))
        inputs += ["--manifest", json.dumps(manifest, sort_keys=True)]
    return [setting.python, job.program, *inputs, "--work-dir", str(work), *job.arguments]


def run_once(setting: Setting, work: Path, out: Path, how: WatchOptions | None = None) -> RunRecord:
    """Run the workload under the watcher. If the cell's cache is cold, evict its input from the page cache first.

    `how` adds to the options that the job has, or replaces its limits.
    """
    how = how or WatchOptions()
    (out / RUN_FILES[2]).unlink(missing_ok=True)  # remove the record of an earlier run
    job = setting.job
    inputs = _inputs(job)
    if job.page_cache == "cold":
        pagecache.evict([*inputs, *(file for place in setting.reads for file in _files(place))])
    elif job.page_cache == "warm":
        pagecache.fill(inputs)
    words = command(setting, work)
    if reason := cannot_be(setting.lock):
        return not_run(words, out, reason)
    try:
        drawn = randomised.environment(seed := secrets.randbits(32))
        # PYTHONPATH may hide packages of the environment.
        environment = drawn | {"PYTHONPATH": ""} | remedies.environment(job.remedy) | {**how.environment}
    except remedies.NotHereError as reason:
        return not_run(words, out, str(reason))
    how = replace(
        how,
        timeout_s=how.timeout_s or job.timeout_s,
        memory_limit_bytes=how.memory_limit_bytes or _limit_bytes(job),
        interval_ms=job.interval_ms,
        stdout=sys.stderr.fileno(),
        inputs=inputs,
        environment=environment,
        reports_work=True,
    )
    try:
        record = watch(words, out, how)
        record["provenance"]["randomised"] = {"seed": seed}
        record.setdefault("page_cache", {})["read_ahead_bytes"] = pagecache.read_ahead_bytes(inputs)
        share = record["page_cache"].get("input_resident_before") or 0
        if job.page_cache == "cold" and share > _STAYED:  # another process maps the input, or it lives there
            why = f"{percent(share)} of the input stayed in the page cache, which the run is not charged for"
            record["missing"].append({"what": "a cold page cache", "why": why})
        for note in lacking(record):
            print(f"{job.path}: {note}", file=sys.stderr)
        return record
    except LimitError as reason:
        if not _limit_bytes(job):
            raise
        return not_run(words, out, str(reason))


def _limit_bytes(job: Job) -> int | None:
    """The hard memory limit of a cell in bytes; None without a limit."""
    if job.limit_mb:
        return int(job.limit_mb * MB)
    if not job.limit_percent or not job.tokens:
        return None
    path = Path(job.tokens, "tokens.json")
    size = read_json(path, "bytes")["bytes"]
    if type(size) is not int or not 0 < size < 1 << 63:
        raise DamagedError(f"{path}: 'bytes' is no size; delete it, and Snakemake makes it again")
    return int(size * job.limit_percent / 100)


def not_run(words: Sequence[str], out: Path, reason: str, outcome: str = "not_applicable") -> RunRecord:
    """The record of a run without readings, as of a cell that cannot run on this machine; its other files are empty."""
    out.mkdir(parents=True, exist_ok=True)
    write(out / RUN_FILES[0], ",".join(COLUMNS) + "\n")
    write(out / RUN_FILES[1], "")
    record = {"outcome": outcome, "reason": reason, "completed_work": False, "command": list(words)}
    record |= dict.fromkeys(("exit_status", "signal", "duration_s", "cpu_s"))
    record |= {"provenance": {"versions": {}, **machine.provenance({})}, "work": {}, "peak": {}, "sampler": {}}
    return cast(RunRecord, record)


def _inputs(job: Job) -> list[Path]:
    """The input files of a run, with those of its corpus."""
    files = [file for place in job.reads for file in _files(Path(place))]
    if job.corpus:
        files += [Path(job.corpus, path) for path in corpus_files(Path(job.corpus, "manifest.json"))[: job.num_files]]
    return files


def corpus_files(manifest: Path) -> list[str]:
    """The files that a corpus manifest lists. Raises DamagedError if one is outside the corpus folder."""
    try:
        paths = [entry["path"] for entry in read_json(manifest, "files")["files"]]
        if all(_CORPUS_FILE.fullmatch(path) for path in paths):
            return paths
    except (TypeError, KeyError):
        pass
    raise DamagedError(f"{manifest}: 'files' is no list of a corpus's files; delete it, and Snakemake makes it again")


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in sorted(place.rglob("*")) if path.is_file()]


def finish(setting: Setting, work: Path, out: Path, record: RunRecord) -> None:
    """Complete the record with the cell, the lock and the results of the checks, and write it.

    Raises MeasuringError if the run was ended from outside, DamagedError if one of its files is incomplete.
    """
    job = setting.job
    check_end(job, record)
    if record["outcome"] == "not_applicable":
        pass
    elif reason := _event_reason(out, "not_applicable"):
        record |= {"outcome": "not_applicable", "reason": reason}
    elif reason := _event_reason(out, "gave_up"):
        record |= {"outcome": "failed", "reason": reason, "completed_work": False}
        print(f"{job.path}: the client gave up: {reason}", file=sys.stderr)
    elif record["completed_work"] and job.checked:
        status, output = processes.run([*command(setting, work), "--check"])
        if status:
            raise _error(f"{job.path}: its ids could not be read back", status)
        record["work"] |= json.loads(output)
    elif record["outcome"] == "failed" and not record["completed_work"]:
        ended = record["signal"] or f"status {record['exit_status']}"
        how = f"failed with {ended}, before its work was done"
        record["reason"] = last_line(printed(job), how)
        print(f"{job.path}: {how}", file=sys.stderr)
    describe(setting, out, record)
    record["provenance"]["commit"] = processes.commit()
    if setting.code:
        record["provenance"]["code_sha256"] = setting.code
        script = dict(zip(job.arguments, job.arguments[1:], strict=False)).get("--script", job.program)
        began = record["started_at"] or 0.0
        if files := integrity.imported_files(cell_runs.events(out), work / "folder", Path(script), began):
            record["provenance"]["imported_sha256"] = files
    record["provenance"]["events_sha256"] = hashlib.sha256((out / RUN_FILES[1]).read_bytes()).hexdigest()
    if other := moved(setting.lock):
        record["provenance"]["moved"] = other
    # Includes time outside the measurement: start of the driver, input, earlier runs, probes, checks. The budget counts
    # it.
    record["measuring_s"] = round(time.monotonic() - setting.began, 3)
    write_record(record, out)
    cell_runs.run(out)
    cell_runs.samples(out)


def describe(setting: Setting, out: Path, record: RunRecord) -> None:
    """Add the cell, the lock and the imported versions to a record. Raises DamagedError if a package was imported from
    another environment."""
    record["provenance"]["versions"] |= integrity.check_imports(setting.python, cell_runs.events(out))
    record["workload"], record["cell"] = setting.job.workload, parse(setting.job.path).parameters()
    record["provenance"]["lock_sha256"] = lock_sha256(setting.lock.stem, setting.lock.parent)


def check_end(job: Job, record: RunRecord) -> None:
    """Raise MeasuringError unless the run ended by itself, at its limit, or because we stopped it on purpose.

    This also holds after the work is done. A program that lost a process for want of memory, or that a signal reached
    through the watcher, did not end by itself.
    """
    disturbed = (record.get("killed_for_memory") or record.get("signals")) and not record["completed_work"]
    killed = record["outcome"] == "failed" and (record["signal"] == "SIGKILL" or disturbed)
    if killed or record["signal"] in _EXTERNAL_SIGNALS:
        why = _NO_ROOM if record["killed_for_memory"] else ""
        how = record["signal"] or f"status {record['exit_status']}"
        raise MeasuringError(f"{job.path}: ended from outside, by {how}{why}")


def _error(what: str, status: int) -> MeasuringError:
    """The error of a program that a run needs beside its own: an outcome, unless a signal from outside ended it."""
    outside = status < 0 and signal.Signals(-status).name in {*_EXTERNAL_SIGNALS, "SIGKILL"}
    return (MeasuringError if outside else ProgramError)(f"{what}: {processes.ending(status)}")


def printed(job: Job) -> str:
    """What the program of a job printed last, if our own standard error is a file, as the log of a rule is."""
    lines = end_of(Path("/dev/fd/2")).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("beyond-ram: ", f"{job.path}: ")))


def write_failed(setting: Setting, folder: Path, reason: str) -> None:
    """Write the record of a run without readings that failed before its work was done."""
    record = not_run([], folder, reason, "failed")
    record |= {"workload": setting.job.workload, "cell": cell_runs.cell(folder), "measuring_s": 0.0}
    if setting.code:
        record["provenance"]["code_sha256"] = setting.code
    write_record(record, folder)


def _event_reason(out: Path, name: str) -> str | None:
    """The reason in a program's event `not_applicable` (nothing to do in this cell) or `gave_up` (the work cannot be
    finished under the cell's conditions)."""
    return next((str(event["reason"]) for event in cell_runs.events(out) if event["event"] == name), None)
