"""Follow a running program until it ends or the user stops.

Nothing is done to the program: no ptrace, no signal, no code of ours in it. The kernel's high-water marks count from
the start of each process. `Followed.before` keeps the marks from before the attach; `reset_marks` resets them.
"""

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..records.run_json import AttachedEntry, RunRecord
from . import descriptors, events, instrument, machine, pagecache, procfs, record
from .delivery import Delivery
from .exit_status import STOP
from .instrument import Instrument
from .kernel_memory import KernelMemory
from .memory_group import Around
from .missing import Missing, printable
from .reader import HWM
from .sampler import Counting
from .sharing import Sharing
from .targets import Followed, Target

ENDED, DETACHED = "ended", "detached"
# A group may be empty for a while: between two steps of a job, or while a service restarts.
_EMPTY_S, _STEPS_APART_S = 1.0, 30.0


@dataclass(frozen=True, kw_only=True)
class AttachOptions(instrument.InstrumentOptions):
    """What `attach` is given beside the target."""

    reset_marks: bool = False
    """Reset the high-water marks of the processes at the attach and at each phase, so that they cover this measurement
    only."""
    events: Path | None = None
    """The file that the programs write events to, unless their environment names one."""
    on_begin: Callable[[], object] = lambda: None
    """Called after the first sample."""


def attach(target: Target, out: Path | None, options: AttachOptions | None = None) -> RunRecord:
    """Follow a target, write samples.csv and events.jsonl into `out`, and return the record for run.json.

    The record is that of a command plus `attached`: the target, and the kernel's values from before the attach. The
    outcome is `ended`, or `detached` if following stopped first. The exit status is
    unknown, because the process is not our child. Raises OSError if `out` or an input cannot be used.
    """
    chosen = options or AttachOptions()
    delivery = Delivery(out, Missing())
    with contextlib.ExitStack() as stack:
        with delivery.missing.step("descriptors"):
            stack.enter_context(descriptors.standard_placeholders())
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        resident = pagecache.residency(chosen.inputs) if chosen.inputs else None
        stack.callback(delivery.clean_up)
        delivery.make_scratch()
        return _Following(target, chosen, delivery, resident).run()


class _Following:
    def __init__(
        self, target: Target, options: AttachOptions, delivery: Delivery, resident: pagecache.Residency | None
    ) -> None:
        self.target, self.options, self.missing, self.delivery = target, options, delivery.missing, delivery
        self.resident = resident
        self.tree = Followed(target, reset=options.reset_marks)
        self.around: Around | None = None
        with self.missing.step("the group around"):
            place = target.group or target.around
            self.around = Around(*place, whole=target.group is not None) if place else None
        self.peak_before = self.around.meter.peak_bytes() if self.around else None
        self.first = min(target.listed(target.pids), default=0)

    def run(self) -> RunRecord:
        missing, counting = self.missing, Counting(around=self.around)
        measuring = Instrument(self.options, self.delivery, counting)
        began_s = time.monotonic()
        command = _words(self.first)
        what = "the environment of what is followed"
        environment: dict[str, str] = missing.attempt(what, lambda: _environment(self.first), {})
        counting.sharing, counting.kernel = missing.attempt("shared pages", Sharing, None), KernelMemory.open()
        raw_events, at = self._events(environment)
        try:
            measuring.begin(began_s, self.tree, raw_events, {"pid": self.first, "attached": True})
            if measuring.reader:
                measuring.reader.at = at
            count, age_s = len(self.tree.living), self.tree.age_s()
            self._note_unreadable()
            self.options.on_begin()
            outcome = self._follow(measuring, began_s)
            if outcome == DETACHED:
                measuring.look(self.first)  # events until now
            duration_s = time.monotonic() - began_s
            measuring.finish(duration_s, None)
            measuring.deliver()
            kills = missing.attempt("the group around", self.around.kills, None) if self.around else None
            facts = record.Outcome(
                command=command,
                environment=environment,
                pid=self.first,
                ended_by=outcome,
                killed_for_memory=bool(kills),
                duration_s=duration_s,
                no_group=None if self.target.group else "it is not alone in one",
                resident=self.resident,
                attached=True,
            )
            content = record.make(facts, measuring)
            content |= {"exit_status": None, "signal": None, "completed_work": False if outcome == DETACHED else None}
            with missing.step("run.json"):
                content["attached"] = self._attached(content, count, age_s)
        finally:
            measuring.close()
            if self.around:
                with missing.step("tidying up"):
                    self.around.meter.close()
        return content

    def _events(self, environment: Mapping[str, str]) -> tuple[Path | None, int]:
        """The file that the programs write events to, and its size in bytes at the attach."""
        file = self.options.events or environment.get(events.VARIABLE)
        if not file:
            return None, 0
        try:
            return Path(file), os.stat(file).st_size  # noqa: PTH116
        except OSError as error:
            self.missing.note("events", error)
            return None, 0

    def _note_unreadable(self) -> None:
        """Note values that the kernel does not show of another user's processes."""
        if HWM in self.tree.reader.unknown and self.options.reset_marks:
            self.missing.note("marks", f"they are not set back: {self.tree.reader.name} does not know them")
        for what, name in (("PSS and USS", "smaps_rollup"), ("bytes read and written", "io")):
            for process in self.tree.living:
                try:
                    with open(f"/proc/{process.pid}/{name}", "rb") as file:  # noqa: PTH123
                        file.read(1)
                except PermissionError:
                    self.missing.note(what, f"{name} of another user's processes may not be read")
                    break
                except OSError:
                    continue

    def _follow(self, measuring: Instrument, began_s: float) -> str:
        """Sample until the target has ended, or a signal or the time limit stops it. Returns the outcome."""
        empty_s, due = math.inf, time.monotonic()
        read_limit_s = due
        while True:
            stop = _stopped(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if stop or (self.options.timeout_s is not None and now - began_s > self.options.timeout_s):
                return DETACHED
            if now < due:
                continue
            measuring.look(self.first)
            if self.around and self.around.limit_bytes is None and now >= read_limit_s:
                self.around.read_limit()  # a scheduler sets it after it has made the group
                read_limit_s = now + _EMPTY_S
            if self.tree.living:
                empty_s = math.inf
            else:
                empty_s = min(empty_s, now)
                self.tree.doubt()
                if self._is_over(now - empty_s):
                    return ENDED
            due = now + min(measuring.interval_s(), _EMPTY_S)

    def _is_over(self, empty_for_s: float) -> bool:
        if "pids" in self.target.named:
            return True
        folder = self.target.group[0] if self.target.group else None
        most_s = _STEPS_APART_S if "slurm_job" in self.target.named else _EMPTY_S
        return folder is None or not folder.is_dir() or empty_for_s > most_s

    def _attached(self, content: RunRecord, count: int, age_s: float) -> AttachedEntry:
        """The target, and its history before the attach, in bytes and seconds."""
        marks = sorted(self.tree.before.items(), key=lambda entry: -entry[1])
        since = {entry["pid"]: entry["hwm_bytes"] for entry in content["peak"]["hwm_bytes"]["processes"]}
        above = {pid: max(0, mark - since[pid]) for pid, mark in marks if pid in since}
        group_bytes, marks_known = content["peak"]["cgroup_bytes"], HWM not in self.tree.reader.unknown
        # For processes that the record does not name, no earlier peak is known.
        all_named = all(pid in since for pid, mark in marks if mark)
        return {
            "to": self.target.named,
            "name": printable(self.target.name),
            "processes": count,
            "running_s": round(age_s, 2),
            "marks_reset": self.options.reset_marks,
            "before": {
                "cpu_s": self.tree.used_before_s,
                "hwm_bytes": marks[0][1] if marks else None,
                "hwm_pid": marks[0][0] if marks else None,
                "hwm_sum_upper_bound_bytes": sum(mark for _, mark in marks) if marks_known else None,
                "hwm_above_bytes": sum(above.values()) if marks_known and all_named else None,
                "cgroup_peak_bytes": self.peak_before if self.target.group else None,
                "cgroup_above_bytes": max(0, self.peak_before - group_bytes)
                if self.target.group and self.peak_before is not None and group_bytes is not None
                else None,
            },
        }


def _stopped(within_s: float) -> bool:
    """Wait up to `within_s` for a signal to stop; return whether one came."""
    if hasattr(signal, "sigtimedwait"):
        return signal.sigtimedwait(STOP, within_s) is not None
    time.sleep(within_s)  # macOS has no sigtimedwait: the blocked signals stay pending
    return bool(signal.sigpending() & STOP)


def _words(pid: int) -> list[str]:
    """The command line of a process, or its name in brackets."""
    text = procfs.read(pid, "cmdline") or b""
    return [os.fsdecode(word) for word in text.rstrip(b"\0").split(b"\0")] if text else [f"[{procfs.name(pid)}]"]


def _environment(pid: int) -> dict[str, str]:
    """The environment variables of a process that go into the record, and the one for its events file."""
    names = {*machine.ALLOCATOR_VARIABLES, *machine.SCHEDULERS, events.VARIABLE}
    pairs = (entry.partition(b"=") for entry in (procfs.read(pid, "environ") or b"").split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if os.fsdecode(name) in names}
