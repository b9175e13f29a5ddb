"""What is pushed, on its way into the folder: objects by their SHA-256, then a commit that is whole or not at all."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from beyond_ram.hub import xet
from beyond_ram.hub.repos import NAME, Kind, Repos, Repository

SHA256 = re.compile(r"[0-9a-f]{64}")


class RefusedError(ValueError):
    """A push that is not taken; the text is one line."""


class Store:
    """Objects that were uploaded and stand in no commit yet: ROOT/.objects/SHA256."""

    def __init__(self, repos: Repos) -> None:
        self._repos = repos
        self._folder = repos.root / ".objects"
        self.xet = repos.root / ".xet"
        """Xet storage, which clients write by themselves."""

    def create(self, kind: Kind, identifier: str) -> bool:
        """Make an empty repository; False where there is one. Raises RefusedError."""
        folder = self._repos.root / kind / identifier
        if not NAME.fullmatch(identifier) or {".", "..", ".git"} & set(identifier.split("/")):
            raise RefusedError(f"{identifier!r} is no name of a repository")
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.parent.resolve().is_relative_to(self._repos.root / kind):
            raise RefusedError(f"{identifier!r} leads out of the folder")
        try:
            folder.mkdir()
        except FileExistsError:
            return False
        return True

    def delete(self, kind: Kind, identifier: str) -> None:
        """Remove a repository."""
        repository = self._repos.get(kind, identifier)
        shutil.rmtree(repository.root)
        repository.changed()

    def object(self, oid: str) -> Path:
        """Where an object is kept, or would be. Raises RefusedError."""
        if not SHA256.fullmatch(oid):
            raise RefusedError(f"{oid!r} is no SHA-256")
        return self._folder / oid

    def find(self, repository: Repository, oid: str) -> Path | None:
        """An object that was uploaded, or that stands in the repository already."""
        if (kept := self.object(oid)).is_file():
            return kept
        return next((file.local for file in repository.files() if file.lfs_oid == oid), None)

    async def put(self, oid: str, body: AsyncIterator[bytes]) -> int:
        """Keep an object; its size. Raises RefusedError where the content is not what its name says."""
        goal, digest, size = self.object(oid), hashlib.sha256(), 0
        self._folder.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                async for piece in body:
                    digest.update(piece)
                    size += file.write(piece)
            if digest.hexdigest() != oid:
                raise RefusedError(f"the content is {digest.hexdigest()}, not {oid}")
            Path(name).replace(goal)
        finally:
            Path(name).unlink(missing_ok=True)
        return size

    def commit(self, repository: Repository, operations: Iterable[Mapping[str, Any]]) -> str:
        """Do what a commit says, once all of it is known to be possible; the new commit. Raises RefusedError."""
        with tempfile.TemporaryDirectory(dir=repository.root.parent, prefix=".commit-") as made:
            ready: list[tuple[Path, Path]] = []
            gone: list[Path] = []
            taken: set[Path] = set()
            for number, operation in enumerate(operations):
                key, value = operation["key"], operation["value"]
                if key == "header":
                    continue
                goal, staged = _target(repository, value["path"]), Path(made, str(number))
                if key == "file":
                    staged.write_bytes(_content(value))
                elif key == "lfsFile":
                    found = self.find(repository, value["oid"])
                    if found:
                        shutil.copyfile(found, staged)
                        taken |= {found} if found.parent == self._folder else set()
                    elif not xet.restore(self.xet, value["oid"], staged):
                        raise RefusedError(f"{value['path']}: object {value['oid']} was not uploaded")
                elif key == "copyFile":
                    shutil.copyfile(repository.file(value["srcPath"]).local, staged)
                elif key in ("deletedFile", "deletedFolder"):
                    gone.append(goal)
                    continue
                else:
                    raise RefusedError(f"{key!r} is no operation of a commit")
                ready.append((staged, goal))
            for goal in gone:
                shutil.rmtree(goal) if goal.is_dir() else goal.unlink(missing_ok=True)
            for staged, goal in ready:
                goal.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(goal)
        for kept in taken:
            kept.unlink(missing_ok=True)
        repository.changed()
        return repository.commit()


def _target(repository: Repository, path: str) -> Path:
    """Where a pushed file goes: below the repository, and through no link. Raises RefusedError."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\0" in path or {"..", ".git"} & set(parts):
        raise RefusedError(f"{path!r} is no path in a repository")
    goal = repository.root.joinpath(*parts)
    if not goal.parent.resolve().is_relative_to(repository.root) or goal == repository.root:
        raise RefusedError(f"{path!r} leads out of the repository")
    return goal


def _content(value: Mapping[str, Any]) -> bytes:
    if value.get("encoding", "utf-8") != "base64":
        return str(value["content"]).encode()
    try:
        return base64.b64decode(value["content"], validate=True)
    except (binascii.Error, TypeError):
        raise RefusedError(f"{value['path']}: the content is not base64") from None
