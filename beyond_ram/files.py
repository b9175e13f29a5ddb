"""Write files atomically: whole or not at all. Also the error for damaged files."""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

# Bytes of the end of a program's output that are kept.
_END_BYTES = 1 << 16


class DamagedError(ValueError):
    """A file is truncated or of the wrong kind. The message is one line with its name and what to do."""


@contextlib.contextmanager
def whole(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path to write to. After the block, the file is renamed to `path`.

    If the block raises, the temporary file is deleted and `path` is unchanged. The temporary file is new: it has a
    random name in the same folder, with the ending of `path`, and follows no link. It replaces only a regular file,
    whose mode it takes, or a link; the file behind a link is not changed. Everything else is refused. Raises OSError.
    """
    path = Path(path)
    mode = check_target(path)
    partial = path.with_name(f".partial-{secrets.token_hex(8)}{path.suffix}")
    try:
        os.close(os.open(partial, _NEW, 0o666))
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent)) from None
    try:
        mode = mode or stat.S_IMODE(partial.lstat().st_mode)
        yield partial
        written = partial.lstat().st_mode
        if not stat.S_ISREG(written):
            raise FileExistsError(errno.EEXIST, "was replaced by something else while it was written", str(partial))
        if stat.S_IMODE(written) != mode:  # some file systems refuse it
            partial.chmod(mode)
        check_target(path)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def check_page(path: Path) -> None:
    """Raise FileExistsError if a path is a file with content that is no HTML: it is not replaced by a page."""
    if path.is_file() and (begin := path.open("rb").read(100)) and not begin.lstrip().lower().startswith(b"<!doctype"):
        raise FileExistsError(errno.EEXIST, "holds no page, and is not replaced by one; name another file", str(path))


def write(path: Path | str, content: str | bytes) -> None:
    """Write a file atomically, like `whole`; text as UTF-8. Raises OSError."""
    with whole(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def log(path: Path | str) -> TextIO:
    """Open a new text file that others can read while it is written, for paths that `whole` would replace.

    Raises OSError.
    """
    path = Path(path)
    check_target(path)
    path.unlink(missing_ok=True)
    return open(os.open(path, _NEW, 0o666), "w", buffering=1, encoding="utf-8")  # noqa: PTH123 (of a descriptor)


def check_target(path: Path | str) -> int:
    """The mode of the regular file that would be replaced; 0 if there is none.

    Raises OSError for anything but a regular file or a link to one, and for all in /dev and /proc, such as /dev/stdout.
    """
    path = Path(path)
    try:
        kind = path.lstat().st_mode
        link = stat.S_ISLNK(kind)
        if link:
            kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        if error.errno == errno.ELOOP:
            return 0
        raise
    folder = os.path.realpath(path.parent)
    if stat.S_ISREG(kind) and folder != "/dev" and not folder.startswith("/proc/"):
        return 0 if link else stat.S_IMODE(kind) & 0o777
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    raise FileExistsError(errno.EEXIST, "is no regular file, and nothing else is replaced; name another", str(path))


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def locked(descriptor: int) -> bool | None:
    """Lock a file. Whether that was possible; None if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def names(path: Path, descriptor: int) -> bool:
    """Whether a path is the name of an open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def read_json(path: Path | str, *keys: str) -> Any:
    """The content of a JSON file of the workflow; with `keys`, an object that has them.

    Raises DamagedError if it is missing, truncated, or of another kind.
    """
    try:
        content = json.loads(Path(path).read_bytes().decode())
        if not keys or (isinstance(content, dict) and {*keys} <= {*content}):
            return content
        why = f"no object with {' and '.join(map(repr, keys))}"
    except FileNotFoundError:
        why = "missing"
    except (ValueError, RecursionError):
        why = "no JSON, or cut"
    raise DamagedError(f"{path}: {why}; delete it, and Snakemake makes it again")


def end_of(path: Path) -> str:
    """The end of a text file, at most 64 KiB; empty if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        return file.read().decode("utf-8", "replace")
