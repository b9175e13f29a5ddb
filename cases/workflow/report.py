"""What a measured script tells the workflow. Standard library only."""

import json
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
    """Report a number of this run; one with a better direction is compared."""
    emit("metric", label=label, value=value, unit=unit, better=better, exact=exact)


def not_applicable(reason):
    """End: this cell cannot run here."""
    emit("not_applicable", reason=reason)
    sys.exit(0)
