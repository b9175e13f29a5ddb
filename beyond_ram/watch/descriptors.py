"""Descriptors 0, 1 and 2 where they are closed. Standard library only: the guard uses it too."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def standard_held() -> Iterator[None]:
    """Hold those of 0, 1 and 2 that are closed, so that no file of ours gets their numbers.

    What stands in for them is closed on exec: a command that was given a closed descriptor still has it closed.
    """
    held = []
    with contextlib.suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
            held.append(descriptor)
        os.close(descriptor)
    try:
        yield
    finally:
        for descriptor in held:
            with contextlib.suppress(OSError):
                os.close(descriptor)
