"""What a measured script tells the workflow. Standard library only."""

import json
import math
import os
import sys
import time


def emit(event, **fields):
    """Write an event if a watcher listens."""
    if "BEYOND_RAM_EVENTS" in os.environ:
        line = json.dumps({"monotonic_s": time.monotonic(), "event": event, **fields})
        with open(os.environ["BEYOND_RAM_EVENTS"], "a") as file:
            file.write(line + "\n")


def number(label, value, unit, better="neither", exact=False):
    """Report a number of this run; one that is better when `lower` or `higher` is compared.

    Raises ValueError for another direction, and for a value that is no finite number.
    """
    if better not in ("lower", "higher", "neither"):
        raise ValueError(f"number {label!r}: better is {better!r}, and has to be lower, higher or neither")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"number {label!r} is {value!r}, and has to be a finite int or float")
    emit("metric", label=label, value=value, unit=unit, better=better, exact=exact)


def not_applicable(reason):
    """End: this cell cannot run here."""
    emit("not_applicable", reason=reason)
    sys.exit(0)
