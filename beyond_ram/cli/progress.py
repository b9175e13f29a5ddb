"""A progress line and an option in minutes, for commands that take minutes."""

import sys


def show(line: str) -> None:
    """Show the current step: in place on a terminal, otherwise as a new line. An empty text clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    elif line:
        print(line, file=sys.stderr, flush=True)


def minutes(text: str) -> float:
    """A number of minutes above 0. Raises ValueError."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number
