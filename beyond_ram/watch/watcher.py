"""Runs a command and weighs its process tree from outside: samples.csv, events.jsonl and the record for run.json."""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import events, machine, pagecache, record
from .command import Command
from .groups import Group, GroupError
from .live import Line
from .recorder import MAX_LINES
from .sampler import Sampler
from .waiting import Waiting

_PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
RUN_FILES = ("samples.csv", "events.jsonl", "run.json")

OnEvent = Callable[[dict[str, Any], int], None]


class LimitError(RuntimeError):
    """A memory limit that cannot be set here; the text is one line with the reason."""


@dataclass(frozen=True)
class Options:
    """How a command is watched. Sizes in bytes."""

    interval_ms: int = 20
    new_session: bool = False
    stdout: int | None = None
    on_event: OnEvent | None = None
    memory_limit_bytes: int | None = None
    follow: bool = False
    inputs: Sequence[Path] = ()
    live: bool = False
    max_lines: int = MAX_LINES
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float | None = None


def watch(
    command: Sequence[str],
    out: Path,
    *,
    interval_ms: int = 20,
    new_session: bool = False,
    stdout: int | None = None,
    on_event: OnEvent | None = None,
    memory_limit_bytes: int | None = None,
    follow: bool = False,
    inputs: Sequence[Path] = (),
    live: bool = False,
    max_lines: int = MAX_LINES,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> dict[str, Any]:
    """Run a command to its end, write samples.csv and events.jsonl into `out`, and return the record for run.json.

    Signals that reach this process are passed on. `new_session` gives the command a session and process group of its
    own; `on_event` is called with every event of the command and the id of the command's process. With
    `memory_limit_bytes` the command and all below it are killed when they need more; evicting its input first is for
    the caller. What outlives the command is left running and named, unless `follow` asks to go on until all of it has
    ended. `inputs` are files whose page cache residency is recorded before and after; `environment` is added to the
    command's; after `timeout_s` all of it is killed, and the outcome is `timed_out`. Raises OSError where the
    command cannot be started, LimitError where no limit can be set, GuardError where the guard was killed.
    """
    if interval_ms < 1:
        raise ValueError(f"the interval must be at least 1 ms, not {interval_ms}")
    options = Options(
        interval_ms,
        new_session,
        stdout,
        on_event,
        memory_limit_bytes,
        follow,
        tuple(inputs),
        live,
        max_lines,
        environment or {},
        timeout_s,
    )
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".watch-", dir=out))
    try:
        found = _in_group(command, scratch, options)
        for name in RUN_FILES[:2]:
            (scratch / name).replace(out / name)
        return found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_record(found: dict[str, Any], out: Path) -> None:
    """Write run.json, whole or not at all."""
    record.write(found, out / RUN_FILES[2])


def _in_group(command: Sequence[str], scratch: Path, options: Options) -> dict[str, Any]:
    """Watch the command in a memory group of its own, where one can be made."""
    try:
        group, no_group = Group.make(options.memory_limit_bytes), None
    except GroupError as error:
        if options.memory_limit_bytes is not None:
            raise LimitError(f"no memory limit can be set here: {error}") from None
        group, no_group = None, str(error)
    try:
        return _watch(command, scratch, options, group, no_group)
    finally:
        if group:
            group.remove()


def _watch(
    command: Sequence[str], scratch: Path, options: Options, group: Group | None, no_group: str | None
) -> dict[str, Any]:
    raw_events = scratch / "events.raw"
    raw_events.touch()
    resident_before = pagecache.residency(options.inputs)
    environment = machine.environment() | {**options.environment, events.VARIABLE: str(raw_events.resolve())}
    # Blocked signals wait until the loop looks at them between two samples: none is lost, none interrupts.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    waiting = None
    cpu_before = time.process_time()
    try:
        with Command(
            command,
            environment,
            mask={int(number) for number in mask},
            new_session=options.new_session,
            stdout=options.stdout,
            groups=group.processes_files if group else (),
        ) as running:
            reader = events.Reader(raw_events, running.began_s)
            log = events.Log(scratch / RUN_FILES[1])
            sampler = Sampler(
                scratch / RUN_FILES[0], running.began_s, running.guard_pid, group=group, max_lines=options.max_lines
            )
            try:
                waiting = Waiting(_PASSED_ON, raw_events, running.hear)
                log.write([{"t_s": 0.0, "event": "start", "pid": running.pid}])
                sampler.sample()
                ended_by = _follow(running, sampler, reader, log, waiting, options, group)
                duration_s = time.monotonic() - running.began_s
                sampler.finish(duration_s)
                log.write(reader.new())
                left_running = record.left_running(sampler)
                log.write([{"t_s": round(duration_s, 6), "event": "end", "exit_status": running.returncode}])
                killed_for_memory = bool(group and group.killed())
                if killed_for_memory and ended_by is None and options.memory_limit_bytes is not None:
                    ended_by = "killed_at_limit"
                running.leave()
            finally:
                sampler.close()
                reader.close()
                log.close()
    finally:
        if waiting:
            waiting.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    resident_after = pagecache.residency(options.inputs)
    return record.make(
        command=command,
        environment=environment,
        running=running,
        sampler=sampler,
        log=log,
        interval_ms=options.interval_ms,
        duration_s=duration_s,
        sampler_cpu_s=time.process_time() - cpu_before,
        ended_by=ended_by,
        killed_for_memory=killed_for_memory,
        memory_limit_bytes=options.memory_limit_bytes,
        left_running=left_running,
        group=group,
        no_group=no_group,
        residency=(resident_before, resident_after) if options.inputs else None,
    )


def _follow(
    running: Command,
    sampler: Sampler,
    reader: events.Reader,
    log: events.Log,
    waiting: Waiting,
    options: Options,
    group: Group | None,
) -> str | None:
    """Sample until the command ends, taking events, passing signals on; the outcome where it was ended from outside."""
    interval_s = options.interval_ms / 1000
    line = Line() if options.live else None
    ended_by: str | None = None
    now = time.monotonic()
    # What was ended from outside is followed to its last process: all of it has been killed.
    while running.returncode is None or ((options.follow or ended_by is not None) and not running.empty):
        due = now + sampler.interval_s(interval_s)
        spoke, signalled, arrived = waiting.until(due, min(due, sampler.deaf_until_s()))
        for number, sent_by_process in waiting.signals() if signalled else ():
            if sent_by_process:  # a terminal has told the whole foreground group already
                running.send_signal(number)
        if spoke:
            running.listen()
        if not arrived and time.monotonic() < due:
            continue
        now, new = time.monotonic(), reader.new()
        row = _sample(sampler, new, log)
        if options.on_event:
            for event in new:
                options.on_event(event, running.pid)
        if ended_by is None and group and options.memory_limit_bytes is not None and group.killed():
            ended_by = "killed_at_limit"
            running.kill()  # the kernel kills one process; the rest might wait for it for ever
        if ended_by is None and options.timeout_s is not None and now - running.began_s > options.timeout_s:
            ended_by = "timed_out"
            running.kill()
        if line and row:
            line.show(row, sampler.peaks.highest_rss_bytes)
    if line:
        line.clear()
    return ended_by


def _sample(sampler: Sampler, new: list[dict[str, Any]], log: events.Log) -> dict[str, Any] | None:
    """One sample for the events that came, written beside them; after a phase's start the first of that phase."""
    row = None
    for event in new:
        if event["event"] == "phase":
            row = sampler.begin_phase(str(event.get("phase", "")), event["t_s"])
            log.write([events.with_reading(event, row)])
    others = [event for event in new if event["event"] != "phase"]
    if others or row is None:
        row = sampler.sample(event=bool(others))
        log.write([events.with_reading(event, row) for event in others])
    return row
