"""What is lost or changed between two calls of the workflow.

A `place` has `results`, those of a call, and `folders`, whose files a change may name, first one first.
"""

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

A_YEAR_S = 365 * 86400


def jobs_of(done):
    """The number of jobs of each rule in a dry run."""
    assert done.returncode == 0, done.stderr[-3000:]
    return {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, re.MULTILINE)}


def records_of(results):
    """The records of the runs on disk."""
    return [json.loads(path.read_text()) for path in (results / "runs").rglob("run.json")]


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


@contextlib.contextmanager
def replaced(file, before, after):
    """Replace a text of a file while the block runs; it gets an old time. Without `before`, put `after` first."""
    text, status = file.read_text(), file.stat()
    assert before in text
    file.write_text(text.replace(before, after, 1))
    make_older(file)
    try:
        yield
    finally:
        file.write_text(text)
        os.utime(file, (status.st_atime, status.st_mtime))


def edited(name, before, after):
    """Replace a text of a file that a place has."""

    def change(place):
        return replaced(next(folder / name for folder in place.folders if (folder / name).exists()), before, after)

    return change
