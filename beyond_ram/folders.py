"""Folders that are replaced or deleted. Only folders that were made here ever are.

All code that replaces or deletes a folder of the user's disk uses this module. A folder made here contains an empty
file, `MARK`. Any other folder that is not empty stays as it is, and an error is raised.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .files import locked

MARK = ".beyond-ram-made"


class ForeignFolderError(RuntimeError):
    """The folder to replace or delete was not made here. The message is one line."""


class InUseError(RuntimeError):
    """Another process fills the folder. The message is one line."""


def protected_places() -> list[Path]:
    """The working directory and the home folder. These, and all folders above them, are never replaced."""
    places = [Path.cwd()]
    with contextlib.suppress(RuntimeError):
        places.append(Path.home())
    return [place.resolve() for place in places]


def mark(folder: Path, name: str = MARK) -> None:
    """Mark a folder as made here, so that it may be replaced and deleted; or with another empty file."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))


def check(folder: Path) -> None:
    """Raise ForeignFolderError unless the folder is missing, empty, or made here."""
    try:
        kind = folder.lstat().st_mode  # checked only once, because another process may delete it meanwhile
        entries = {entry.name for entry in folder.iterdir()} if stat.S_ISDIR(kind) else set()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(kind):
        raise ForeignFolderError(f"{folder} is a link, and only a folder can be replaced; name another")
    if not stat.S_ISDIR(kind):
        raise ForeignFolderError(f"{folder} is a file, and has to be a folder; name another")
    if any(place.is_relative_to(folder.resolve()) for place in protected_places()):
        raise ForeignFolderError(f"{folder} holds the working directory or the home, and is never replaced")
    if entries and (MARK not in entries or (folder / MARK).is_symlink() or (folder / MARK).is_dir()):
        raise ForeignFolderError(
            f"{folder} is not empty and was not made by beyond-ram (it has no {MARK}), so it is left as it is; "
            "move it away, or name another folder"
        )


def remove(folder: Path) -> None:
    """Delete a folder that was made here, its mark last. Raises ForeignFolderError for any other folder, OSError."""
    check(folder)
    if not folder.exists():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != MARK:
            path.unlink()
    (folder / MARK).unlink(missing_ok=True)
    folder.rmdir()


def ensure(folder: Path) -> None:
    """Make a folder, or take one that was made here with what is in it. Raises ForeignFolderError, OSError."""
    check(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark(folder)


def fresh(folder: Path) -> None:
    """Make a folder again, empty except for its mark. Raises ForeignFolderError, OSError."""
    remove(folder)
    folder.mkdir(parents=True)
    mark(folder)


@contextlib.contextmanager
def replaced(out: Path) -> Iterator[Path]:
    """Yield an empty folder to fill. If the block succeeds, it replaces `out`; else it is deleted.

    The folder is beside `out`, inside a folder that stays locked while this process or any child with its open files
    lives. The next call deletes what a killed process left. Raises ForeignFolderError, OSError.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100 - resolve() would follow a link
    check(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{out.name}.making-"
    left = [path for path in out.parent.iterdir() if path.name.startswith(prefix)]
    holder = Path(tempfile.mkdtemp(prefix=prefix, dir=out.parent))
    mark(holder)
    with _locked(holder):
        try:
            for other in left:
                with _locked(other) as ours:
                    if ours:
                        remove(other)
            folder = holder / out.name
            folder.mkdir()
            yield folder
            mark(folder)
            check(out)
            if out.exists():
                out.replace(holder / "replaced")
            folder.replace(out)
        finally:
            remove(holder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder by its mark, for child processes too. Yields whether that was possible; None without a mark, or
    on a file system without locks."""
    try:
        descriptor = os.open(folder / MARK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # without a mark it is not ours
        yield None
        return
    try:
        os.set_inheritable(descriptor, True)
        yield locked(descriptor)
    finally:
        os.close(descriptor)
