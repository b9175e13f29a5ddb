"""High-water marks of processes at their exit, from the kernel's taskstats(4).

The counters of an ended process are gone: a zombie has no memory. The kernel publishes them once at the exit, over
netlink, to processes with CAP_NET_ADMIN in the first PID namespace (root on the machine itself). Without that right
`Exits.open` returns None, the last sample is a lower bound, and the record says so. The layout is that of
include/uapi/linux/taskstats.h, which only ever grows at its end.
"""

import errno
import os
import signal
import socket
import struct
from typing import NamedTuple

from .missing import printable

_GENERIC, _CONTROLLER, _GET_FAMILY = 16, 16, 3
_NAME_ATTRIBUTE, _FAMILY_ATTRIBUTE = 2, 1
_COMMAND_GET, _REGISTER_CPUS = 1, 3
_AGGREGATE_BY_PID, _STATS = 4, 3
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_BUFFER_BYTES = 4 << 20  # 7,000 exits between two samples
_EXIT_CODE, _COMM, _PID, _HIWATER_RSS_KB, _TGID = 4, 80, 128, 200, 368
_SINCE_TGID = 12


class Exit(NamedTuple):
    pid: int
    parent: int
    name: str
    hwm_bytes: int
    """The mark of the whole process, even in the record of a thread."""
    thread: bool = False
    """Whether it is the record of a thread other than the main one."""
    killed: bool = False
    """Whether SIGKILL ended it."""


class Exits:
    """A listener for processes that end anywhere on the machine. `lost` is true if messages were dropped."""

    def __init__(self, link: socket.socket, family: int) -> None:
        self._link, self._family = link, family
        self.lost = False

    @classmethod
    def open(cls) -> "Exits | None":
        """A listener; None if the kernel has none or does not permit it."""
        try:
            link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _GENERIC)
        except (OSError, AttributeError):
            return None
        try:
            link.bind((0, 0))
            link.settimeout(1)
            link.send(_message(_CONTROLLER, _GET_FAMILY, _NAME_ATTRIBUTE, b"TASKSTATS\0"))
            answer = link.recv(65536)
            family = dict(_attributes(answer, 20))[_FAMILY_ATTRIBUTE]
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            cpus = _possible_cpus()
            # The acknowledgement shows whether we have the capability. Without it no message would ever arrive.
            number = struct.unpack("=H", family)[0]
            link.send(_message(number, _COMMAND_GET, _REGISTER_CPUS, cpus + b"\0", acknowledge=True))
            error = struct.unpack_from("=i", link.recv(65536), 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))
            link.setblocking(False)
            return cls(link, number)
        except (OSError, KeyError, struct.error):
            link.close()
            return None

    def close(self) -> None:
        self._link.close()

    def new(self) -> list[Exit]:
        """Processes and threads that have ended since the last call, in no particular order."""
        exits: list[Exit] = []
        while True:
            try:
                data = self._link.recv(65536)
            except BlockingIOError:
                return exits
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self.lost = True  # the queue overflowed
                continue
            offset = 0
            while offset + 20 <= len(data):
                size, kind, *_ = _HEADER.unpack_from(data, offset)
                if kind == self._family:
                    exits += _exits(data[offset : offset + size])
                offset += max(size + 3 & ~3, 16)


def _exits(message: bytes) -> list[Exit]:
    exits = []
    for kind, body in _attributes(message, 20):
        if kind != _AGGREGATE_BY_PID:
            continue
        stats = dict(_attributes(body, 0)).get(_STATS, b"")
        if len(stats) < _HIWATER_RSS_KB + 8:
            continue
        version = struct.unpack_from("=H", stats)[0]
        task, parent = struct.unpack_from("=II", stats, _PID)
        pid = task
        if version >= _SINCE_TGID and len(stats) >= _TGID + 4:
            pid = struct.unpack_from("=I", stats, _TGID)[0] or task
        high = struct.unpack_from("=Q", stats, _HIWATER_RSS_KB)[0] << 10
        name = printable(stats[_COMM : _COMM + 32].partition(b"\0")[0].decode(errors="replace"))
        killed = struct.unpack_from("=I", stats, _EXIT_CODE)[0] & 0x7F == signal.SIGKILL
        exits.append(Exit(pid, parent, name, high, task != pid, killed))
    return exits


def _message(kind: int, command: int, attribute: int, value: bytes, *, acknowledge: bool = False) -> bytes:
    head = struct.pack("=BBH", command, 1, 0) + _ATTRIBUTE.pack(4 + len(value), attribute)
    body = head + value + b"\0" * (-len(value) % 4)
    return _HEADER.pack(16 + len(body), kind, 1 | (4 if acknowledge else 0), 1, 0) + body


def _attributes(data: bytes, offset: int) -> list[tuple[int, bytes]]:
    attributes = []
    while offset + 4 <= len(data):
        size, kind = _ATTRIBUTE.unpack_from(data, offset)
        if size < 4:
            break
        attributes.append((kind & 0x3FFF, data[offset + 4 : offset + size]))
        offset += size + 3 & ~3
    return attributes


def _possible_cpus() -> bytes:
    try:
        with open("/sys/devices/system/cpu/possible", "rb") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return f"0-{(os.cpu_count() or 1) - 1}".encode()
