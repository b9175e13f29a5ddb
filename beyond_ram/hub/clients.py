"""The client process of a local connection, from /proc."""

import asyncio
import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from weakref import WeakKeyDictionary

PROC = Path("/proc")


class Clients:
    """Finds the process behind a connection. Checks known clients first."""

    def __init__(self) -> None:
        self._clients: dict[int, None] = {}
        self._pids: WeakKeyDictionary[asyncio.Transport, int | None] = WeakKeyDictionary()

    async def of(self, transport: asyncio.Transport | None) -> int | None:
        """The process at the client's end, looked up at the first request of a connection; None if it has ended or is
        unreadable.

        After a fork several processes may share the connection: then the known client, which opened it.
        """
        if transport is None:
            return None
        if transport not in self._pids:
            ports = (transport.get_extra_info(name)[1] for name in ("peername", "sockname"))
            with contextlib.suppress(OSError):  # no descriptor is free, or the kernel does not reply
                self._pids[transport] = await asyncio.to_thread(self._pid, *ports)
        return self._pids.get(transport)

    def _pid(self, client_port: int, server_port: int) -> int | None:
        inode = _inode_from_kernel(client_port, server_port)
        if inode is None:
            return None
        for pid in [*list(self._clients), *self._others()]:
            if _holds(pid, f"socket:[{inode}]"):
                self._clients[pid] = None
                return pid
            self._clients.pop(pid, None) if not (PROC / str(pid)).exists() else None
        return None

    def _others(self) -> Iterable[int]:
        pids = (int(entry.name) for entry in os.scandir(PROC) if entry.name.isdecimal())
        return sorted((pid for pid in pids if pid not in self._clients), reverse=True)


def _holds(pid: int, target: str) -> bool:
    with contextlib.suppress(OSError):
        for descriptor in os.scandir(f"{PROC}/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(descriptor.path) == target:  # noqa: PTH115  # many, and each only compared
                    return True
    return False


# A query for one socket, sock_diag(7): struct inet_diag_req_v2 after the header of a netlink message.
_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST, _ANY_STATE = 4, 20, 1, 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_INODE_AT = _HEADER.size + 4 + 48 + 16  # in the reply, struct inet_diag_msg


def _inode_from_kernel(own_port: int, other_port: int) -> int | None:
    """The inode of a TCP socket between two loopback ports; None if there is none. Raises OSError."""
    loopback = socket.inet_aton("127.0.0.1") + bytes(12)
    ends = struct.pack("!HH", own_port, other_port) + loopback + loopback + struct.pack("=III", 0, *[0xFFFFFFFF] * 2)
    question = _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, _ANY_STATE) + ends
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.sendall(header + question)
        answer = kernel.recv(4096)
    if _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:  # an error, usually ENOENT: no such socket
        error = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        if error == errno.ENOENT:
            return None
        raise OSError(error, os.strerror(error))
    return int(struct.unpack_from("=I", answer, _INODE_AT)[0]) or None
