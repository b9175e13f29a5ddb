"""The logs of the workflow's scripts."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from .files import DamagedError


@contextlib.contextmanager
def to_file(path: Path | str) -> Iterator[None]:
    """Send standard output and error, an error's traceback included, to the log of a rule."""
    import traceback

    log = Path(path).open("w", buffering=1, encoding="utf-8")  # noqa: SIM115 (closed by the next line)
    with log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            yield
        except DamagedError as error:  # one line, in the log and on the terminal
            print(error)
            raise SystemExit(str(error)) from None
        except Exception:
            traceback.print_exc()
            raise
