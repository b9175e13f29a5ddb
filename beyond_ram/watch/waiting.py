"""Waiting for whichever comes first: a signal, a new event, a word from the guard, the time of the next sample.

signalfd(2) and inotify(7) through the C library, since Python has neither: a blocked signal waits in its descriptor
until the loop looks, none is lost and none interrupts a reading; and an event wakes the watcher within a fraction of a
millisecond instead of at the next sample.
"""

import ctypes
import os
import select
import signal
import struct
import time
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_IN_MODIFY, _IN_NONBLOCK, _IN_CLOEXEC = 0x2, os.O_NONBLOCK, os.O_CLOEXEC
_SIGINFO = struct.Struct("=Iii")  # ssi_signo, ssi_errno, ssi_code; the whole is 128 bytes
_SI_KERNEL = 0x80


class Waiting:
    """Descriptors to wait on. Must be made and used in the thread that blocks the signals."""

    def __init__(self, signals: Iterable[int], events: Path, guard: int) -> None:
        mask = bytearray(128)
        for number in signals:
            mask[(number - 1) // 8] |= 1 << ((number - 1) % 8)
        self.guard = guard
        self._signals = _checked(_libc.signalfd(-1, bytes(mask), os.O_NONBLOCK | os.O_CLOEXEC))
        self._events = _checked(_libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC))
        _checked(_libc.inotify_add_watch(self._events, os.fsencode(events), _IN_MODIFY))
        self._all, self._no_events = select.poll(), select.poll()
        for descriptor in (self._signals, guard):
            self._all.register(descriptor, select.POLLIN)
            self._no_events.register(descriptor, select.POLLIN)
        self._all.register(self._events, select.POLLIN)

    def close(self) -> None:
        os.close(self._signals)
        os.close(self._events)

    def until(self, due_s: float, deaf_until_s: float) -> tuple[bool, bool, bool]:
        """Wait until `due_s` at the latest; whether the guard spoke, whether a signal and whether an event has come.

        Events do not wake it before `deaf_until_s`, so that a program that emits thousands a second cannot make the
        watcher busy.
        """
        deaf_s = deaf_until_s - time.monotonic()
        ready = self._no_events.poll(deaf_s * 1000) if deaf_s > 0 else []
        if not ready:
            ready = self._all.poll(max(0.0, due_s - time.monotonic()) * 1000)
        if not ready:
            return False, False, False
        descriptors = {descriptor for descriptor, _ in ready}
        if self._events in descriptors:
            os.read(self._events, 65536)
        return self.guard in descriptors, self._signals in descriptors, self._events in descriptors

    def signals(self) -> list[tuple[int, bool]]:
        """Signals that have come, each with whether a process sent it; a terminal's have reached the command
        already."""
        found: list[tuple[int, bool]] = []
        while True:
            try:
                data = os.read(self._signals, 128)
            except BlockingIOError:
                return found
            number, _, code = _SIGINFO.unpack_from(data)
            found.append((signal.Signals(number).value, code != _SI_KERNEL))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
