"""`beyond-ram watch`: measure any command, or a running program."""

import argparse
import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import mask_secrets
from ..files import check_page, check_target, write
from ..memory_request import document
from ..records.run_files import RUN_FILES
from ..records.run_json import NoteEntry, RunRecord
from .options import limit, waiting_time
from .programs import no_start, remove_own_path

if TYPE_CHECKING:
    from ..watch.targets import Target


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "watch",
        help="measure a command, or a running program",
        description="Measure the memory of a command, or of a program that already runs. run.json has the command "
        "line, with secrets masked.",
        usage="beyond-ram watch [--out D] [--interval-ms N] [--memory-limit SIZE] [--max-anon SIZE] [--max-rss SIZE]\n"
        "                        [--html FILE] [--json FILE|-] [--follow] [--input F] -- COMMAND…\n"
        "       beyond-ram watch [--out D] … (--pid N [--pid M] | --cgroup PATH | --container ID | --slurm JOBID)\n"
        "                        [--wait S] [--reset-marks]\n"
        "       beyond-ram watch --self-test",
    )
    _add_options(parser)
    _add_targets(parser)
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="the command and its arguments, after --")
    parser.set_defaults(run=run, default_of=parser.get_default)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--out", type=Path, help="folder for samples.csv, events.jsonl and run.json (default: keep none)")
    add("--interval-ms", type=_milliseconds, default=20, help="sampling interval in milliseconds (default: 20)")
    add("--memory-limit", type=limit, metavar="SIZE", help="kill the command above this, such as 500M or 2G")
    for kind, what in (("anon", "anonymous memory"), ("rss", "RSS")):
        ceiling = f"exit with 3 if the peak of {what} is above this, such as 500M or 2G; kills nothing"
        add(f"--max-{kind}", type=_ceiling, metavar="SIZE", help=ceiling)
    add("--html", type=Path, metavar="FILE", help="write a page of the run: request, causes, memory over time")
    to_json = "write the record and the request as one JSON document; -: to standard output, after the command's own"
    add("--json", type=Path, metavar="FILE", help=to_json)
    add("--follow", action="store_true", help="wait until everything that the command started has ended")
    cached = "record how much of this file is in the page cache; repeatable"
    add("--input", type=Path, action="append", default=[], metavar="FILE", help=cached)
    reader = "how to read processes (default: /proc, or psutil where /proc is too limited)"
    add("--reader", choices=("procfs", "psutil"), help=reader)
    add("--self-test", action="store_true", help="measure programs of known memory, and print the errors")


def _add_targets(parser: argparse.ArgumentParser) -> None:
    """Add options to follow a running program."""
    one = parser.add_mutually_exclusive_group().add_argument
    processes = "follow a running process and all below it; repeatable"
    one("--pid", type=_pid, action="append", metavar="N", help=processes)
    one("--cgroup", type=Path, metavar="PATH", help="follow everything in a control group")
    one("--container", metavar="ID", help="follow a container or a pod, by id, start of an id, or name")
    one("--slurm", metavar="JOBID", help="follow a Slurm job, on its node")
    add = parser.add_argument
    wait = "seconds to wait for the job of --slurm to start (default: 0)"
    add("--wait", type=waiting_time, default=0.0, metavar="SECONDS", help=wait)
    marks = "reset the kernel's high-water marks of the followed processes, now and at each phase"
    add("--reset-marks", action="store_true", help=marks)


def _milliseconds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 60_000:
        raise argparse.ArgumentTypeError(f"{text}: an interval is from 1 to 60000 milliseconds, such as 20")
    return int(text)


def _pid(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no process id, such as 4711; pgrep -f NAME prints it")
    return int(text)


def _ceiling(text: str) -> tuple[int, str]:
    """A ceiling in bytes, and its text."""
    return limit(text), text.strip()


def _is_file(path: Path) -> bool:
    """Whether a path is there and no folder. An error shows where the folder is used, which ends no command."""
    try:
        return path.exists() and not path.is_dir()
    except Exception:
        return False


def run(arguments: argparse.Namespace) -> int:
    from ..watch import ceilings
    from ..watch.exit_status import as_a_shell

    if arguments.self_test:
        from ..watch.calibration import self_test

        if any(value not in (None, [], arguments.default_of(name)) for name, value in vars(arguments).items()
               if name != "self_test"):  # fmt: skip
            raise ValueError("--self-test goes alone: it runs programs of its own")
        return self_test()
    attached = bool(arguments.pid or arguments.cgroup or arguments.container or arguments.slurm)
    if attached:
        _refuse_command_options(arguments)
    elif not arguments.command or not arguments.command[0]:
        raise ValueError("no command: beyond-ram watch -- COMMAND…, or --pid N of a running program")
    elif arguments.reset_marks:
        raise ValueError("--reset-marks goes with --pid, --cgroup, --container or --slurm: a command has its own")
    if arguments.wait and not arguments.slurm:
        raise ValueError("--wait goes with --slurm: it waits for the job to start")
    ceiling_texts = {kind: getattr(arguments, f"max_{kind}") for kind in ceilings.KINDS}
    allowed = [ceilings.Ceiling(kind, *ceiling) for kind, ceiling in ceiling_texts.items() if ceiling]
    stays = arguments.out is not None
    if stays and _is_file(arguments.out):
        raise ValueError(f"--out {arguments.out}: a file, and has to be a folder; name another")
    if arguments.html:
        _check_page(arguments.html, arguments.out)
        arguments.out = arguments.out or Path(tempfile.mkdtemp(prefix="beyond-ram-"))  # needed to make the page
    if arguments.json:
        _check_json(arguments.json)
    how = {"interval_ms": arguments.interval_ms, "inputs": arguments.input, "live": _on_terminal()}
    if attached:
        target = _target(arguments)
    else:
        remove_own_path()
    with _outliving_signals():
        # The exit status of a command becomes ours.
        record = _attached(target, arguments, how) if attached else _watched(arguments, how)
        status = 0 if attached else as_a_shell(record)
        if allowed:
            record["ceilings"] = ceilings.judge(record, allowed)
            record["watch_status"] = status = ceilings.status(status, record["ceilings"])
        folder = arguments.out
        with contextlib.suppress(Exception):
            folder = arguments.out and _keep_record(record, arguments.out)
        with contextlib.suppress(Exception):
            _print_summary(record)
    if arguments.json and not _write_json(record, arguments):
        status = status or 1
    if arguments.html and not _page(arguments.html, folder, stays=stays):
        return status or 1
    return status


def _attached(target: "Target", arguments: argparse.Namespace, how: dict[str, Any]) -> RunRecord:
    """The record of a running program. Raises OSError."""
    from ..watch.attach import AttachOptions, attach

    options = AttachOptions(**how, reset_marks=arguments.reset_marks)
    return attach(target, arguments.out, options)


def _watched(arguments: argparse.Namespace, how: dict[str, Any]) -> RunRecord:
    """The record of a command. Raises OSError, and ValueError with what to type for one that cannot start."""
    from ..watch import WatchOptions, watch

    of_command = {"memory_limit_bytes": arguments.memory_limit, "follow": arguments.follow, "reader": arguments.reader}
    command = arguments.command
    try:
        return watch(command, arguments.out, WatchOptions(**how, **of_command))
    except OSError as error:
        if error.filename != command[0]:
            raise
        raise ValueError(no_start(command[0], error.errno)) from None


@contextlib.contextmanager
def _outliving_signals() -> Iterator[None]:
    """Let no signal end this process before the record is written. While the command runs, the watcher takes them."""
    from ..watch.watcher import PASSED_ON

    before = {}
    for number in PASSED_ON:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_page(page: Path, out: Path | None) -> None:
    """Raise ValueError or OSError if the page could not be written at the end."""
    if str(page) == "-":
        raise ValueError("--html -: a page goes into a file, such as run.html")
    check_page(page)
    check_target(page)
    if page.parent == out:  # that folder is made, or refused, later
        return
    folder = page.parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder for the page", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no page can be written there", str(folder))


def _check_json(file: Path) -> None:
    """Raise ValueError or OSError if the document could not be written at the end, or would replace another file."""
    if str(file) == "-":
        return
    if file.exists():
        with contextlib.suppress(ValueError, OSError):
            content = json.loads(file.read_bytes())
            if isinstance(content, dict) and {"request", "record"} <= content.keys():
                return
        raise ValueError(f"--json {file}: is no document of an earlier run, and is not replaced; name another file")
    if not file.parent.is_dir():
        raise ValueError(f"--json {file}: there is no folder {file.parent}")


def _write_json(record: RunRecord, arguments: argparse.Namespace) -> bool:
    """Write the document, with secrets of the command line masked. Returns whether that succeeded."""
    try:
        if "command" in record:
            record = record | {"command": mask_secrets.in_command(record["command"])}
        text = json.dumps(document(record), indent=1) + "\n"
        if str(arguments.json) == "-":
            print(text, end="", flush=True)
        else:
            write(arguments.json, text)
    except Exception as error:
        message = mask_secrets.in_text(f"no document {arguments.json}: {error}")
        print(f"beyond-ram: {' '.join(message.split())}", file=sys.stderr)
        return False
    return True


def _refuse_command_options(arguments: argparse.Namespace) -> None:
    """Refuse options that only work for a command started here. Raises ValueError."""
    if arguments.command:
        raise ValueError("either a command, or --pid, --cgroup, --container or --slurm, not both")
    for option in ("memory_limit", "follow"):
        if getattr(arguments, option):
            raise ValueError(f"--{option.replace('_', '-')} is for a command, not for a running program")


def _target(arguments: argparse.Namespace) -> "Target":
    from ..watch import targets

    if arguments.pid:
        return targets.processes(list(dict.fromkeys(arguments.pid)), arguments.reader)
    if arguments.cgroup:
        return targets.group(arguments.cgroup, arguments.reader)
    if arguments.container:
        from ..watch import containers

        return containers.target(arguments.container, arguments.reader)
    return targets.slurm_job(arguments.slurm, arguments.wait, arguments.reader)


def _on_terminal() -> bool:
    with contextlib.suppress(Exception):
        return os.isatty(2)
    return False


def _page(page: Path, folder: Path, *, stays: bool) -> bool:
    """Write the page of the run, and remove the folder unless it `stays`. Returns whether that succeeded; else it
    prints one line with the reason, and the folder stays."""
    try:
        from .. import run_page

        run_page.write(page, {"The run": run_page.RunFolder.read(folder)}, kept=stays)
    except Exception as error:
        from ..watch.missing import one_line, printable

        parts = (f"no page {page}: {one_line(error)}", f"the run is in {folder}")
        print(f"beyond-ram: {'; '.join(printable(mask_secrets.in_text(part)) for part in parts)}", file=sys.stderr)
        return False
    if not stays:
        shutil.rmtree(folder, ignore_errors=True)
    return True


def _keep_record(record: RunRecord, out: Path) -> Path:
    """Write run.json into its folder. If some file of the run does not fit there, all go into one folder elsewhere.

    Returns the folder with all files of the run.
    """
    from ..watch import write_record
    from ..watch.missing import one_line

    elsewhere, note = record.get("elsewhere"), NoteEntry(what="run.json", why="")
    try:
        write_record(record, out)
        if not elsewhere:
            return out
    except Exception as error:
        note["why"] = one_line(error)
        record["missing"].append(note)
    folder = Path(elsewhere or tempfile.mkdtemp(prefix="beyond-ram-kept-"))
    write_record(record, folder)
    note["why"] += f"; it is in {folder}"
    for name in RUN_FILES[:2]:
        if not (folder / name).exists():
            shutil.copyfile(out / name, folder / name)
    return folder


def _print_summary(record: RunRecord) -> None:
    """Print the summary to standard error; a short one if parts of the record are missing."""
    from ..watch import ceilings
    from ..watch.summary import lacking, lines

    try:
        text = list(lines(record))
    except Exception:
        text = [f"outcome     {record['outcome']}", *lacking(record), *ceilings.lines(record)]
    data = "".join(f"{line}\n" for line in text).encode("utf-8", "replace")
    while data:  # unbuffered: a failed flush would change the exit status
        data = data[os.write(2, data) :]
