"""What is lost or changed between two calls of the workflow."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Protocol

A_YEAR_S = 365 * 86400


class Place(Protocol):
    """Results of a call, and the folders whose files a change may name, first one first."""

    @property
    def results(self): ...
    @property
    def folders(self): ...


def make_older(*paths, by_s=A_YEAR_S):
    """Give files the same old time, as after `rsync -a`."""
    then = Path(__file__).stat().st_mtime - by_s
    for path in paths:
        os.utime(path, (then, then))


def removed(*names):
    """Remove files and folders of the results."""

    @contextlib.contextmanager
    def change(place):
        for name in names:
            path = place.results / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield

    return change


def edited(name, before, after):
    """Edit a file while the block runs; it gets an old time."""

    @contextlib.contextmanager
    def change(place):
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
