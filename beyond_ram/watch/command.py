"""The watched command: started through the guard, which reports its end.

The command's start, signals and status depend on this module and the guard only, not on the measurement. Each step has
a fallback: without a guard the command is our own child; a guard that cannot report exits with the command's status.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import procfs
from .exit_status import signal_name
from .groups import LimitError
from .missing import Missing, one_line

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_libc = ctypes.CDLL(None, use_errno=True)
_FIRST_REPLY_S = 0.5
_GUARD_ENDS_S = 5.0
_ATTEMPTS = 5


class GuardError(RuntimeError):
    """The guard ended without a report, and its command was killed. The text is one line."""


class _NoGuardError(RuntimeError):
    """The guard could not start; the command was not run."""


@dataclass(frozen=True)
class Order:
    """The command and how to run it."""

    words: Sequence[str]
    environment: Mapping[str, str]
    mask: frozenset[int] = frozenset()
    new_session: bool = False
    stdout: int | None = None
    groups: Sequence[str] = ()
    """Files that the command writes its process id into before it starts."""
    limited: bool = False
    """Whether the command must not run outside of these groups."""
    folders: Sequence[str] = ()
    group_folders: Sequence[str] = ()
    """Folders and groups that the guard removes if the watcher is killed."""
    leaf: str | None = None
    """The group below our own that the watcher moved to; then the guard moves back."""

    def line(self) -> bytes:
        words = [_as_text(word) for word in self.words]
        environment = [(_as_text(name), _as_text(value)) for name, value in self.environment.items()]
        order = vars(self) | {"words": words, "environment": environment, "mask": sorted(self.mask)}
        return json.dumps(order).encode() + b"\n"


class Command:
    """A running command: below its guard, or our own child if there is no guard.

    `close` kills its remaining processes, unless `leave` was called.
    """

    def __init__(self, order: Order, missing: Missing) -> None:
        self.pid = 0
        self.began_s = missing.began_s
        self.returncode: int | None = None
        self.empty = False
        self.used: dict[str, float] = {}
        self.fatal: Exception | None = None
        """The error after which there is nothing to watch."""
        self.no_group: str | None = None
        """Why the command does not run in its group."""
        self.replies = self._requests = -1
        self._order, self._missing = order, missing
        self._guard: subprocess.Popen[bytes] | None = None
        self._alone: subprocess.Popen[bytes] | None = None
        self._received = b""
        self._signals: deque[tuple[int, int]] = deque()
        self._was_subreaper = 0
        self._children_before: set[int] | None = None

    @property
    def guard_pid(self) -> int | None:
        """The ancestor of all processes of the command; None without a guard."""
        return self._guard.pid if self._guard else None

    def start(self) -> None:
        """Run the command. Raises OSError if it cannot be started, LimitError if it cannot be limited."""
        try:
            self._start_guard()
            self._await_start()
        except _NoGuardError as error:
            self._start_alone(error)

    def _start_guard(self) -> None:
        with self._missing.step("the second line of defence"):
            was = ctypes.c_int()
            _libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
            self._was_subreaper, self._children_before = was.value, set(procfs.children(os.getpid()))
            # If the guard itself is killed, its orphans become our children and not init's.
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        opened: list[int] = []
        try:
            requests, self._requests = os.pipe()
            opened += [requests]
            self.replies, replies = os.pipe()
            opened += [replies]
            for descriptor in opened:
                os.set_inheritable(descriptor, True)
            # Descriptors that the caller passes on (a make jobserver's, a shell's) stay open; ours close on exec.
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, str(requests), str(replies)],
                stdout=self._order.stdout,
                close_fds=False,
            )
            order = self._order.line()
            _close(opened)  # otherwise we would not notice the guard's end
            _write(self._requests, order)
        except Exception as error:
            raise _NoGuardError(one_line(error)) from None
        finally:
            _close(opened)

    def _await_start(self) -> None:
        """Wait until the guard reports the start. Without a report, its end shows what happened."""
        for _ in range(_ATTEMPTS):
            with self._missing.step("the command's process id"):
                while not (self.pid or self.fatal) and self.returncode is None:
                    if self._received or any(select.select([self.replies], [], [], _FIRST_REPLY_S)):
                        self.listen()
                    else:
                        self._look_for_it()
                break
        self.raise_fatal()
        if not self.pid and self.returncode is None:
            with self._missing.step("the command's process id"):
                self._look_for_it()

    def _look_for_it(self) -> None:
        """Take the guard's only child, which is the command at this time, and the start that the kernel noted."""
        below = procfs.children(self._guard.pid) if self._guard else []
        self.pid = below[0] if below else 0
        with self._missing.step("the command's start"):
            if self.pid and (started_s := procfs.started_s(self.pid)) is not None:
                age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started_s
                self.began_s = max(self.began_s, time.monotonic() - age_s)

    def _start_alone(self, error: Exception) -> None:
        """Run the command as our own child: it is not measured, but it runs."""
        self.end_guard()
        self._guard = self.fatal = None
        if self._order.limited:
            raise LimitError(f"no memory limit can be set here: the guard could not be started: {error}")
        self._missing.note("everything", f"the guard could not be started: {error}")
        mask = self._order.mask

        def as_before() -> None:
            with contextlib.suppress(Exception):
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

        environment = {os.fsencode(k): os.fsencode(v) for k, v in self._order.environment.items()}
        self._alone = subprocess.Popen(
            list(self._order.words),
            env=environment,
            stdout=self._order.stdout,
            close_fds=False,
            start_new_session=self._order.new_session,
            preexec_fn=as_before,
        )
        self.pid = self._alone.pid

    def listen(self) -> None:
        """Read the guard's replies. An error that leaves nothing to watch is kept as `fatal`."""
        if self._alone:
            self.returncode = self._alone.poll()
            self.empty = self.returncode is not None
            return
        if any(select.select([self.replies], [], [], 0)):
            data = os.read(self.replies, 65536)
            if not data:
                self._guard_has_ended()
            self._received += data
        while b"\n" in self._received:
            line, _, rest = self._received.partition(b"\n")
            self._take(json.loads(line))
            self._received = rest

    def _take(self, reply: dict[str, Any]) -> None:
        if "refused" in reply:
            self.fatal = _NoGuardError(reply["refused"])
        elif "limit" in reply:
            self.fatal = LimitError(f"no memory limit can be set here: {os.strerror(reply['limit'])}")
        elif "errno" in reply:
            self.fatal = OSError(reply["errno"], os.strerror(reply["errno"]), self._order.words[0])
        if "pid" in reply and not self.pid:  # otherwise samples have times since another start
            self.pid, self.began_s = reply["pid"], reply.get("began", self.began_s)
        if "no_group" in reply:
            self.no_group = os.strerror(reply["no_group"])
        self.used = reply.get("used", self.used)
        if "status" in reply:
            self.returncode = _exit_code(reply["status"])
        self.empty = self.empty or bool(reply.get("empty"))

    def _guard_has_ended(self) -> None:
        """Handle a guard that was killed, did not start, or could not report. In the last case its status is the
        command's."""
        assert self._guard is not None
        if self.returncode is not None:
            self.empty = True
            return
        status = self._guard.wait()
        self.empty = True
        if self.pid and status >= 0:
            self.returncode = status
            self._missing.note("supervision", "the guard was in trouble: a signal stands as status 128 + its number")
            return
        self._kill_orphans()
        if not self.pid and status >= 0:
            self.fatal = _NoGuardError(f"it ended with status {status}")
        else:
            self.fatal = GuardError("the guard process was killed; what it guarded was killed with it")

    def raise_fatal(self) -> None:
        if self.fatal:
            raise self.fatal

    def wait_only(self, signals: Iterable[int], keep_limits: Callable[[], None]) -> None:
        """The last resort: pass signals on and wait for the guard or the command to end."""
        process = self._alone or self._guard
        assert process is not None
        if self._guard:
            with self._missing.step("supervision"):
                _write(self._requests, b"e")
        while (status := process.poll()) is None:
            with contextlib.suppress(Exception):
                if pending := signal.sigtimedwait(signals, 0.05):
                    self.send_signal(pending.si_signo)
            with self._missing.step("limits"):
                keep_limits()
        if self._guard and status < 0:
            raise GuardError("the guard process was killed; what it guarded was killed with it")
        self.returncode, self.empty = status, True

    def send_signal(self, number: int) -> None:
        """Pass a signal on. If that fails, `send_again` retries it."""
        self._signals.append((number, 0))
        self.send_again()

    def send_again(self) -> None:
        while self._signals and self.returncode is None and self.pid:
            number, failures = self._signals.popleft()
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                continue
            except Exception as error:
                if isinstance(error, PermissionError) or failures > _ATTEMPTS:  # another user's: setuid
                    self._missing.note("signals", f"{signal_name(number)} was not passed on: {one_line(error)}")
                elif not self._sent_otherwise(number):
                    self._signals.append((number, failures + 1))
                    break

    def _sent_otherwise(self, number: int) -> bool:
        with self._missing.step("signals"):
            descriptor = os.pidfd_open(self.pid)
            try:
                signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
            return True
        return False

    def kill(self) -> None:
        """Have the guard kill the command and everything below it."""
        if self._alone:
            self.kill_myself()
            return
        with self._missing.step("supervision"):
            _write(self._requests, b"k")

    def kill_myself(self) -> None:
        """Kill the command and its descendants without the guard, if the guard failed to."""
        descendants = self._missing.attempt("supervision", lambda: procfs.descendants(self.guard_pid or self.pid), [])
        for pid in [self.pid, *descendants]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def leave(self) -> None:
        """End the guard and let remaining processes run, with the next subreaper or init as parent."""
        with self._missing.step("supervision"):
            self._not_subreaper()
        if not self._guard:
            return
        with self._missing.step("supervision"):
            _write(self._requests, b"q")
        self._end(self._guard)

    def close(self) -> None:
        """Kill the remaining processes, unless `leave` was called."""
        with self._missing.step("supervision"):
            if self._alone and self._alone.poll() is None:
                self._alone.kill()
                self._alone.wait()
        self.end_guard()
        with self._missing.step("supervision"):
            self._not_subreaper()

    def end_guard(self) -> None:
        """Close the pipes. The guard then kills the remaining processes."""
        requests, replies = [self._requests], [self.replies]
        self._requests = self.replies = -1
        _close(requests)
        if self._guard:
            self._end(self._guard)
        _close(replies)

    def _end(self, guard: "subprocess.Popen[bytes]") -> None:
        """Wait until the guard has ended. Kill it if it has lost its command and does not react."""
        with self._missing.step("supervision"):
            guard.wait(_GUARD_ENDS_S if self.returncode is not None else None)
            return
        with contextlib.suppress(Exception):
            guard.kill()
            guard.wait()

    def _not_subreaper(self) -> None:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, self._was_subreaper, 0, 0, 0)

    def _kill_orphans(self) -> None:
        """Kill the orphans of a killed guard. Children from before the start are not ours."""
        assert self._guard is not None
        self._guard.wait()  # its pipe closes first; its children get a new parent only when it has ended
        if self._children_before is None or procfs.why_not() is not None:
            return
        while orphans := set(procfs.children(os.getpid())) - self._children_before - {self._guard.pid}:
            for orphan in orphans:
                for pid in [orphan, *procfs.descendants(orphan)]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)


def _as_text(word: str) -> str:
    """A word as text, one character per byte, because JSON has no bytes and a word need not be UTF-8."""
    return os.fsencode(word).decode("latin-1")


def _exit_code(status: int) -> int:
    """The exit code for a status of waitpid; negative for a signal."""
    return status >> 8 if status & 0x7F == 0 else -(status & 0x7F)


def _write(descriptor: int, data: bytes) -> None:
    """Write all of it, unless the reader has closed the pipe."""
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(descriptor, data) :]


def _close(descriptors: list[int]) -> None:
    """Close those that are open, and empty the list."""
    for descriptor in descriptors:
        with contextlib.suppress(Exception):
            if descriptor >= 0:
                os.close(descriptor)
    descriptors.clear()


# -I -S: no site, no user modules, no PYTHON variables, so the guard starts in some 10 ms and uses some 9 MB.
_PROGRAM = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import guard; sys.exit(guard.main())"
