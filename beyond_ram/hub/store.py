"""Pushed files: objects by their SHA-256, then a commit."""

import base64
import binascii
import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beyond_ram.hub.repos import Kind, Repos, ServedRepository, is_id, is_path
from beyond_ram.hub.xet import Storage

SHA256 = re.compile(r"[0-9a-f]{64}")


class RefusedError(ValueError):
    """A refused push; the text is one line."""

    status = 422


class StaleError(RefusedError):
    """A commit that was made for another parent than the present one."""

    status = 412


class Store:
    """Uploaded objects that are in no commit yet: ROOT/.objects/SHA256."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._folder = repos.root / ".objects"
        self._lock = threading.Lock()
        self.xet = Storage(repos.root / ".xet")
        """Xet storage, for reading."""

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
            folder.mkdir()
        return True

    def object(self, oid: str) -> Path:
        """The path of an object, which may not exist yet. Raises RefusedError."""
        if not SHA256.fullmatch(oid):
            raise RefusedError(f"{oid!r} is not a SHA-256")
        return self._folder / oid

    def find(self, repository: ServedRepository, oid: str) -> Path | None:
        """An uploaded object, or a file of the repository with that content; None without either."""
        if (uploaded := self.object(oid)).is_file():
            return uploaded
        return next((file.local for file in repository.listing().files if file.lfs_oid == oid), None)

    async def put(self, oid: str, body: AsyncIterator[bytes]) -> None:
        """Store an object. Raises RefusedError if the content has another SHA-256."""
        goal, digest = self.object(oid), hashlib.sha256()
        self._folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for piece in body:
                    digest.update(piece)
                    file.write(piece)
            if digest.hexdigest() != oid:
                raise RefusedError(f"the content has SHA-256 {digest.hexdigest()}, not {oid}")
            Path(name).replace(goal)
        finally:
            Path(name).unlink(missing_ok=True)

    def commit(self, repository: ServedRepository, operations: Sequence[Mapping[str, Any]]) -> str:
        """Apply all operations of a commit, once all are found right. Returns the new commit.

        Raises StaleError if its header names another parent, RefusedError, OSError.
        """
        own = self._repos.root / repository.kind / repository.id
        if "/" not in repository.id or repository.root != own:
            raise RefusedError(f"{repository.id} is read only: only ORG/NAME that is no link can be pushed to")
        self._folder.mkdir(exist_ok=True)
        removed, new, used = list[Path](), dict[Path, Path](), set[Path]()
        with self._lock, tempfile.TemporaryDirectory(dir=self._folder) as folder:
            for operation in operations:
                key, value = operation["key"], operation["value"]
                if key in ("deletedFile", "deletedFolder"):
                    removed.append(_target(repository.root, value["path"]))
                elif key in ("file", "lfsFile"):
                    content = new.setdefault(_target(repository.root, value["path"]), Path(folder, str(len(new))))
                    if key == "file":
                        content.write_bytes(_content(value))
                    elif stored := self.find(repository, value["oid"]):
                        shutil.copyfile(stored, content)
                        used |= {stored} if stored.parent == self._folder else set()
                    else:
                        raise RefusedError(f"{value['path']}: object {value['oid']} was not uploaded")
                elif key == "header":
                    parent = str(value.get("parentCommit") or "")  # may be shortened
                    if parent and not repository.listing(at_most_s=0).commit.startswith(parent):
                        raise StaleError("A commit has happened since. Please refresh and try again.")
                else:
                    raise RefusedError(f"unknown operation {key!r} in a commit")
            for goal in new:
                if goal.is_dir() or any(above in new or above.is_file() for above in goal.parents):
                    raise RefusedError(f"{goal.name!r}: a file and a folder cannot have the same name")
            with repository.changing():
                for goal in removed:
                    shutil.rmtree(goal) if goal.is_dir() and not goal.is_symlink() else goal.unlink(missing_ok=True)
                for goal, content in new.items():
                    goal.parent.mkdir(parents=True, exist_ok=True)
                    content.replace(goal)
        for path in used:
            path.unlink(missing_ok=True)
        return repository.listing().commit


def _target(root: Path, path: Any) -> Path:
    """The place of a commit's path in a repository, below it and through no link. Raises RefusedError."""
    if not isinstance(path, str) or not is_path(path):
        raise RefusedError(f"{path!a} cannot be a path in a repository")
    goal = root / path
    if not goal.parent.resolve().is_relative_to(root):
        raise RefusedError(f"{path!r} leads out of the repository")
    return goal


def _content(value: Mapping[str, Any]) -> bytes:
    if value.get("encoding", "utf-8") != "base64":
        return str(value["content"]).encode()
    try:
        return base64.b64decode(value["content"], validate=True)
    except (binascii.Error, TypeError):
        raise RefusedError(f"{value['path']}: the content is not base64") from None
