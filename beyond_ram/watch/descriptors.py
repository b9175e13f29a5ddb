"""Closed descriptors 0, 1 and 2. Standard library only, because the guard uses it too."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def standard_placeholders() -> Iterator[None]:
    """Occupy those of 0, 1 and 2 that are closed, so that no file of ours gets their numbers.

    The placeholders close on exec: a command that was given a closed descriptor still has it closed.
    """
    placeholders = []
    with contextlib.suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
            placeholders.append(descriptor)
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in placeholders:
            with contextlib.suppress(OSError):
                os.close(descriptor)
