"""A file of lines that survives errors of its file system."""

import math
import os
import time
from pathlib import Path

from ..files import check_target, write
from .missing import Missing

_AT_ONCE_BYTES, _WAITING_BYTES = 65536, 4 << 20
_AGAIN_S = 0.5
_CHUNK_BYTES = 1 << 20


class OutFile:
    """Lines that are appended, and delivered at the end.

    Lines that cannot be written wait, up to 4 MB, and are retried: on a full disk until there is space. A line is
    written whole or not at all. Delivery works even if the file's folder is gone.
    """

    def __init__(self, path: Path, missing: Missing | None = None) -> None:
        self.path = path
        self._missing = missing or Missing()
        self._descriptor = -1
        self._waiting = bytearray()
        self._written = 0
        self._longer = False
        self._again_s = -math.inf
        self._try_to_flush()

    def append(self, text: str) -> None:
        """Add text that ends with a line break."""
        data = text.encode("utf-8", "replace")
        if len(self._waiting) + len(data) > _WAITING_BYTES:
            self._try_to_flush()
        if len(self._waiting) + len(data) > _WAITING_BYTES:
            self._missing.note(self.path.name, "lines were dropped: they could not be written for too long")
            return
        self._waiting += data
        if len(self._waiting) >= _AT_ONCE_BYTES and time.monotonic() >= self._again_s:
            self._try_to_flush()

    def content(self) -> bytes:
        """Everything appended so far."""
        return b"".join(self._chunks())

    def replace(self, data: bytes | bytearray) -> None:
        """Replace the whole content by `data`."""
        self._waiting = bytearray(data)
        self._written, self._longer = 0, True
        self._try_to_flush()

    def close(self) -> None:
        """Write the waiting lines. Call `deliver` before, not after."""
        self._try_to_flush()
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def deliver(self, target: Path) -> None:
        """Move the file to `target`, whole or not at all, as `files.whole` does. Raises OSError."""
        self._try_to_flush()
        check_target(target)
        if not self._waiting and self._descriptor >= 0:
            try:
                os.replace(self.path, target)  # noqa: PTH105 (gives way to the copy below whatever is wrong)
                return
            except Exception:
                pass
        copy(self._chunks(), target)

    def _chunks(self) -> "list[bytes]":
        chunks, at = [], 0
        while at < self._written:
            data = os.pread(self._descriptor, min(_CHUNK_BYTES, self._written - at), at)
            if not data:
                self._missing.note(self.path.name, "what was written could not be read again")
                break
            chunks.append(data)
            at += len(data)
        return [*chunks, bytes(self._waiting)]

    def _try_to_flush(self) -> None:
        with self._missing.step(self.path.name) as step:
            if self._descriptor < 0:
                flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
                self._descriptor = os.open(self.path, flags, 0o666)
            while self._waiting:
                count = os.pwrite(self._descriptor, self._waiting, self._written)
                self._written += count
                del self._waiting[:count]
            if self._longer:
                os.ftruncate(self._descriptor, self._written)
                self._longer = False
        self._again_s = time.monotonic() + _AGAIN_S if step.failed else -math.inf


def copy(chunks: "list[bytes]", target: Path) -> None:
    """Write a file whole or not at all, and make its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    write(target, b"".join(chunks))
