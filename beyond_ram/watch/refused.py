"""The size of an allocation that was refused, from the end of a failed command's standard error.

Only where standard error is a regular file: its end can be read without touching the stream of the command.
"""

import os
import re
import stat

# numpy; torch's CPU allocator; pyarrow's pools; Rust (polars, tokenizers); R, which writes GiB as Gb.
_REFUSED = re.compile(
    rb"(?:Unable to allocate|you tried to allocate|\b(?:malloc|realloc|memory allocation) of(?: size)?"
    rb"|cannot allocate vector of size) (\d+\.?\d*)(?: ([KMGTPE])i?[Bb]\b| bytes| failed)"
)
_UNITS = b"KMGTPE"
_END_BYTES = 1 << 16


class Errors:
    """Standard error of this process and of the command, from now on."""

    def __init__(self) -> None:
        status = os.fstat(2)
        self._began = status.st_size if stat.S_ISREG(status.st_mode) else None

    def refused_bytes(self) -> int | None:
        """The largest allocation that a message names as refused; None without one, or if it cannot be read."""
        if self._began is None:
            return None
        with open("/proc/self/fd/2", "rb") as file:  # noqa: PTH123 (another description: the position is not the command's)
            size = os.fstat(file.fileno()).st_size
            file.seek(max(self._began, size - _END_BYTES))
            return largest(file.read())


def largest(text: bytes) -> int | None:
    """The largest refused allocation that a text names, in bytes."""
    sizes = [float(number) * 1024 ** (_UNITS.index(unit) + 1 if unit else 0) for number, unit in _REFUSED.findall(text)]
    return int(max(sizes)) if sizes else None
