"""Small JSON files, written whole or not at all, without following links. Standard library only."""

import hashlib
import json
import os
import secrets
from pathlib import Path

PARTIAL = ".partial-"  # prefix of names of files that are not complete yet


def write_json(path, value):
    """Write a file whole or not at all: a new file with a random name, which replaces a regular file or a link.

    Raises OSError.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path}: no regular file, and nothing else is replaced")
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:  # of names that are not UTF-8
            file.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def unlinked(path):
    """Remove a file or link, so that opening the path creates a new file. Raises OSError for a folder."""
    Path(path).unlink(missing_ok=True)
    return path


def open_lock(path):
    """Open a file to lock, created if missing, with its content kept. Raises OSError for a link."""
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666), "r+b")


def write_record(path, value):
    """Write an object with a digest of itself and its name, which reveals a record that is damaged, or another's.

    Raises OSError.
    """
    write_json(path, {**value, "record_sha256": digest_of([Path(path).name, value])})


def read_record(path):
    """Read a file of `write_record`; None if it is missing, damaged, of another name or no file."""
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            return None
        value = json.loads(Path(path).read_text(encoding="utf-8"))
        return value if value.pop("record_sha256") == digest_of([Path(path).name, value]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def digest_of(value):
    """The SHA-256 of an object."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
