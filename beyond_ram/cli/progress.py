"""A progress line, and options that are times, for several commands."""

import argparse
import math
import sys


def show(line: str) -> None:
    """Show the current step: in place on a terminal, otherwise as a new line. An empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    elif line:
        print(line, file=sys.stderr, flush=True)


def minutes(text: str) -> float:
    """A number of minutes above 0."""
    if not 0 < (value := number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes above 0, such as 10 or 0.5")
    return value


def waiting_time(text: str) -> float:
    """A time to wait, in seconds."""
    if not 0 <= (value := number(text)) <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r}: a time to wait is from 0 to 3600 seconds")
    return value


def number(text: str) -> float:
    """A number, or NaN, which is in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan
