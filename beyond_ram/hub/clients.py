"""Which process is at the other end of a connection on this machine, as /proc says it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


class Clients:
    """Finds the process behind a client's port. Processes that asked before are looked at first."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._known: dict[int, None] = {}

    def pid(self, client_port: int, server_port: int) -> int | None:
        """The process that holds the client's end; None where it is gone or not ours to see.

        After a fork several may hold it. The one that asked before is named then, which is the one that opened it.
        """
        inode = self._inode(client_port, server_port)
        if inode is None:
            return None
        for pid in [*list(self._known), *self._others()]:
            if self._holds(pid, f"socket:[{inode}]"):
                self._known[pid] = None
                return pid
            self._known.pop(pid, None) if not (self._proc / str(pid)).exists() else None
        return None

    def _inode(self, client_port: int, server_port: int) -> str | None:
        """The inode of the socket whose own port is the client's."""
        wanted = re.compile(rf"^ *\d+: [0-9A-F]+:{client_port:04X} [0-9A-F]+:{server_port:04X} .*$", re.MULTILINE)
        for name in ("tcp", "tcp6"):
            try:
                found = wanted.search((self._proc / "net" / name).read_text(encoding="ascii"))
            except OSError:
                continue
            if found and (inode := found[0].split()[9]) != "0":
                return inode
        return None

    def _others(self) -> Iterable[int]:
        found = (int(entry.name) for entry in os.scandir(self._proc) if entry.name.isdecimal())
        return sorted((pid for pid in found if pid not in self._known), reverse=True)

    def _holds(self, pid: int, target: str) -> bool:
        folder = f"{self._proc}/{pid}/fd"
        try:
            for descriptor in os.scandir(folder):
                try:
                    if os.readlink(descriptor.path) == target:  # noqa: PTH115  # many, and each only compared
                        return True
                except OSError:
                    continue
        except OSError:
            return False
        return False
