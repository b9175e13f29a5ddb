"""`beyond-ram watch`: any command as it is."""

import argparse
import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "watch",
        help="weigh any command",
        description="Weighs any command. run.json holds its whole command line: give passwords and tokens another way.",
        usage="beyond-ram watch [--out D] [--interval-ms N] [--memory-limit SIZE] [--max-anon SIZE] [--max-rss SIZE]\n"
        "                        [--max-pss SIZE] [--follow] [--input F] -- COMMAND…\n"
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
    for kind, what in (("anon", "anonymous memory"), ("rss", "RSS"), ("pss", "PSS")):
        parser.add_argument(
            f"--max-{kind}",
            type=_ceiling,
            metavar="SIZE",
            help=f"exit with 3 where the tree's peak of {what} was above, as 500M or 2G; nothing is killed",
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


def _ceiling(text: str) -> tuple[int, str]:
    """A size above 0 in bytes, and as it was written."""
    if not (found := size(text)):
        raise argparse.ArgumentTypeError(f"{text!r}: every command needs more than that")
    return found, text.strip()


def run(arguments: argparse.Namespace) -> int:
    from ..watch import ceilings, watch
    from ..watch.exit_status import as_a_shell

    if arguments.self_test:
        from ..watch.calibration import self_test

        return self_test()
    if not arguments.command or not arguments.command[0]:
        raise ValueError("what to watch? beyond-ram watch -- COMMAND…")
    given = {kind: getattr(arguments, f"max_{kind}") for kind in ceilings.KINDS}
    allowed = [ceilings.Ceiling(kind, *found) for kind, found in given.items() if found]
    record = watch(
        arguments.command,
        arguments.out,
        interval_ms=arguments.interval_ms,
        memory_limit_bytes=arguments.memory_limit,
        follow=arguments.follow,
        inputs=arguments.input,
        live=_is_terminal(2),
    )
    # From here on the command has ended, and its status is what this one ends with.
    status = as_a_shell(record)
    if allowed:
        record["ceilings"] = ceilings.judge(record, allowed)
        record["watch_status"] = status = ceilings.status(status, record["ceilings"])
    with contextlib.suppress(Exception):
        _keep(record, arguments.out)
    with contextlib.suppress(Exception):
        _print_summary(record)
    return status


def _is_terminal(descriptor: int) -> bool:
    with contextlib.suppress(Exception):
        return os.isatty(descriptor)
    return False


def _keep(record: dict[str, Any], out: Path | None) -> None:
    """Write run.json into its folder, or beside the files that the folder could not take."""
    from ..watch import write_record
    from ..watch.missing import one_line

    if out is None:
        return
    try:
        write_record(record, out)
    except Exception as error:
        why, kept = one_line(error), record.get("elsewhere")
        try:
            kept = kept or tempfile.mkdtemp(prefix="beyond-ram-kept-")
            write_record(record, Path(kept))
            why += f"; it is in {kept}"
        except Exception:
            pass
        record["missing"].append({"what": "run.json", "why": why})


def _print_summary(record: dict[str, Any]) -> None:
    """The summary on standard error; less of it where the record has less."""
    from ..watch import ceilings
    from ..watch.summary import lacking, lines

    try:
        text = list(lines(record))
    except Exception:
        text = [f"outcome     {record['outcome']}", *lacking(record), *ceilings.lines(record)]
    data = "".join(f"{line}\n" for line in text).encode("utf-8", "replace")
    while data:  # past Python's own buffer: one that cannot be emptied would change the exit status
        data = data[os.write(2, data) :]
