"""Objects of stores as inputs: their listing as a disk for `inventory.py`, and copies of them while a unit is done.

Another program, `copier.py`, has the libraries of the stores. Nothing of it is started unless an input is an address.
"""

import collections
import contextlib
import glob
import json
import os
import re
import secrets
from pathlib import Path

import sources
import worker as working
from records import PARTIAL
from trouble import Refused

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Most memory of the program that copies, which is bound to it: 51 MB were measured with S3, and 0.2 MB more per copy.
COPYING = 96 << 20
AT_ONCE = 8  # most copies at once
LOCAL = ("file", "local")


def is_address(name):
    """Whether a name is an address, and no path. Raises Refused for one that may hold a secret, or is not supported."""
    scheme = ADDRESS.match(name)
    if not scheme or os.path.lexists(name):
        return False
    protocol = scheme[0][:-3]
    host = name[scheme.end() :].partition("/")[0]
    web = protocol.lower() in ("http", "https")
    if re.search(":.*@", host) or (web and ("@" in host or "?" in name or "#" in name)):
        raise Refused(f"{scheme[0]}…: an address with a password or a signature; give those as the store's settings")
    if re.search(":{2}", name):
        raise Refused(f"{name}: several file systems in one; name the objects of the store itself")
    if protocol in LOCAL:
        raise Refused(f"{name}: a file of this machine; give its path")
    return True


class Program:
    """The running copier, with a limit of memory in bytes (0: none)."""

    def __init__(self, python, threads, most):
        import subprocess

        if not python:
            raise Refused("an input is an address, which needs --stores PYTHON, an interpreter with fsspec")
        command = [python, str(Path(__file__).resolve().with_name("copier.py")), str(threads), str(most)]
        # One arena, because each thread's own keeps what it freed. Xet would keep large parts of a file in memory.
        environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "HF_HUB_DISABLE_XET": "1"}
        environment |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONWARNINGS": "ignore"}
        self.running = running = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert running.stdin and running.stdout, "both are pipes"
        self.orders, self.replies, self.buffer = running.stdin, running.stdout, b""

    def order(self, *order):
        with contextlib.suppress(BrokenPipeError):  # its end shows when its answers are read
            self.orders.write(json.dumps(order).encode() + b"\n")
            self.orders.flush()

    def answers(self):
        """The answers that are there; waits for one. Raises Refused or RuntimeError for a failure."""
        chunk = os.read(self.replies.fileno(), 1 << 16)
        if not chunk:
            status = self.running.wait()
            raise RuntimeError(f"the program that reads from stores ended with {status}; the same command goes on")
        *lines, self.buffer = (self.buffer + chunk).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "refused" in answer:
                raise Refused(answer["refused"])
            if "lost" in answer:
                raise RuntimeError(f"{answer['lost']}; the same command goes on where it stopped")
            yield answer

    def end(self):
        self.running.kill()
        self.running.wait()
        with contextlib.suppress(BrokenPipeError):  # an order that was not read
            self.orders.close()
        self.replies.close()


class ObjectListing:
    """Lists what names lead to by a program that ends afterwards, because it keeps memory of long lists."""

    def __init__(self, python, most):
        self.python, self.most, self.program = python, most, None

    def __call__(self, name):
        """The `Tree` of an address; None for another name. Raises Refused."""
        if not is_address(name):
            return None
        self.program = self.program or Program(self.python, 1, self.most)
        return ObjectTree(self.program, name)

    def end(self):
        if self.program:
            self.program.end()


class ObjectTree:
    """The objects at and below an address, with the methods of `inventory.Disk`.

    `objects`: {name: [size, mark, source]}. `why`: the error if there is nothing.
    """

    def __init__(self, program, name):
        parts = name.split("/")
        fixed = next((place for place, part in enumerate(parts) if glob.has_magic(part)), None)
        self.root = name if fixed is None else "/".join([*parts[:fixed], ""])
        self.protocol = name.partition("://")[0]
        self.objects, self.states, self.why = {}, {}, None
        self.folders: dict[str, dict[str, bool]] = {}
        program.order("list", self.root)
        while self.why is None:
            for answer in program.answers():
                if "end" in answer:
                    self.why = answer["why"]
                    continue
                name = answer["object"]
                self.objects[name] = [answer[one] for one in ("size", "mark", "source")]
                if answer["state"] is not None:
                    self.states[name] = answer["state"]
                while name != self.root.rstrip("/"):
                    folder, _, name = name.rpartition("/")
                    names = self.folders.setdefault(folder, {})
                    if name in names:
                        break
                    names[name] = True
                    name = folder

    def what(self, path):
        if path in self.folders and path.endswith("/"):
            raise Refused(f"{path}/{min(self.folders[path])}: a part of its name is empty; rename it")
        if path in self.objects:
            if path in self.folders:
                raise Refused(f"{path}: an object, and also a folder of objects; name them one by one")
            return "file"
        path = path.rstrip("/")
        return "folder" if path in self.folders or (self.folders and self.root.startswith(f"{path}/")) else None

    def exists(self, path):
        return path in self.objects

    def names(self, folder):
        return [*self.folders[folder.rstrip("/")]]

    def real(self, path):
        return path

    def real_file(self, path):
        """Where an object is read, which is the same for all its names."""
        return f"{self.protocol}://{self.objects[path][2]}"

    def read(self, path):
        return self.states.get(path, "")


def identity(name, entry):
    """The identity of an object across runs, as `inventory.identity` of a file: a store tells its content by a mark."""
    return [name, *entry[:2]]


class Copies:
    """Copies of the objects of some units, made by a program as threads ask for them.

    `objects`: {name: [size, mark, source]}. A copy is at a random name in `folder`, with `prefix`.
    """

    def __init__(self, python, objects, folder, prefix, threads):
        self.python, self.objects, self.folder, self.threads = python, objects, folder, min(threads, AT_ONCE)
        self.prefix, self.program, self.made = f"{PARTIAL}{prefix}-", None, {}
        self.under_way: collections.Counter[int] = collections.Counter()

    @property
    def room(self):
        """Memory to leave for the program."""
        return COPYING if self.objects else 0

    def start(self):
        """Start the program if there are objects to copy, after removing what a killed run left."""
        if self.objects and not self.program:
            for left in self.folder.glob(f"{self.prefix}*"):
                left.unlink()
            self.program = Program(self.python, self.threads, COPYING)
        return self.program

    def fetch(self, unit, spans):
        """Begin to copy the objects of a unit, if it has some and they are not there."""
        if unit in self.made or not (names := [name for name, *_ in spans if name in self.objects]):
            return
        program = self.start()
        paths = {name: str(self.folder / f"{self.prefix}{secrets.token_hex(8)}") for name in names}
        self.made[unit] = paths
        self.under_way[unit] = len(paths)
        for name, path in paths.items():
            program.order("copy", unit, name, *self.objects[name], path)

    def messages(self):
        """The units whose objects are all there now. Raises as `Program.answers`."""
        before = {*self.under_way}
        self.under_way -= collections.Counter(answer["copied"] for answer in self.start().answers())
        return [{"copied": unit} for unit in before - {*self.under_way}]

    def drop(self, unit):
        for path in self.made.pop(unit, {}).values():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    @contextlib.contextmanager
    def reading(self, unit, spans):
        """Let this process read the spans of a unit; waits for copies of its objects."""
        self.fetch(unit, spans)
        while unit in self.under_way:
            self.messages()
        sources.copies = self.made.get(unit, {})
        try:
            yield spans
        finally:
            sources.copies = {}
            self.drop(unit)

    @property
    def pids(self):
        return [self.program.running.pid] if self.program else []

    def memory(self):
        return sum(map(working.anonymous, self.pids))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """End the program, and remove all copies."""
        if self.program:
            self.program.end()
        for unit in [*self.made]:
            self.drop(unit)
