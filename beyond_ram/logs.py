"""Logs of the workflow's scripts."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import files
from .files import DamagedError
from .parent_process import end_with_snakemake
from .text import plain


@contextlib.contextmanager
def to_file(path: Path | str) -> Iterator[None]:
    """Send standard output and standard error, including tracebacks, to the log of a rule."""
    import traceback

    end_with_snakemake()  # otherwise it would keep writing beside its replacement
    with files.log(path) as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            yield
        except DamagedError as error:  # one line, in the log and on the terminal
            print(error)
            raise SystemExit(str(error)) from None
        except Exception:
            traceback.print_exc()
            raise SystemExit(1) from None  # Snakemake shows the log of a failed job


def warn(text: str, end: str = "\n") -> None:
    """Print a message on the terminal from a script whose output goes to its log. It overwrites the progress line,
    if any."""
    if sys.__stderr__:
        begin = "\r\x1b[K" if sys.__stderr__.isatty() else ""
        print(f"{begin}{plain(text, 500)}", end=end, file=sys.__stderr__, flush=True)


def progress(text: str) -> None:
    """Print what a script does, in its log and as the line of progress on the terminal."""
    print(line := f"{time.strftime('%H:%M:%S')} {text}", flush=True)
    redraws = bool(sys.__stderr__ and sys.__stderr__.isatty())
    warn(text[:79] if redraws else line, end="" if redraws else "\n")
