"""What is lost or changed between two calls of the workflow."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

A_YEAR_S = 365 * 86400


class Place(Protocol):
    """Results of a call, and the folders whose files a change may name, first one first."""

    @property
    def results(self) -> Path: ...
    @property
    def folders(self) -> tuple[Path, ...]: ...


Change = Callable[[Any], AbstractContextManager[object]]


def make_older(*paths: Path, by_s: float = A_YEAR_S) -> None:
    """Give files the same old time, as after `rsync -a`."""
    then = Path(__file__).stat().st_mtime - by_s
    for path in paths:
        os.utime(path, (then, then))


def removed(*names: str) -> Change:
    """Remove files and folders of the results."""

    @contextlib.contextmanager
    def change(place: Place) -> Iterator[None]:
        for name in names:
            path = place.results / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield

    return change


def edited(name: str, before: str, after: str) -> Change:
    """Edit a file while the block runs; it gets an old time."""

    @contextlib.contextmanager
    def change(place: Place) -> Iterator[None]:
        file = next(folder / name for folder in place.folders if (folder / name).exists())
        text, status = file.read_text(), file.stat()
        assert before in text
        file.write_text(text.replace(before, after, 1))
        make_older(file)
        try:
            yield
        finally:
            file.write_text(text)
            os.utime(file, (status.st_atime, status.st_mtime))

    return change
