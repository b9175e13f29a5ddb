"""The guard: a small process between the watcher and the command. Standard library only; run as a program.

It starts the command, is the subreaper of everything that the command starts, reaps it, and tells the watcher. When the
watcher goes away without a word, by SIGKILL too, the guard kills all that is left below it: no orphan survives.
A program of its own, so that nothing in the watcher's process waits for children that others there have started.

Descriptors in argv: one to hear the watcher (a JSON line with what to run; then one letter a command; its end means
that the watcher is gone), one to answer, a JSON line each.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

import procfs  # type: ignore[import-not-found]  # beside this file: the guard does not load the package

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)
# Python itself ignores these; every other one that is ignored here was ignored for the command as well (nohup).
_PYTHON_IGNORES = {signal.SIGPIPE, signal.SIGXFSZ}


def main() -> int:
    hear, say = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (hear, say):
        os.set_inheritable(descriptor, False)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ignored = {int(s) for s in signal.valid_signals() if signal.getsignal(s) == signal.SIG_IGN} - _PYTHON_IGNORES
    wake, woken = os.pipe()
    for descriptor in (wake, woken):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    # Out of the terminal's foreground group: what is typed or sent to the group is for the command, not for the guard.
    group = os.getpgrp()
    os.setpgid(0, 0)
    order = b""
    while not order.endswith(b"\n"):
        read = os.read(hear, 65536)
        if not read:
            return 1
        order += read
    return _Guard(hear, say, wake).run(json.loads(order), group, ignored)


class _Guard:
    def __init__(self, hear: int, say: int, wake: int) -> None:
        self.hear, self.say, self.wake = hear, say, wake
        self.command = 0

    def run(self, order: dict[str, Any], group: int, ignored: set[int]) -> int:
        if not self._start(order, group, ignored):
            return 1
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):  # a reader of the command's output waits for the command, not for the guard
            os.dup2(quiet, descriptor)
        poll = select.poll()
        for descriptor in (self.hear, self.wake):
            poll.register(descriptor, select.POLLIN)
        self._reap()
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self.wake:
                    os.read(self.wake, 65536)
                    self._reap()
                    continue
                said = os.read(self.hear, 1)
                if said in (b"", b"k"):
                    self._kill_all_below()
                if said in (b"", b"q"):
                    return 0

    def _start(self, order: dict[str, Any], group: int, ignored: set[int]) -> bool:
        command, environment = ([_bytes(w) for w in order["command"]], {_bytes(k): _bytes(v) for k, v in order["env"]})
        guard = os.getpid()
        failed_read, failed = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != guard:
                    os._exit(127)
                for path in order["groups"]:
                    with open(path, "w") as file:  # noqa: PTH123 (no pathlib in a process that is about to exec)
                        file.write(str(os.getpid()))
                if order["new_session"]:
                    os.setsid()
                else:
                    os.setpgid(0, group)
                for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                    signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, order["mask"])
                os.execvpe(command[0], command, environment)
            except OSError as error:
                os.write(failed, str(error.errno or 1).encode())
            os._exit(127)
        os.close(failed)
        errno = os.read(failed_read, 16)  # ends with the exec
        began = time.monotonic()
        os.close(failed_read)
        if errno:
            os.waitpid(pid, 0)
            self._tell(errno=int(errno))
            return False
        self.command = pid
        self._tell(pid=pid, began=began)
        return True

    def _reap(self, options: int = os.WNOHANG) -> bool:
        """Take every child that has ended; tell of the command's end, and when nothing is left: then False."""
        while True:
            try:
                pid, status = os.waitpid(-1, options)
            except ChildProcessError:
                self._tell(empty=True, used=_used())
                return False
            if pid == self.command:
                self._tell(status=os.waitstatus_to_exitcode(status), used=_used())
            if pid == 0 or options == 0:
                return True

    def _kill_all_below(self) -> None:
        """Kill until no child is left: what a dying process started meanwhile becomes a child here, the next to die."""
        while True:
            for pid in procfs.descendants(os.getpid()):
                with contextlib.suppress(OSError):  # gone already, or not ours to kill
                    os.kill(pid, signal.SIGKILL)
            if not self._reap(options=0):
                return

    def _tell(self, **what: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self.say, json.dumps(what).encode() + b"\n")


def _used() -> dict[str, float]:
    """What all reaped processes used. `ru_maxrss` is not in it: it is inherited over exec and means nothing here."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "read_bytes": usage.ru_inblock * 512,
        "written_bytes": usage.ru_oublock * 512,
    }


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


if __name__ == "__main__":
    sys.exit(main())
