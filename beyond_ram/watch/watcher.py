"""Run a command and measure its process tree from outside: samples.csv, events.jsonl and the record for run.json.

Whatever happens to the watcher, the command runs to its own end and its status is passed on. The watcher records what
it can, and the record lists what is missing. Three parts ensure this. `Command` starts the command, passes signals on
and learns of its end, with a fallback for each step. The loop here falls back to simpler ways of waiting. All measuring
code (`Instrument`, the folders, the group, the record) runs in steps that turn errors into notes (`Missing`). Only a
memory limit, a time limit, the caller or a user ends a command.
"""

import contextlib
import errno
import json
import math
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import mask_secrets, memory_request
from ..records.run_files import RUN_FILES
from ..records.run_json import ProcessEntry, RunRecord
from . import descriptors, events, groups, instrument, machine, pagecache, procfs, record
from .command import Command, Order
from .delivery import Delivery
from .exit_status import STOP, signal_name
from .groups import GroupError, LimitError
from .hidden import Writes
from .instrument import Instrument
from .kernel_memory import KernelMemory
from .memory_group import Around
from .missing import Missing, one_line
from .outfile import copy
from .reader import choose
from .refused import Errors
from .sampler import Counting
from .sharing import Sharing
from .tree import Tree
from .waiting import PlainWaiting, Waiting

# All that end a process by default, but those of its own errors and of its own writing.
PASSED_ON = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
    signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGIO,
}  # fmt: skip
if hasattr(signal, "SIGRTMIN"):  # macOS has neither
    PASSED_ON |= {signal.SIGPWR, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1)}
_FAILURES = 20
_KILLED_WITHIN_S = 0.5


@dataclass(frozen=True, kw_only=True)
class WatchOptions(instrument.InstrumentOptions):
    """What `watch` is given beside the command."""

    new_session: bool = False
    """Give the command its own session and process group."""
    stdout: int | None = None
    """Descriptor of the command's output; None for this process's."""
    follow: bool = False
    """Wait until all processes of the command have ended, or a signal to stop came; otherwise the remaining ones run on
    and are named."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additions to the command's environment."""
    reports_work: bool = False
    """The command reports when its work is done. It has finished if it reported that, whatever its exit status."""
    reader: str | None = None
    """Reader of processes: `procfs` or `psutil`; None to choose."""
    needed: Callable[[], bool] | None = None
    """Called with every sample; once it returns false, the whole tree is killed and the outcome is `failed`."""


def watch(command: Sequence[str], out: Path | None, options: WatchOptions | None = None) -> RunRecord:
    """Run a command to its end, write samples.csv and events.jsonl into `out`, and return the record for run.json.

    Signals that reach this process are passed on. The record's `missing` lists what could not be recorded; `elsewhere`
    is the folder of files that could not be written to `out`. Raises OSError if the command cannot be started or `out`
    or an input cannot be used, LimitError if the limit cannot be set, GuardError if the guard was killed.
    """
    with contextlib.ExitStack() as stack:
        run = _Run(command, out, options or WatchOptions(), stack)
        with run.missing.step("descriptors"):
            stack.enter_context(descriptors.standard_placeholders())
        # Blocked signals wait until the loop looks at them between two samples: none is lost, none interrupts.
        mask: frozenset[int] = frozenset()
        with run.missing.step("signals") as step:
            mask = frozenset(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON))
            stack.callback(run.quietly, signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        if step.failed:
            run.handle_signals()
        run.notice_stops()
        run.look_at_inputs()
        stack.callback(run.delivery.clean_up)
        run.delivery.make_scratch()
        run.make_group()
        run.look_around()
        content = run.measure(mask)
    return content  # noqa: RET504 (for mypy, the stack might swallow an error)


def ends_by(until: float, pid: int) -> bool:
    """Whether a process has no memory before a monotonic time: what the kernel kills may end after the command."""
    while procfs.memory(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def write_record(content: RunRecord, out: Path) -> None:
    """Write run.json, whole or not at all, with secrets of the command line masked.

    Raises OSError if it cannot be written.
    """
    if "command" in content:
        content = content | {"command": mask_secrets.in_command(content["command"])}
    # In ASCII, because an argument need not be UTF-8.
    copy([(json.dumps(content, indent=2) + "\n").encode()], out / RUN_FILES[2])


class _Run:
    """A watched command with its resources, which `stack` releases."""

    def __init__(
        self, command: Sequence[str], out: Path | None, options: WatchOptions, stack: contextlib.ExitStack
    ) -> None:
        self.command, self.options, self.stack = command, options, stack
        self.reader = choose(options.reader)
        self.missing = Missing()
        self.delivery = Delivery(out, self.missing)
        self.counting = Counting()
        self.no_group: str | None = None
        self.oom_kills: int | None = None
        self.ended_by: str | None = None
        self.signals: list[str] = []
        self.stopped = False
        self.recorded_signals: list[int] = []
        self.killed_s = 0.0
        self.resident: pagecache.Residency | None = None

    def quietly(self, step: Callable[..., object], *arguments: Any) -> None:
        with self.missing.step("tidying up"):
            step(*arguments)

    def handle_signals(self) -> None:
        """If signals cannot be blocked, let Python record them."""
        for number in PASSED_ON:
            with self.missing.step("signals"):
                if signal.getsignal(number) != signal.SIG_IGN:
                    before = signal.signal(number, lambda number, _: self.recorded_signals.append(number))
                    self.stack.callback(self.quietly, signal.signal, number, before)

    def notice_stops(self) -> None:
        """Note it if this process was stopped, however shortly: the signal that ends a stop is seen."""
        why = "this process was stopped, and read nothing meanwhile"
        with self.missing.step("signals"):
            ours = threading.current_thread() is threading.main_thread()
            if ours and signal.getsignal(signal.SIGCONT) == signal.SIG_DFL:
                signal.signal(signal.SIGCONT, lambda *_: self.missing.note(memory_request.UNSEEN, why))
                self.stack.callback(self.quietly, signal.signal, signal.SIGCONT, signal.SIG_DFL)

    def look_at_inputs(self) -> None:
        """Read the page cache of the inputs. Raises OSError for a missing or non-regular file."""
        for path in self.options.inputs:
            wrong: OSError | None = None
            with self.missing.step("page cache"):
                try:
                    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
                        wrong = OSError(errno.EINVAL, "no regular file", str(path))
                except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
                    wrong = error
            if wrong:
                raise wrong
        self.resident = self.missing.attempt("page cache", lambda: pagecache.residency(self.options.inputs), None)

    def look_around(self) -> None:
        """Open the counts of this process's group and of the machine. They must be open before the command starts."""
        self.counting.around = around = self.missing.attempt("the group around", Around.find, None)
        if around:
            self.stack.callback(self.quietly, around.meter.close)
        self.counting.sharing = sharing = self.missing.attempt("shared pages", Sharing, None)
        if sharing:
            self.stack.callback(self.quietly, sharing.close)
        self.oom_kills = self.missing.attempt("kills for lack of memory", machine.oom_kills, None)
        self.counting.kernel = kernel = KernelMemory.open()
        if kernel:
            self.stack.callback(self.quietly, kernel.close)

    def make_group(self) -> None:
        """Make a memory group for the command if possible. Raises LimitError if a limit needs one."""
        try:
            self.counting.group = group = groups.make(self.options.memory_limit_bytes)
            self.stack.callback(self.quietly, group.remove)
            with self.missing.step("writes to files of the kernel"):
                self.counting.writes = writes = Writes(group.path)
                self.stack.callback(self.quietly, writes.close)
        except Exception as error:
            self.no_group = str(error) if isinstance(error, GroupError) else one_line(error)
            if self.options.memory_limit_bytes is not None:
                raise LimitError(f"no memory limit can be set here: {self.no_group}") from None

    def measure(self, mask: frozenset[int]) -> RunRecord:
        """Run the command, measure it, deliver the files, and return the record."""
        options, missing = self.options, self.missing
        raw_events = missing.attempt("events", self._events_file, None)
        environment = self._environment(raw_events)
        measuring = Instrument(options, self.delivery, self.counting)
        measuring.shows = True
        left: list[ProcessEntry] = []
        errors = missing.attempt("the end of standard error", Errors, None)
        running = Command(self._order(environment, mask), missing)
        try:
            running.start()
            if running.no_group:
                self.no_group, self.counting.group = f"the command could not join it: {running.no_group}", None
            with missing.step("samples and events"):
                tree = None if running.guard_pid is None else Tree(running.guard_pid, self.reader)
                measuring.begin(running.began_s, tree, raw_events, {"pid": running.pid})
            self._follow(running, measuring, raw_events)
            duration_s = missing.attempt("duration", lambda: time.monotonic() - running.began_s, 0.0)
            with missing.step("samples and events"):
                left = measuring.finish(duration_s, running.returncode)
            group, around = self.counting.group, self.counting.around
            killed = bool(group and missing.attempt("memory limit", group.killed, False))
            if not group and around and missing.attempt("the group around", around.kills, None):
                killed = bool(around.alone or running.returncode)  # else it may have been a process of others
            if self.ended_by is None and options.memory_limit_bytes is not None and self._killed_at_limit():
                self.ended_by = "killed_at_limit"
                until = time.monotonic() + 1
                left = [process for process in left if not ends_by(until, process["pid"])]
            with missing.step("kills for lack of memory"):
                self._note_kills_elsewhere(measuring)
            if self.stopped and options.follow and left and not running.returncode:
                self.ended_by = self.ended_by or "detached"
            running.leave()
            measuring.deliver()
        finally:
            running.close()
            measuring.close()
        outcome = record.Outcome(
            command=self.command,
            environment=environment,
            pid=running.pid,
            returncode=running.returncode or 0,
            used=running.used,
            ended_by=self.ended_by,
            killed_for_memory=killed,
            duration_s=duration_s,
            left_running=left,
            signals=self.signals,
            refused_bytes=missing.attempt("the end of standard error", errors.refused_bytes, None)
            if errors and running.returncode
            else None,
            no_group=self.no_group,
            resident=self.resident,
            reports_work=options.reports_work,
        )
        return record.make(outcome, measuring)

    def _order(self, environment: Mapping[str, str], mask: frozenset[int]) -> Order:
        options, group = self.options, self.counting.group
        return Order(
            words=self.command,
            environment=environment,
            mask=mask,
            new_session=options.new_session,
            stdout=options.stdout,
            groups=group.processes_files if group else (),
            limited=options.memory_limit_bytes is not None,
            folders=self.delivery.folders,
            group_folders=group.folders if group else (),
            leaf=group.leaf if group else None,
        )

    def _events_file(self) -> Path:
        """Create the file that programs append events to."""
        path = self.delivery.scratch / "events.raw"
        path.touch()
        path.with_name(path.name + events.READ).touch()
        return path

    def _environment(self, raw_events: Path | None) -> dict[str, str]:
        variables: dict[str, str] = self.missing.attempt("LC_CTYPE", machine.environment, dict(os.environ))
        variables.pop(events.VARIABLE, None)
        variables |= self.options.environment
        with self.missing.step("events"):
            if raw_events:
                variables[events.VARIABLE] = str(raw_events)
        return variables

    def _killed_at_limit(self) -> bool:
        group = self.counting.group
        return bool(group and self.missing.attempt("memory limit", group.killed_at_limit, False))

    def _note_kills_elsewhere(self, measuring: Instrument) -> None:
        """Note kills for lack of memory that no followed group counts: on v1 a group inside ours counts its own."""
        now, sampler, group, around = machine.oom_kills(), measuring.sampler, self.counting.group, self.counting.around
        if now is None or self.oom_kills is None or sampler is None:
            return
        counted = ((group and group.meter.kills()) or 0) + ((around and around.kills()) or 0)
        if min(now - self.oom_kills, len(sampler.peaks.killed)) > counted:
            names = ", ".join(filter(None, map(sampler.peaks.name_of, sampler.peaks.killed))) or "some"
            limit = ", or for the memory limit" if self.options.memory_limit_bytes else ""
            why = f"when the kernel killed for lack of memory in a group of theirs or of others{limit}"
            self.missing.note(memory_request.UNSEEN, f"SIGKILL ended processes of it ({names}) {why}")

    def _follow(self, running: Command, measuring: Instrument, raw_events: Path | None) -> None:
        """Sample until the command ends: read events, pass signals on, enforce the limits."""
        waiting = PlainWaiting(PASSED_ON)
        if running.replies >= 0:  # without a guard nothing sends messages
            with self.missing.step("events at once"):
                waiting = Waiting(PASSED_ON, raw_events or Path("/"), running.replies, self.missing)
        failures, due = 0, -math.inf
        try:
            while not self._is_over(running):
                try:
                    due = self._turn(running, measuring, waiting, due)
                except Exception as error:
                    running.raise_fatal()
                    self.missing.note("supervision", error)
                    self.quietly(waiting.close)
                    waiting = PlainWaiting(PASSED_ON)
                    failures += 1
                    if failures > _FAILURES:
                        running.wait_only(PASSED_ON, lambda: self._keep_limits(running, time.monotonic()))
        finally:
            self.quietly(waiting.close)

    def _is_over(self, running: Command) -> bool:
        # A tree that we killed is followed to its last process.
        to_the_last = (self.options.follow and not self.stopped) or self.ended_by is not None
        return running.returncode is not None and (running.empty or not to_the_last)

    def _turn(self, running: Command, measuring: Instrument, waiting: PlainWaiting, due: float) -> float:
        """Wait, handle what arrived, and sample when due. Returns the monotonic time of the next sample."""
        message, signalled, arrived = waiting.until(due, min(due, measuring.ignore_events_until_s()))
        while signalled and (pending := waiting.signal()):
            number, by_process = pending
            if by_process:  # a signal from the terminal has reached the whole foreground group already
                running.send_signal(number)
            self._note_signal(number)
        while self.recorded_signals:
            number = self.recorded_signals.pop(0)
            running.send_signal(number)
            self._note_signal(number)
        running.send_again()
        if message:
            running.listen()
            running.raise_fatal()
        now = time.monotonic()
        if not arrived and now < due:
            return due
        with self.missing.step("samples and events"):
            measuring.look(running.pid)
        self._keep_limits(running, now)
        return now + measuring.interval_s()

    def _note_signal(self, number: int) -> None:
        ignored = signal.getsignal(number) == signal.SIG_IGN  # as below nohup
        if ignored:
            return
        self.stopped = self.stopped or number in STOP
        if (name := signal_name(number)) not in self.signals:
            self.signals.append(name)

    def _keep_limits(self, running: Command, now: float) -> None:
        if self.ended_by is not None:
            if now - self.killed_s > _KILLED_WITHIN_S:
                running.kill_myself()
            return
        self.killed_s = now
        limit_s = self.options.timeout_s
        if self.options.memory_limit_bytes is not None and self._killed_at_limit():
            self.ended_by = "killed_at_limit"
            running.kill()  # the kernel kills one process; the rest might wait for it for ever
        elif limit_s is not None and now - running.began_s > limit_s:
            self.ended_by = "timed_out"
            running.kill()
        elif self.options.needed is not None and not self.options.needed():
            self.ended_by = "failed"
            running.kill()
