"""Runs a command and weighs its process tree from outside: samples.csv, events.jsonl and the record for run.json."""

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import events, machine
from .sampler import HASTE, Sampler

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)
_PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
RUN_FILES = ("samples.csv", "events.jsonl", "run.json")


def watch(
    command: Sequence[str],
    out: Path,
    *,
    interval_ms: int = 20,
    new_session: bool = False,
    stdout: int | None = None,
    on_event: Callable[[dict[str, Any], int], None] | None = None,
) -> dict[str, Any]:
    """Run a command to its end, write samples.csv and events.jsonl into `out`, and return the record for run.json.

    Signals that reach this process are passed on. `new_session` gives the command a session and process group of its
    own; `on_event` is called with every event of the command and the id of the command's process. Raises OSError where
    the command cannot be started.
    """
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".watch-", dir=out))
    try:
        record = _watch(command, scratch, interval_ms, new_session, stdout, on_event)
        for name in RUN_FILES[:2]:
            (scratch / name).replace(out / name)
        return record
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_record(record: dict[str, Any], out: Path) -> None:
    """Write run.json, whole or not at all."""
    temporary = out / ".run.json.partial"
    temporary.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(out / RUN_FILES[2])


def _watch(
    command: Sequence[str],
    scratch: Path,
    interval_ms: int,
    new_session: bool,
    stdout: int | None,
    on_event: Callable[[dict[str, Any], int], None] | None,
) -> dict[str, Any]:
    raw_events = scratch / "events.raw"
    raw_events.touch()
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    watcher = os.getpid()
    # Blocked signals wait in a queue until the loop looks at them between two samples: none is lost, none interrupts.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})

    def in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != watcher:
            os._exit(1)

    usage_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_s = time.monotonic()
    reader = events.Reader(raw_events, start_s)
    sampler = Sampler(scratch / RUN_FILES[0], start_s, watcher)
    seen: list[dict[str, Any]] = []
    try:
        process = subprocess.Popen(
            command,
            env=os.environ | {events.VARIABLE: str(raw_events.resolve())},
            start_new_session=new_session,
            stdout=stdout,
            preexec_fn=in_child,
        )
        cpu_before = time.process_time()
        seen.append({"t_s": 0.0, "event": "start", "pid": process.pid})
        sampler.sample()
        _follow(process, sampler, reader, seen, interval_ms / 1000, on_event)
        seen += reader.new()
    finally:
        sampler.close()
        reader.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    duration_s = time.monotonic() - start_s
    seen.sort(key=lambda event: event["t_s"])
    seen.append({"t_s": round(duration_s, 6), "event": "end", "exit_status": process.returncode})
    with (scratch / RUN_FILES[1]).open("w", encoding="utf-8") as handle:
        handle.writelines(json.dumps(event, ensure_ascii=False) + "\n" for event in seen)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage.ru_utime + usage.ru_stime - usage_before.ru_utime - usage_before.ru_stime
    return _record(
        command, process.returncode, sampler, seen, interval_ms, duration_s, cpu_s, time.process_time() - cpu_before
    )


def _follow(
    process: "subprocess.Popen[bytes]",
    sampler: Sampler,
    reader: events.Reader,
    seen: list[dict[str, Any]],
    interval_s: float,
    on_event: Callable[[dict[str, Any], int], None] | None,
) -> None:
    """Sample until the command ends, taking events, passing signals on."""
    due = time.monotonic() + interval_s
    while process.poll() is None:
        arrived = signal.sigtimedwait(_PASSED_ON | {signal.SIGCHLD}, max(0.0, due - time.monotonic()))
        if arrived:
            # A terminal has told the whole foreground group already; such a signal's code is positive.
            if arrived.si_signo != signal.SIGCHLD and arrived.si_code <= 0:
                process.send_signal(arrived.si_signo)
            continue
        new = reader.new()
        for event in new:
            if event["event"] == "phase":
                sampler.phase = str(event.get("phase", ""))
        row = sampler.sample(proportional=bool(new))
        for event in new:
            seen.append(events.with_reading(event, row))
            if on_event:
                on_event(event, process.pid)
        due = max(due + (interval_s / HASTE if sampler.peaking else interval_s), time.monotonic())


def _record(
    command: Sequence[str],
    returncode: int,
    sampler: Sampler,
    seen: list[dict[str, Any]],
    interval_ms: int,
    duration_s: float,
    cpu_s: float,
    sampler_cpu_s: float,
) -> dict[str, Any]:
    said = {event["event"]: event for event in seen}
    work = {k: said["work"][k] for k in ("rows", "bytes_in", "tokens") if k in said["work"]} if "work" in said else {}
    for event in seen:  # a process that reports its own mark knows it more exactly than the last sample before its end
        known = sampler.processes.get(event.get("pid", -1))
        if known and event.get("hwm_bytes", 0) > known["hwm_bytes"]:
            known["hwm_bytes"] = event["hwm_bytes"]
    marks = sorted(sampler.processes.values(), key=lambda entry: -entry["hwm_bytes"])
    return {
        "outcome": "completed" if returncode == 0 else "failed",
        "completed_work": "work" in said if any(e["event"] == "phase" for e in seen) else returncode == 0,
        "exit_status": returncode if returncode >= 0 else None,
        "signal": signal.Signals(-returncode).name if returncode < 0 else None,
        "command": list(command),
        "pid": next(event["pid"] for event in seen if event["event"] == "start"),
        "cell": {},
        "provenance": {"versions": said.get("provenance", {}).get("versions", {}), **machine.provenance()},
        "work": work,
        "peak": {
            **sampler.peak,
            "pss_bytes": sampler.peak_pss_bytes,
            "hwm_bytes": {
                "processes": marks[:64],
                "sum_upper_bound_bytes": sum(entry["hwm_bytes"] for entry in marks),
            },
            "cgroup_bytes": None,
        },
        "sampler": {
            "interval_ms": interval_ms,
            "samples": sampler.samples,
            "duty_cycle": round(sampler_cpu_s / max(duration_s, 1e-9), 5),
        },
        "duration_s": round(duration_s, 6),
        "cpu_s": round(cpu_s, 3),
    }
