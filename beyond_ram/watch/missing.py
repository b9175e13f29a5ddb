"""What the record of a run lacks, and why. All errors of the watcher end here.

Watching never harms the watched command. All code that opens, reads, parses or writes runs inside a `step`, which turns
an error into a note in the record; the command runs on.
"""

import contextlib
import errno
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .. import mask_secrets

PROPORTIONAL = "PSS and USS"
PROCESSES = "processes"
"""Subject of the notes about processes that lived and were not counted."""
_KEPT, _WIDTH = 32, 300
_Result = TypeVar("_Result")
_Default = TypeVar("_Default")


class Missing:
    """Notes, one for each subject and reason, however often it recurs."""

    def __init__(self) -> None:
        self.began_s = 0.0
        with contextlib.suppress(Exception):
            self.began_s = time.monotonic()
        self._notes: dict[tuple[str, str], dict[str, Any]] = {}

    def note(self, what: str, why: BaseException | str) -> None:
        """Note that part of `what` is missing, and why. Raises nothing."""
        try:
            self._note(what, one_line(why))
        except Exception:
            self._notes["", ""] = {"what": "notes", "why": "a note could not be taken"}

    def _note(self, what: str, why: str) -> None:
        now = round(max(0.0, time.monotonic() - self.began_s), 3)
        entry = self._notes.get((what, why))
        if entry is not None:
            entry["until_s"] = now
            entry["times"] += 1
        elif len(self._notes) < _KEPT or not self.has(what):
            self._notes[what, why] = {"what": what, "why": why, "since_s": now, "until_s": now, "times": 1}

    def has(self, what: str) -> bool:
        """Whether there is a note about `what`."""
        return any(subject == what for subject, _ in self._notes)

    def step(self, what: str) -> "NotedStep":
        """A `with` block that turns an error into a note."""
        return NotedStep(self, what)

    def attempt(self, what: str, step: Callable[[], _Result], default: _Default) -> _Result | _Default:
        """The result of `step`; after an error, `default` and a note."""
        with self.step(what):
            return step()
        return default

    def record(self) -> list[dict[str, Any]]:
        """The notes: `what`, `why`, first and last time in seconds since the command's start, number of times."""
        return list(self._notes.values())


class NotedStep:
    def __init__(self, missing: Missing, what: str) -> None:
        self._missing, self._what = missing, what
        self.failed = self.no_room = False
        """Whether an error ended the block; whether that was too many open files."""

    def __enter__(self) -> "NotedStep":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if not isinstance(error, Exception):
            return False
        self.failed = True
        self.no_room = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
        self._missing.note(self._what, error)
        return True


def one_line(why: BaseException | str) -> str:
    """A reason, or an error without secrets, as one short line."""
    if isinstance(why, str):
        return printable(why)
    if isinstance(why, OSError) and why.strerror:
        text = why.strerror + (f": {why.filename}" if why.filename else "")
    else:
        text = f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    return printable(mask_secrets.in_text(text))


def printable(text: str, most: int = _WIDTH) -> str:
    """Foreign text with control characters and unencodable ones replaced by `?`, at most `most` characters."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:most])
