"""Logs of the workflow's scripts."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import files
from ..files import DamagedError
from ..parent_process import end_with_snakemake
from ..text import plain


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


def warn(text: str, *, passing: bool = False) -> None:
    """Print a message on the terminal from a script whose output goes to its log. It overwrites the progress line, if
    any, and is one itself if it is `passing`."""
    if sys.__stderr__:
        terminal = sys.__stderr__.isatty()
        line = f"\r\x1b[K{plain(text, 500)}" if terminal else plain(text, 500)
        print(line, end="" if terminal and passing else "\n", file=sys.__stderr__, flush=True)
