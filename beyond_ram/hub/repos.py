"""The folder behind the endpoint as repositories. Independent of HTTP.

    ROOT/datasets/ORG/NAME/…   and   ROOT/models/ORG/NAME/…

A repository has one revision, `main`; its commit is a hash of the names and contents of its files.
"""

import contextlib
import functools
import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["datasets", "models"]
KINDS: tuple[Kind, ...] = ("datasets", "models")
# Seconds to cache a listing: reading the folder for each of many requests would count as the clients' time.
CACHED_S = 1.0

LFS_FROM_BYTES = 10_000_000
LFS_SUFFIXES = {".arrow", ".bin", ".gz", ".h5", ".mp4", ".npy", ".parquet", ".safetensors", ".tar", ".zip", ".zst"}
MAIN = {"main", "HEAD", "refs/heads/main"}
_NAME = re.compile(r"\w([\w.-]{0,94}\w)?", re.ASCII)
_RESERVED = {"", ".", "..", ".git"}
# Limits that every file system and os.walk accept.
_PATH_BYTES, _NAME_BYTES, _NAMES = 2000, 255, 64


def is_id(identifier: str) -> bool:
    """Whether this can name a repository: NAME or ORG/NAME, by the Hub's rules."""
    names = identifier.split("/")
    legal = all(_NAME.fullmatch(name) and ".." not in name and not name.endswith(".git") for name in names)
    return legal and len(names) <= 2


def is_path(path: str) -> bool:
    """Whether a file of a repository can have this path: UTF-8 names, one slash between them, none reserved."""
    try:
        names = [name.encode() for name in path.split("/")]
    except UnicodeEncodeError:  # a lone surrogate
        return False
    short = len(names) <= _NAMES and len(path.encode()) <= _PATH_BYTES and max(map(len, names)) <= _NAME_BYTES
    return short and "\0" not in path and not _RESERVED & set(path.split("/"))


class NotFoundError(Exception):
    """A missing repository, revision or file; `code` is the Hub's error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class File:
    """A file of a repository."""

    path: str  # in the repository, with slashes
    local: Path
    size: int  # bytes
    oid: str  # git's SHA-1 of the blob
    lfs_oid: str | None  # SHA-256 if the Hub would keep the file in LFS

    @property
    def etag(self) -> str:
        """The Hub's ETag: the hash of the content."""
        return self.lfs_oid or self.oid


@dataclass(frozen=True)
class Folder:
    """A folder of a repository."""

    path: str
    oid: str


@dataclass(frozen=True)
class Listing:
    """The files of a repository when it was read."""

    files: list[File]  # in the order of the paths
    commit: str  # 40 hexadecimal digits, a hash of names and contents
    modified_s: float  # Unix time of the newest file
    read_s: float  # time of reading on the monotonic clock


class ServedRepository:
    """One dataset or model. Caches its listing: a push shows at once, any other change after `CACHED_S`."""

    def __init__(self, kind: Kind, identifier: str, root: Path) -> None:
        self.kind = kind
        self.id = identifier
        self.root = root
        self._last: Listing | None = None
        self._lock = threading.Lock()

    def listing(self, at_most_s: float | None = None) -> Listing:
        """Its files, without `.git/` and links that lead out of the folder, at most some seconds old (CACHED_S).

        Concurrent callers share one reading.
        """
        with self._lock:
            oldest = time.monotonic() - (CACHED_S if at_most_s is None else at_most_s)
            if self._last is None or self._last.read_s < oldest:
                self._last = self._read()
            return self._last

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Block readers while a push changes the folder, and read it again afterwards."""
        with self._lock:
            yield
            self._last = None

    def file(self, path: str) -> File:
        """One file, by its path. Raises NotFoundError."""
        local = self.inside(path)
        if local is None:
            raise NotFoundError("EntryNotFound", f"no file {path} in {self.id}")
        return _file(path, local)

    def _read(self) -> Listing:
        read_s = time.monotonic()
        listed = []
        for folder, folders, names in os.walk(self.root):
            prefix = Path(folder).relative_to(self.root).as_posix()
            paths = {name: name if prefix == "." else f"{prefix}/{name}" for name in [*folders, *names]}
            folders[:] = [name for name in folders if self._servable(paths[name])]
            for name in names:
                if not self._servable(paths[name]):
                    continue
                local: Path | None = Path(folder, name)
                if Path(folder, name).is_symlink():  # only a link can lead out of the repository
                    local = self.inside(paths[name])
                if local is not None and local.is_file():
                    listed.append(_file(paths[name], local))
        listed.sort(key=lambda file: file.path)
        digest = hashlib.sha1(self.id.encode(), usedforsecurity=False)
        for file in listed:
            digest.update(f"{file.path}\0{file.oid}\n".encode())
        modified_s = max((file.local.stat().st_mtime for file in listed), default=0.0)
        return Listing(listed, digest.hexdigest(), modified_s, read_s)

    def _servable(self, path: str) -> bool:
        """Whether clients can request a path; others are reported once."""
        if is_path(path):
            return True
        if path.rpartition("/")[2] not in _RESERVED:
            _report(f"{self.kind}/{self.id}/{path}")
        return False

    def entries(self, under: str = "", recursive: bool = False) -> list[File | Folder]:
        """The entries of a folder, or all below it, in the order of the paths. Raises NotFoundError."""
        prefix = f"{under.strip('/')}/" if under.strip("/") else ""
        below = [file for file in self.listing().files if file.path.startswith(prefix)]
        if not below and prefix:
            raise NotFoundError("EntryNotFound", f"no folder {under} in {self.id}")
        listed: dict[str, File | Folder] = {}
        for file in below:
            parts = file.path[len(prefix) :].split("/")
            for depth in range(1, len(parts) if recursive else min(2, len(parts))):
                folder = prefix + "/".join(parts[:depth])
                if folder not in listed:
                    listed[folder] = Folder(folder, hashlib.sha1(folder.encode(), usedforsecurity=False).hexdigest())
            if recursive or len(parts) == 1:
                listed[file.path] = file
        return [listed[path] for path in sorted(listed)]

    def check_revision(self, revision: str) -> str:
        """The commit of a revision. Raises NotFoundError.

        The commit of the last listing is trusted, so a large folder is not read for every request.
        """
        last = self._last
        if last is not None and revision == last.commit:
            return revision
        commit = self.listing().commit
        if revision not in MAIN and not (len(revision) >= 7 and commit.startswith(revision)):
            raise NotFoundError("RevisionNotFound", f"no revision {revision} in {self.id}")
        return commit

    def inside(self, path: str) -> Path | None:
        """The local file of a path; None if it is missing or leads out of the repository."""
        local = _resolved(self.root / path) if is_path(path) else None
        return local if local is not None and local.is_relative_to(self.root) and local.is_file() else None


class Repos:
    """All repositories under a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve(strict=True)
        self._served: dict[tuple[Kind, str, Path], ServedRepository] = {}

    def get(self, kind: Kind, identifier: str) -> ServedRepository:
        """A repository by name. Raises NotFoundError."""
        folder = _resolved(self.root / kind / identifier) if is_id(identifier) else None
        if folder is None or not folder.is_relative_to(self.root / kind) or not folder.is_dir():
            raise NotFoundError("RepoNotFound", f"no {kind.removesuffix('s')} {identifier}")
        return self._served.setdefault((kind, identifier, folder), ServedRepository(kind, identifier, folder))

    def hash_all(self) -> list[File]:
        """Hash every file, so that no client waits for that. Returns the files."""
        files = []
        for kind in KINDS:
            for folder in sorted((self.root / kind).glob("*/")):
                with contextlib.suppress(NotFoundError):  # a folder whose name is no id
                    files += self.get(kind, folder.name).listing().files
        return files


def _resolved(path: Path) -> Path | None:
    """A path without links; None if they form a circle."""
    try:
        return path.resolve()
    except RuntimeError:
        return None


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What differs once a file is changed: writing sets the last, even where the time of its content is set back."""
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns


def _file(path: str, local: Path) -> File:
    status = local.stat()
    oid, sha256 = _hashes_of(local, _state(status))
    lfs = status.st_size >= LFS_FROM_BYTES or local.suffix in LFS_SUFFIXES
    return File(path, local, status.st_size, oid, sha256 if lfs else None)


@functools.cache
def _hashes_of(path: Path, state: tuple[int, ...]) -> tuple[str, str]:
    """Git's blob SHA-1 and the SHA-256 of a file, read in pieces."""
    size = state[0]
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    sha256 = hashlib.sha256()
    for piece in pieces(path, 0, size):
        git.update(piece)
        sha256.update(piece)
    return git.hexdigest(), sha256.hexdigest()


@functools.cache
def _report(path: str) -> None:
    print(f"hub: {path!a} is not served: not UTF-8, or too long", file=sys.stderr)


def pieces(path: Path, start: int, stop: int, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes from `start` to `stop`, at most `size` at a time."""
    with path.open("rb") as handle:
        handle.seek(start)
        while start < stop and (piece := handle.read(min(size, stop - start))):
            start += len(piece)
            yield piece
