"""A progress line, and options of several commands."""

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


def add_json_to(parser: argparse.ArgumentParser, file: str | None = None) -> None:
    """Option --json, for a command that writes its result to this file of --out, or sets `arguments.document`."""
    text = "print the result as one JSON document; the text goes to standard error"
    parser.add_argument("--json", action="store_true", help=text)
    parser.set_defaults(json_file=file)


def number(text: str) -> float:
    """A number, or NaN, which is in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan
