"""Wait for whichever comes first: a signal, a new event, a message of the guard, the time of the next sample.

signalfd(2) and inotify(7) are called through the C library, since Python has neither. With signalfd, a blocked signal
waits until the loop looks: none is lost, and none interrupts a reading. With inotify, an event wakes the watcher within
a fraction of a millisecond instead of at the next sample.
"""

import ctypes
import os
import select
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from .missing import Missing

_libc = ctypes.CDLL(None, use_errno=True)
_IN_MODIFY, _IN_NONBLOCK, _IN_CLOEXEC = 0x2, os.O_NONBLOCK, os.O_CLOEXEC
_SI_KERNEL = 0x80
_AGAIN_S = 0.02


class PlainWaiting:
    """Wait with one system call without a descriptor, if `Waiting` cannot be made or fails."""

    def __init__(self, signals: Iterable[int]) -> None:
        self._set = set(signals)
        self._pending: tuple[int, bool] | None = None

    def close(self) -> None:
        pass

    def until(self, due_s: float, ignore_events_until_s: float) -> tuple[bool, bool, bool]:
        """Wait until `due_s` at the latest. Returns whether there is a message of the guard, a signal, an event."""
        self._pending = _pending(self._set, max(0.0, min(due_s - time.monotonic(), _AGAIN_S)))
        return True, True, False

    def signal(self) -> tuple[int, bool] | None:
        """A pending signal, and whether a process sent it. One from the terminal has reached the command already."""
        pending, self._pending = self._pending, None
        return pending or _pending(self._set, 0)


class Waiting(PlainWaiting):
    """Descriptors to wait on. Create and use it in the thread that blocks the signals."""

    def __init__(self, signals: Iterable[int], events: Path, guard: int, missing: Missing) -> None:
        super().__init__(signals)
        self.guard = guard
        mask = bytearray(128)
        for number in self._set:
            mask[(number - 1) // 8] |= 1 << ((number - 1) % 8)
        self._signals = self._events = -1
        try:
            self._signals = checked(_libc.signalfd(-1, bytes(mask), os.O_NONBLOCK | os.O_CLOEXEC))
            self._all, self._no_events = select.poll(), select.poll()
            for descriptor in (self._signals, guard):
                self._all.register(descriptor, select.POLLIN)
                self._no_events.register(descriptor, select.POLLIN)
        except BaseException:
            self.close()
            raise
        with missing.step("events at once"):  # without it, events are read with the next sample
            self._events = checked(_libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC))
            checked(_libc.inotify_add_watch(self._events, os.fsencode(events), _IN_MODIFY))
            self._all.register(self._events, select.POLLIN)

    def close(self) -> None:
        for descriptor in (self._signals, self._events):
            if descriptor >= 0:
                os.close(descriptor)
        self._signals = self._events = -1

    def until(self, due_s: float, ignore_events_until_s: float) -> tuple[bool, bool, bool]:
        """The same, by descriptors.

        Both times are on the monotonic clock. Events do not end the wait before `ignore_events_until_s`: a program that
        emits thousands a second must not keep the watcher busy.
        """
        quiet_s = ignore_events_until_s - time.monotonic()
        ready = self._no_events.poll(quiet_s * 1000) if quiet_s > 0 else []
        if not ready:
            ready = self._all.poll(max(0.0, due_s - time.monotonic()) * 1000)
        if not ready:
            return False, False, False
        descriptors = {descriptor for descriptor, _ in ready}
        if self._events in descriptors:
            os.read(self._events, 65536)
        return self.guard in descriptors, self._signals in descriptors, self._events in descriptors


def _pending(signals: set[int], seconds: float) -> tuple[int, bool] | None:
    info = signal.sigtimedwait(signals, seconds)
    return (info.si_signo, info.si_code != _SI_KERNEL) if info else None


def checked(result: int) -> int:
    """The result of a C function; raises OSError for a negative one."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
