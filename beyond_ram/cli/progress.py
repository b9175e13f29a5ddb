"""What commands that take minutes share: one line of progress, and minutes as an option."""

import sys


def show(line: str) -> None:
    """Show what is being done: on one line of a terminal, else on a line of its own. An empty line clears it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    elif line:
        print(line, file=sys.stderr, flush=True)


def minutes(text: str) -> float:
    """Minutes above 0. Raises ValueError."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number
