"""Programs of a stack as forks of one process that has already done the slow imports: the caller's side."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
from pathlib import Path

SERVER = Path(__file__).with_name("stack")
_STARTED = []


class Fork:
    """A running program, with the interface of `subprocess.Popen`."""

    def __init__(self, stack, pid, words, files):
        self.stack, self.pid, self.args, self.files = stack, pid, words, files
        self.returncode = None
        self._ended = os.pidfd_open(pid)

    def poll(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            os.close(self._ended)
            self.returncode = self.stack.ask(self.pid)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    @property
    def stdout(self):
        return self.files[0].read_text(encoding="utf-8", errors="replace")

    @property
    def stderr(self):
        return self.files[1].read_text(encoding="utf-8", errors="replace")

    def communicate(self, timeout=None):
        self.wait(timeout)
        return self.stdout, self.stderr


class Stack:
    """An interpreter that has imported some modules, with the variables of `environment` and without a Hub."""

    def __init__(self, python, *modules, environment=None):
        self._folder = tempfile.TemporaryDirectory(prefix="beyond-ram-forks-")
        self._count, self._running = 0, set[int]()
        self._server = subprocess.Popen(
            [python, "-I", SERVER, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"HF_HUB_OFFLINE": "1"} | dict(environment or {}),
        )
        _STARTED.append(self)

    def ask(self, request):
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = int(self._server.stdout.readline())
        if isinstance(request, int):
            self._running.discard(request)
        return answer

    def start(self, *words, cwd=None, env=None, session=False):
        """Start a program, or code after `-c`, with its arguments."""
        self._count += 1
        files = tuple(Path(self._folder.name) / f"{self._count}.{name}" for name in ("out", "err"))
        arguments = list(map(str, words))
        folder, environment = str(cwd or Path.cwd()), dict(os.environ if env is None else env)
        pid = self.ask([arguments, folder, environment, list(map(str, files)), session])
        self._running.add(pid)
        return Fork(self, pid, arguments, (files[0], files[1]))

    def run(self, *words, cwd=None, env=None):
        """Run a program to its end."""
        fork = self.start(*words, cwd=cwd, env=env)
        status = fork.wait()
        done = subprocess.CompletedProcess(fork.args, status, fork.stdout, fork.stderr)
        for file in fork.files:
            file.unlink()
        return done

    def close(self):
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self.ask(pid)
        assert self._server.stdin and self._server.stdout
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()
        self._folder.cleanup()


def close_all():
    """End the processes of this session."""
    while _STARTED:
        _STARTED.pop().close()
