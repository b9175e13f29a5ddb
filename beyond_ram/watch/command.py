"""The watched command as its watcher holds it: started through the guard, with its end reported by the guard."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import procfs

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_libc = ctypes.CDLL(None, use_errno=True)


class GuardError(RuntimeError):
    """The guard ended without a word; the text is one line. What it guarded was killed."""


class Command:
    """A command below its guard. Leaving the `with` block kills what is left of it, unless `leave` was called."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        mask: set[int],
        new_session: bool = False,
        stdout: int | None = None,
        groups: Sequence[str] = (),
    ) -> None:
        self.pid = 0
        self.began_s = time.monotonic()
        self.returncode: int | None = None
        self.empty = False
        self.used: dict[str, float] = {}
        self._words, self._environment = list(words), environment
        self._order = {"mask": sorted(mask), "new_session": new_session, "groups": list(groups)}
        self._stdout, self._rest = stdout, b""

    def __enter__(self) -> "Command":
        was = ctypes.c_int()
        _libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
        self._was_subreaper, self._children_before = was.value, set(procfs.children(os.getpid()))
        # Second line of defence: if the guard itself is killed, its orphans come here and not to init.
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        heard, say = os.pipe()
        hear, said = os.pipe()
        for descriptor in (heard, said):
            os.set_inheritable(descriptor, True)
        # Descriptors that the caller passes on (a make jobserver's, a shell's) stay open: everything of ours closes
        # on exec.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, str(heard), str(said)],
            stdout=self._stdout,
            close_fds=False,
        )
        os.close(heard)
        os.close(said)
        self._say, self.hear = say, hear
        order = self._order | {
            "command": [os.fsencode(word).decode("latin-1") for word in self._words],
            "env": [
                (os.fsencode(k).decode("latin-1"), os.fsencode(v).decode("latin-1"))
                for k, v in self._environment.items()
            ],
        }
        try:
            with open(say, "wb", closefd=False) as pipe:
                pipe.write(json.dumps(order).encode() + b"\n")
            self.listen()
        except BaseException:
            self.__exit__()
            raise
        return self

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    def listen(self) -> None:
        """Take what the guard says; blocks until it says something. Raises OSError where the command cannot be
        started."""
        data = os.read(self.hear, 65536)
        if not data and self.returncode is None:
            self._kill_orphans()
            raise GuardError("the guard process was killed; what it guarded was killed with it")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, said: dict[str, Any]) -> None:
        if "errno" in said:
            raise OSError(said["errno"], os.strerror(said["errno"]), self._words[0])
        if "pid" in said:
            self.pid, self.began_s = said["pid"], said["began"]
        if "status" in said:
            self.returncode = said["status"]
        self.empty = self.empty or bool(said.get("empty"))
        self.used = said.get("used", self.used)

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def kill(self) -> None:
        """Kill the command and everything below it."""
        self._tell_guard(b"k")

    def leave(self) -> None:
        """Let the guard go. Processes that still run go on, with the next subreaper or init as parent."""
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, self._was_subreaper, 0, 0, 0)
        self._tell_guard(b"q")
        self._guard.wait()

    def _tell_guard(self, letter: bytes) -> None:
        try:
            os.write(self._say, letter)
        except BrokenPipeError:
            return

    def __exit__(self, *_: object) -> None:
        os.close(self._say)  # the guard kills what is left when it finds this end closed
        self._guard.wait()
        os.close(self.hear)
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, self._was_subreaper, 0, 0, 0)

    def _kill_orphans(self) -> None:
        """Kill what came here from a killed guard; children that were here before are none of ours."""
        self._guard.wait()  # its pipe closes before its children are handed on, its end comes after
        while orphans := set(procfs.children(os.getpid())) - self._children_before - {self._guard.pid}:
            for orphan in orphans:
                for pid in [orphan, *procfs.descendants(orphan)]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                try:
                    os.waitpid(orphan, 0)
                except ChildProcessError:
                    continue


# -I -S: no site, no user's modules, no PYTHON variables: the guard starts in some 10 ms and holds some 9 MB.
_PROGRAM = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import guard; sys.exit(guard.main())"
