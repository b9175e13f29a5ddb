"""Pushed files: objects by their SHA-256, then a commit, whole or not at all."""

import base64
import binascii
import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import re
import shutil
import struct
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beyond_ram.hub.repos import KINDS, MARK, Kind, Repos, Repository, is_id, is_path
from beyond_ram.hub.xet import Storage

SHA256 = re.compile(r"[0-9a-f]{64}")
_MARKED = "Made by the local Hub endpoint, or pushed to it: whoever may push may delete this repository.\n"
# Errors of link(2) after which a file is copied instead.
_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP}
_BESIDE, _ASIDE = ".hub-", "aside"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


class RefusedError(ValueError):
    """A refused push; the text is one line."""


class StaleError(RefusedError):
    """A commit that was made for another parent than the present one."""


class Store:
    """Uploaded objects that are in no commit yet: ROOT/.objects/SHA256."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._folder = repos.root / ".objects"
        self._lock = threading.Lock()
        self.xet = Storage(repos.root / ".xet")
        """Xet storage, which clients write themselves."""
        for kind in KINDS:
            for folder in repos.root.glob(f"{kind}/*/{_BESIDE}*"):
                _remove_unused(folder)

    def create(self, kind: Kind, identifier: str) -> bool:
        """Make an empty repository; False if it exists. Raises RefusedError."""
        folder = self._repos.root / kind / identifier
        if not is_id(identifier) or "/" not in identifier:
            raise RefusedError(f"{identifier!r} cannot name a repository: ORG/NAME can")
        with self._lock:
            folder.parent.mkdir(parents=True, exist_ok=True)
            if not folder.parent.resolve().is_relative_to(self._repos.root / kind):
                raise RefusedError(f"{identifier!r} leads out of the folder")
            if folder.is_dir():
                return False
            with _beside(folder) as new_folder:
                _mark(new_folder)
                new_folder.rename(folder)
        return True

    def delete(self, kind: Kind, identifier: str) -> None:
        """Remove a repository that was made here or pushed to. Raises RefusedError, NotFoundError."""
        repository = self._own(self._repos.get(kind, identifier))
        if not (repository.root / MARK).is_file():
            raise RefusedError(f"{identifier} is not deleted: it was neither made here nor pushed to")
        with self._lock, _beside(repository.root) as aside, repository.changing():
            repository.root.rename(aside)

    def _own(self, repository: Repository) -> Repository:
        """The repository, if it may be changed: it is ORG/NAME, and no link. Raises RefusedError."""
        own = self._repos.root / repository.kind / repository.id
        if "/" not in repository.id or repository.root != own:
            raise RefusedError(f"{repository.id} is read only: only ORG/NAME that is no link can be pushed to")
        return repository

    def object(self, oid: str) -> Path:
        """The path of an object, which may not exist yet. Raises RefusedError."""
        if not SHA256.fullmatch(oid):
            raise RefusedError(f"{oid!r} is not a SHA-256")
        return self._folder / oid

    def find(self, repository: Repository, oid: str) -> Path | None:
        """An uploaded object, or a file of the repository with that content; None without either."""
        if (uploaded := self.object(oid)).is_file():
            return uploaded
        return next((file.local for file in repository.listing().files if file.lfs_oid == oid), None)

    async def put(self, oid: str, body: AsyncIterator[bytes]) -> int:
        """Store an object. Returns its size. Raises RefusedError if the content has another SHA-256."""
        goal, digest, size = self.object(oid), hashlib.sha256(), 0
        self._folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for piece in body:
                    digest.update(piece)
                    size += file.write(piece)
            if digest.hexdigest() != oid:
                raise RefusedError(f"the content has SHA-256 {digest.hexdigest()}, not {oid}")
            Path(name).replace(goal)
        finally:
            Path(name).unlink(missing_ok=True)
        return size

    def commit(self, repository: Repository, operations: Sequence[Mapping[str, Any]]) -> str:
        """Apply all operations of a commit, or none. Returns the new commit. Raises RefusedError, StaleError where a
        header names another parent, NotFoundError, OSError.

        They are applied to a linked copy of the tree, which then replaces the tree in one step. Files that other
        programs write into the folder meanwhile may be lost.
        """
        self._own(repository)
        used: set[Path] = set()
        with self._lock, repository.linking(), _beside(repository.root) as tree:
            _check_parent(repository, operations)
            _linked(repository.root, tree)
            put = []
            for operation in operations:
                key, value = operation["key"], operation["value"]
                if key in ("deletedFile", "deletedFolder"):
                    _remove(_target(tree, value["path"]))
                elif key in ("file", "lfsFile", "copyFile"):
                    put.append((key, value))
                elif key != "header":
                    raise RefusedError(f"unknown operation {key!r} in a commit")
            for key, value in put:
                used |= self._put(repository, key, value, _free_path(tree, value["path"]))
            if not (tree / MARK).exists():
                _mark(tree)
            with repository.changing():
                _exchange(tree, repository.root)
        for path in used:
            path.unlink(missing_ok=True)
        return repository.listing().commit

    def _put(self, repository: Repository, key: str, value: Mapping[str, Any], goal: Path) -> set[Path]:
        """Write one file of a commit. Returns the objects that it used. Raises RefusedError, NotFoundError, OSError."""
        if key == "file":
            goal.write_bytes(_content(value))
        elif key == "copyFile":
            shutil.copyfile(repository.file(value["srcPath"]).local, goal)
        elif stored := self.find(repository, value["oid"]):
            shutil.copyfile(stored, goal)
            return {stored} if stored.parent == self._folder else set()
        else:
            try:
                restored = self.xet.restore(value["oid"], goal)
            except (RuntimeError, struct.error) as error:
                raise RefusedError(f"{value['path']}: Xet storage is damaged: {error}") from None
            if not restored:
                raise RefusedError(f"{value['path']}: object {value['oid']} was not uploaded")
        return set()


def _check_parent(repository: Repository, operations: Sequence[Mapping[str, Any]]) -> None:
    """Raise StaleError where a header names another parent than what the folder has now."""
    parents = [one["value"].get("parentCommit") for one in operations if one["key"] == "header"]
    if any(parents):
        with repository.changing():  # read again
            pass
        present = repository.listing().commit
        if not all(present.startswith(str(parent)) for parent in parents if parent):
            raise StaleError("A commit has happened since. Please refresh and try again.")


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new path on the file system of `folder`, removed at the end of the block."""
    new = tempfile.TemporaryDirectory(dir=folder.parent, prefix=_BESIDE, ignore_cleanup_errors=True)
    with new as temporary, _locked(Path(temporary)):
        yield Path(temporary, "tree")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Mark a folder as in use while this process lives. Raises BlockingIOError where it is."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_unused(folder: Path) -> None:
    """Remove what a killed push left, unless it may be a repository that was being replaced."""
    with contextlib.suppress(OSError), _locked(folder):
        if not (folder / _ASIDE).exists():
            shutil.rmtree(folder)


def _mark(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / MARK).write_text(_MARKED)


def _linked(source: Path, goal: Path) -> None:
    """Copy a tree with hard links for files, whose content is never changed in place."""
    goal.mkdir()
    for entry in os.scandir(source):
        target = goal / entry.name
        if entry.is_dir(follow_symlinks=False):
            _linked(Path(entry.path), target)
            continue
        try:
            os.link(entry.path, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            shutil.copy2(entry.path, target, follow_symlinks=False)
    shutil.copystat(source, goal)


def _exchange(new: Path, old: Path) -> None:
    """Exchange two folders, in one step if the file system can. After an OSError both are in their old places."""
    names = os.fsencode(new), os.fsencode(old)
    if not ctypes.CDLL(None).renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        return
    aside = new.with_name(_ASIDE)
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise


def _target(tree: Path, path: Any) -> Path:
    """The place of a commit's path in a tree, below it and through no link. Raises RefusedError."""
    if not isinstance(path, str) or not is_path(path):
        raise RefusedError(f"{path!a} cannot be a path in a repository")
    goal = tree / path
    if not goal.parent.resolve().is_relative_to(tree.resolve()):
        raise RefusedError(f"{path!r} leads out of the repository")
    return goal


def _remove(goal: Path) -> None:
    if goal.is_dir() and not goal.is_symlink():
        shutil.rmtree(goal)
    else:
        with contextlib.suppress(NotADirectoryError):
            goal.unlink(missing_ok=True)


def _free_path(tree: Path, path: Any) -> Path:
    """The path for a new file: its folders exist, and it does not. Raises RefusedError."""
    goal = _target(tree, path)
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise RefusedError(f"{path!r}: a file and a folder cannot have the same name") from None
    return goal


def _content(value: Mapping[str, Any]) -> bytes:
    if value.get("encoding", "utf-8") != "base64":
        return str(value["content"]).encode()
    try:
        return base64.b64decode(value["content"], validate=True)
    except (binascii.Error, TypeError):
        raise RefusedError(f"{value['path']}: the content is not base64") from None
