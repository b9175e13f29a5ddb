"""`beyond-ram watch`: any command as it is."""

import argparse
import tempfile
from pathlib import Path


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "watch", help="weigh any command", usage="beyond-ram watch [--out DIR] [--interval-ms N] -- COMMAND…"
    )
    parser.add_argument("--out", type=Path, help="folder for the three files of a run (default: none is kept)")
    parser.add_argument(
        "--interval-ms", type=_milliseconds, default=20, help="sampling interval in milliseconds (default: 20)"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the command and its arguments, after --")
    parser.set_defaults(run=run)


def _milliseconds(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 60_000:
        raise argparse.ArgumentTypeError(f"{text}: an interval is from 1 to 60000 milliseconds")
    return value


def run(arguments: argparse.Namespace) -> int:
    import sys

    from ..watch import watch, write_record
    from ..watch.summary import lines

    with tempfile.TemporaryDirectory(prefix="beyond-ram-") as scratch:
        out = arguments.out or Path(scratch)
        record = watch(arguments.command, out, interval_ms=arguments.interval_ms)
        write_record(record, out)
    for line in lines(record):
        print(line, file=sys.stderr)
    return record["exit_status"] if record["signal"] is None else 128 + _number(record["signal"])


def _number(name: str) -> int:
    import signal

    return signal.Signals[name].value
