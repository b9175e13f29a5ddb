"""The guard: a small process between the watcher and the command. Standard library only; run as a program.

It starts the command, is the subreaper of all its descendants, reaps them, and reports to the watcher. If the watcher
disappears without a message, even by SIGKILL, the guard kills everything below it, and removes the folders and groups
that the watcher made. It is a separate program, because inside the watcher's process it would reap children that other
threads started.

An error of its own does not end the command. The loop repeats a turn that fails; after many failures the guard only
waits for the command and exits with its status.

Descriptors in argv: one for requests of the watcher (a JSON line with the order, then a letter for each request; its
end means that the watcher is gone), one for replies, a JSON line each.
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

import descriptors  # type: ignore[import-not-found]  # beside this file: the guard does not load the package
import procfs  # type: ignore[import-not-found]

NOT_STARTED = 70
"""Exit status of a guard that could not start; the command was not run."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)
# Python itself ignores these; all other ignored signals were ignored for the command too (nohup).
_PYTHON_IGNORES = {signal.SIGPIPE, signal.SIGXFSZ}
_FAILURES = 20
# After trouble, the loop looks this often for what it may have missed.
_AGAIN_MS = 20
_trouble = contextlib.suppress(Exception)
"""Around steps that the command can run without."""


def main() -> int:
    guard = _Guard(int(sys.argv[1]), int(sys.argv[2]))
    with contextlib.ExitStack() as stack:
        with _trouble:
            stack.enter_context(descriptors.standard_placeholders())
        try:
            guard.prepare()
            if not guard.start():
                return NOT_STARTED
        except Exception as error:
            if not guard.command:
                guard.report(refused=f"{type(error).__name__}: {error}")
                return NOT_STARTED
        return guard.stay()


class _Guard:
    def __init__(self, requests: int, replies: int) -> None:
        self.requests, self.replies = requests, replies
        self.watcher = os.getppid()
        self.wake = -1
        self.command = 0
        self.status: int | None = None
        """Status of the command from waitpid."""
        self.ignored: set[int] = set()
        self.group = 0
        self.order: dict[str, Any] = {}
        self._failures = 0
        self._unsent: list[dict[str, Any]] = []
        self._empty = self._reported_status = self._reported_empty = False
        self._alone = self._killing = self._ending = False

    def prepare(self) -> None:
        """Become a guard, and read the order. Raises EOFError without one."""
        for descriptor in (self.requests, self.replies):
            with _trouble:
                os.set_inheritable(descriptor, False)
        with _trouble:
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        with _trouble:
            every = signal.valid_signals()
            self.ignored = {int(s) for s in every if signal.getsignal(s) == signal.SIG_IGN} - _PYTHON_IGNORES
        with _trouble:
            self._wake_up()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            with _trouble:
                if number not in self.ignored:  # a handler, not SIG_IGN: the command's exec resets it
                    signal.signal(number, lambda *_: None)
        with _trouble:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
        # Leave the terminal's foreground group: its signals are for the command, not for the guard.
        self.group = os.getpgrp()
        with _trouble:
            os.setpgid(0, 0)
        order = b""
        while not order.endswith(b"\n"):
            read = os.read(self.requests, 65536)
            if not read:
                raise EOFError("the watcher has gone")
            order += read
        self.order = json.loads(order)

    def _wake_up(self) -> None:
        """Make the end of a child wake poll."""
        wake, woken = os.pipe()
        for descriptor in (wake, woken):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.wake = wake

    def start(self) -> bool:
        """Start the command; report its start or the error. Raises if it could not even be tried."""
        guard = os.getpid()
        command = [_bytes(word) for word in self.order["words"]]
        environment = {_bytes(key): _bytes(value) for key, value in self.order["environment"]}
        failed_read, failed = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._become(command, environment, guard, failed)
            finally:
                os._exit(127)
        self.command = pid
        sent = b""
        with _trouble:
            os.close(failed)
            while part := os.read(failed_read, 256):  # ends with the exec
                sent += part
            os.close(failed_read)
        notes: dict[str, Any] = {}
        with _trouble:
            notes = dict(map(json.loads, sent.splitlines()))
        if "errno" in notes or "limit" in notes:
            with _trouble:
                os.waitpid(pid, 0)
            self.report(**notes)
            return False
        self.report(pid=pid, **notes)
        return True

    def _become(self, command: list[bytes], environment: dict[bytes, bytes], guard: int, failed: int) -> None:
        """Become the command, in the child."""
        try:
            with _trouble:
                _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != guard:
                    os._exit(127)
            try:
                for path in self.order["groups"]:
                    with open(path, "w") as file:  # noqa: PTH123 (no pathlib in a process that is about to exec)
                        file.write("0")
            except Exception as error:
                name = "limit" if self.order["limited"] else "no_group"
                _note(failed, name, getattr(error, "errno", None) or errno.EIO)
                if self.order["limited"]:
                    os._exit(127)
            with _trouble:
                if self.order["new_session"]:
                    os.setsid()
                else:
                    os.setpgid(0, self.group)
            for number in set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP}:
                with _trouble:  # libc reserves two of them
                    signal.signal(number, signal.SIG_IGN if number in self.ignored else signal.SIG_DFL)
            with _trouble:
                signal.pthread_sigmask(signal.SIG_SETMASK, self.order["mask"])
            with _trouble:  # noted here, because the guard may get a processor long after the exec
                _note(failed, "began", time.monotonic())
            os.execvpe(command[0], command, environment)
        except OSError as error:
            _note(failed, "errno", error.errno or errno.EIO)
        except Exception:
            _note(failed, "errno", errno.EINVAL)

    def stay(self) -> int:
        """Reap, report and serve requests until the watcher is done."""
        with _trouble:
            self._release_standard_streams()
        with _trouble:
            os.set_blocking(self.requests, False)
        poll = None
        with _trouble:
            both = select.poll()
            for descriptor in (self.requests, self.wake):
                both.register(descriptor, select.POLLIN)
            poll = both
        while True:
            try:
                if self._turn(poll):
                    return 0 if not self._ending else self._code()
            except Exception:
                self._failures += 1
                if self._failures > _FAILURES:
                    return self._only_wait()
                time.sleep(_AGAIN_MS / 1000)

    def _turn(self, poll: Any) -> bool:
        """Wait until something happens and handle it. Returns whether this was the last turn."""
        if not self._killing:
            if poll is None:
                time.sleep(_AGAIN_MS / 1000)
            else:
                poll.poll(_AGAIN_MS if self._failures or self.wake < 0 else None)
            if self.wake >= 0:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake, 65536)
            self._reap()
            leave = self._receive()
            if leave:
                return True
        if self._killing:
            self._kill_all_below()
            self._killing = False
            if self._alone:
                self._clean_up()
                return True
        return self._ending and self.status is not None

    def _receive(self) -> bool:
        """Read one letter from the watcher. Returns whether the guard may leave."""
        try:
            letter = os.read(self.requests, 1)
        except BlockingIOError:
            return False
        self._alone = self._alone or letter == b""
        self._killing = self._killing or letter in (b"", b"k")
        self._ending = self._ending or letter == b"e"
        return letter == b"q"

    def _release_standard_streams(self) -> None:
        """Close the command's input and output here: their readers wait for the command, not for the guard."""
        quiet = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(quiet, descriptor)
        if quiet > 2:
            os.close(quiet)

    def _reap(self, options: int = os.WNOHANG) -> None:
        """Reap every child that has ended; report the end of the command, and when no process is left."""
        self._send()
        while not self._empty:
            try:
                pid, status = os.waitpid(-1, options)
            except ChildProcessError:
                self._empty = True
                break
            if pid == self.command:
                self.status = status
            if pid == 0 or options == 0:
                break
        if self.status is not None and not self._reported_status:
            self._reported_status = True
            self.report(status=self.status, used=_used())
        if self._empty and not self._reported_empty:
            self._reported_empty = True
            self.report(empty=True, used=_used())

    def _kill_all_below(self) -> None:
        """Kill until no child is left. Children of killed processes become children of the guard, and die next."""
        while not self._empty:
            lives = False
            # If /proc shows another namespace, only the command's id is known.
            for pid in procfs.descendants(os.getpid()) if procfs.why_not() is None else [self.command]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except PermissionError:  # a process of another user, which may run on for long
                    lives = True
                except Exception:  # its children must not end before it
                    lives = True
                    break
            self._reap(os.WNOHANG if lives else 0)
            self._reap()  # reap all: listing twenty thousand processes again for each of them would take an hour
            if lives:
                time.sleep(_AGAIN_MS / 1000)

    def _clean_up(self) -> None:
        """Remove what the watcher made and can no longer remove."""
        for folder in self.order["folders"]:
            with contextlib.suppress(OSError):
                for name in os.listdir(folder):  # noqa: PTH208
                    os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
                os.rmdir(folder)  # noqa: PTH106
        for folder in self.order["group_folders"]:
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106
        with contextlib.suppress(OSError):
            self._leave_leaf()

    def _leave_leaf(self) -> None:
        """Leave the group that the watcher moved to, and remove it if it is empty."""
        leaf = self.order["leaf"]
        if leaf is None:
            return
        parent = os.path.dirname(leaf)  # noqa: PTH120
        others = [entry.name for entry in os.scandir(parent) if entry.is_dir() and entry.path != leaf]
        with open(f"{leaf}/cgroup.procs") as file:  # noqa: PTH123
            if others or set(file.read().split()) - {str(os.getpid())}:
                return
        for name, text in (("cgroup.subtree_control", "-memory"), ("cgroup.procs", "0")):
            with open(f"{parent}/{name}", "w") as file:  # noqa: PTH123
                file.write(text)
        os.rmdir(leaf)  # noqa: PTH106

    def _only_wait(self) -> int:
        """The last resort: wait for the command, and exit with its status."""
        with _trouble:  # nobody reads the watcher's requests any more
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != self.watcher:
                os.kill(os.getpid(), signal.SIGKILL)
        while self.status is None:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            if pid == self.command:
                self.status = status
        with _trouble:
            os.write(self.replies, b'{"status": %d}\n' % (self.status or 0))
        return self._code()

    def _code(self) -> int:
        """The command's status as a shell gives it."""
        status = self.status or 0
        return status >> 8 if status & 0x7F == 0 else 128 + (status & 0x7F)

    def report(self, **fields: Any) -> None:
        """Send a message to the watcher. A message that cannot be sent now is sent in the next turn."""
        self._unsent.append(fields)
        self._send()

    def _send(self) -> None:
        while self._unsent:
            with contextlib.suppress(BrokenPipeError):
                os.write(self.replies, json.dumps(self._unsent[0]).encode() + b"\n")
            del self._unsent[0]


def _used() -> dict[str, float]:
    """Resources of all reaped processes; the largest RSS of one counts from before its exec, but not this process's."""
    try:
        usage, own = resource.getrusage(resource.RUSAGE_CHILDREN), procfs.memory(os.getpid())
        return {
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "minor_faults": usage.ru_minflt,
            "major_faults": usage.ru_majflt,
            "read_bytes": usage.ru_inblock * 512,
            "written_bytes": usage.ru_oublock * 512,
            "max_rss_bytes": usage.ru_maxrss * 1024 if own and usage.ru_maxrss * 1024 > own.hwm_bytes else 0,
            **_returned(),
        }
    except Exception:
        return {}


def _returned() -> dict[str, float]:
    """Bytes that read calls of all reaped processes returned, from the page cache too; its own are few."""
    with contextlib.suppress(OSError, IndexError, ValueError):  # not every kernel counts them
        return {"returned_bytes": int(procfs.read_file("/proc/self/io").split()[1])}
    return {}


def _note(failed: int, name: str, value: float) -> None:
    """Send a note from the child to the guard, in one write."""
    os.write(failed, json.dumps([name, value]).encode() + b"\n")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


if __name__ == "__main__":
    sys.exit(main())
