"""Options of several commands, and their line of progress."""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


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


def add_budget_to(
    parser: argparse.ArgumentParser,
    out: str,
    budget: str = "the most that it may take, with the building of environments",
    files: str = "all files",
) -> None:
    """The budget in minutes, and where files go."""
    parser.add_argument(
        "--budget", type=minutes, default=10.0, metavar="MINUTES", help=f"{budget} (default: 10)"
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path(out), metavar="DIR", help=f"{files} (default: {out})")


def add_json_to(parser: argparse.ArgumentParser, file: str | None = None) -> None:
    """Option --json, for a command that writes its result to this file of --out, or sets `arguments.document`."""
    text = "print the result as one JSON document; the text goes to standard error"
    parser.add_argument("--json", action="store_true", help=text)
    parser.set_defaults(json_file=file)


def finish(arguments: argparse.Namespace, document: dict[str, Any], lines: Iterable[str]) -> None:
    """Write the result into its file of --out, and print its text and where all files are."""
    from ..files import write

    show("")
    write(arguments.out / arguments.json_file, json.dumps(document, indent=1) + "\n")
    print("\n".join([*lines, f"files: {arguments.out}"]))


def size(text: str) -> int:
    """A size in bytes: K, M, G, T (or KiB etc.) are powers of 1024; KB, MB, GB are powers of 1000."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?B)?", text.strip().upper())
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: say 500M, 1.5G or 2000000000")
    number, unit, suffix = match.groups()
    size_bytes = float(number) * (_UNITS[unit + "B"] if suffix == "B" and unit in ("K", "M", "G") else _UNITS[unit])
    if size_bytes >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is more than any machine has")
    return int(size_bytes)


def limit(text: str) -> int:
    """A memory limit in bytes, in which a program can start."""
    if (size_bytes := size(text)) < 1 << 20:
        raise argparse.ArgumentTypeError(f"{text!r}: every command needs more than that; say 500M or 2G")
    return size_bytes


def number(text: str) -> float:
    """A number, or NaN, which is in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan
