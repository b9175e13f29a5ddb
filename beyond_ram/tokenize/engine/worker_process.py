"""Workers and their pipes: the one in this process, and those that are forked."""

import contextlib
import json
import os
import selectors
import signal
import threading

import worker as working


class Thread:
    """The worker that is a thread of this process, with its pipes."""

    pid: int | str = "self"
    most = 0  # largest resident size of a process that has ended

    def __init__(self, common, selector, others=(), place=None):
        self.common, self.selector, self.others = common, selector, others
        self.place = place or working.Place()
        self.buffer, self.unit, self.anon, self.cpu = b"", None, 0, 0.0
        (orders, to), (self.replies, answers) = os.pipe(), os.pipe()
        self.orders = open(to, "wb", buffering=0)
        self.start(open(orders, "rb"), answers)
        selector.register(self.replies, selectors.EVENT_READ, self)

    def start(self, orders, answers):
        self.thread = threading.Thread(
            target=working.serve, args=(self.common, orders, answers, self.place), daemon=True
        )
        self.thread.start()

    def send(self, message):
        # Its end shows when its output is read.
        with contextlib.suppress(BrokenPipeError):
            self.orders.write(json.dumps(message).encode() + b"\n")

    def messages(self):
        """Its messages; None after it has ended."""
        chunk = os.read(self.replies, 1 << 16)
        if not chunk:
            return None
        *lines, self.buffer = (self.buffer + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def memory(self):
        """Anonymous memory in bytes; the last reading if it has ended."""
        with contextlib.suppress(OSError, ValueError):
            self.anon = working.anonymous(self.pid)
        return self.anon

    def close(self):
        self.selector.unregister(self.replies)
        os.close(self.replies)

    def end(self):
        """End the worker; its unit stays unfinished. While it encodes a large document, it ends only with the
        process."""
        self.common.stopped = True
        self.orders.close()
        self.thread.join(5)
        if not self.thread.is_alive():
            self.close()


class Forked(Thread):
    """A worker that is a process, forked before the first worker starts."""

    pid: int
    alive = True

    def start(self, orders, answers):
        try:
            self.pid = os.fork()
        except OSError as error:
            raise RuntimeError(f"a worker could not be started ({error})") from None
        if self.pid:
            orders.close()
            os.close(answers)
            return
        try:
            working.end_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
            for other in (*self.others, self):  # their pipes end only when these copies are closed too
                other.orders.close()
                os.close(other.replies)
            working.serve(self.common, orders, answers, self.place)
        finally:
            os._exit(0)

    def status(self):
        """The exit status after the output has ended; negative for a signal."""
        _, status, used = os.wait4(self.pid, 0)
        self.alive, self.most = False, used.ru_maxrss * 1024
        return os.waitstatus_to_exitcode(status)

    def end(self):
        self.orders.close()
        self.close()
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
            self.status()
