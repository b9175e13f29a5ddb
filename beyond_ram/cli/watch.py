"""`beyond-ram watch`: any command as it is."""

import argparse
import re
import tempfile
from pathlib import Path

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "watch",
        help="weigh any command",
        usage="beyond-ram watch [--out D] [--interval-ms N] [--memory-limit SIZE] [--follow] [--input F] -- COMMAND…\n"
        "       beyond-ram watch --self-test",
    )
    parser.add_argument(
        "--out", type=Path, help="folder for samples.csv, events.jsonl and run.json (default: none kept)"
    )
    parser.add_argument(
        "--interval-ms", type=_milliseconds, default=20, help="sampling interval in milliseconds (default: 20)"
    )
    parser.add_argument(
        "--memory-limit", type=size, metavar="SIZE", help="kill the command when it needs more, as 500M or 2G"
    )
    parser.add_argument("--follow", action="store_true", help="go on until all that the command started has ended")
    parser.add_argument(
        "--input", type=Path, action="append", default=[], metavar="FILE", help="a file whose page cache is recorded"
    )
    parser.add_argument(
        "--self-test", action="store_true", help="weigh programs whose memory is known, and say how far off"
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command and its arguments, after --")
    parser.set_defaults(run=run)


def _milliseconds(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 60_000:
        raise argparse.ArgumentTypeError(f"{text}: an interval is from 1 to 60000 milliseconds")
    return value


def size(text: str) -> int:
    """A size in bytes: K, M, G, T are powers of 1024 (KiB as well); KB, MB, GB powers of 1000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?B)?", text.strip().upper())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: say 500M, 1.5G or 2000000000")
    number, unit, suffix = found.groups()
    return int(float(number) * (_UNITS[unit + "B"] if suffix == "B" and unit in ("K", "M", "G") else _UNITS[unit]))


def run(arguments: argparse.Namespace) -> int:
    import sys

    from ..watch import watch, write_record
    from ..watch.summary import lines

    if arguments.self_test:
        from ..watch.calibration import self_test

        return self_test()
    if not arguments.command:
        raise ValueError("what to watch? beyond-ram watch -- COMMAND…")
    with tempfile.TemporaryDirectory(prefix="beyond-ram-") as scratch:
        out = arguments.out or Path(scratch)
        record = watch(
            arguments.command,
            out,
            interval_ms=arguments.interval_ms,
            memory_limit_bytes=arguments.memory_limit,
            follow=arguments.follow,
            inputs=arguments.input,
            live=sys.stderr.isatty(),
        )
        write_record(record, out)
    for line in lines(record):
        print(line, file=sys.stderr)
    return record["exit_status"] if record["signal"] is None else 128 + _number(record["signal"])


def _number(name: str) -> int:
    import signal

    return signal.Signals[name].value
