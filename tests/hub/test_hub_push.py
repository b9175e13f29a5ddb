"""Pushing to the local Hub endpoint: what lands in the folder, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Hub

API = "/api/datasets/org/name"
GIT = "/datasets/org/name.git/info/lfs/objects"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    dataset = tmp_path / "root" / "datasets" / "org" / "name"
    dataset.mkdir(parents=True)
    (dataset / "README.md").write_text("hello")
    (tmp_path / "outside").mkdir()
    (dataset / "link").symlink_to(tmp_path / "outside")
    return tmp_path / "root"


@pytest.fixture
def hub(root: Path) -> Iterator[Hub]:
    with Hub(root) as running:
        yield running


def ask(hub: Hub, path: str, body: Any = None, method: str = "POST") -> tuple[int, Any]:
    connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    finally:
        connection.close()


def file(path: str, content: bytes) -> dict[str, Any]:
    value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
    return {"key": "file", "value": value}


def commit(hub: Hub, *operations: dict[str, Any]) -> tuple[int, Any]:
    header = {"key": "header", "value": {"summary": "a commit", "description": ""}}
    return ask(hub, f"{API}/commit/main", "\n".join(map(json.dumps, (header, *operations))).encode())


def everything(root: Path) -> dict[str, bytes]:
    """All files below the folder and beside it."""
    return {str(p.relative_to(root.parent)): p.read_bytes() for p in root.parent.rglob("*") if p.is_file()}


def test_a_repository_is_made_once(hub: Hub, root: Path) -> None:
    wanted = {"name": "new", "organization": "org", "type": "dataset", "private": True}
    assert ask(hub, "/api/repos/create", wanted) == (
        200,
        {"url": f"{hub.url}/datasets/org/new", "name": "org/new", "id": "org/new"},
    )
    assert (root / "datasets" / "org" / "new").is_dir()
    assert ask(hub, "/api/repos/create", wanted)[0] == 409
    assert ask(hub, "/api/repos/create", {"name": "mine"})[1]["url"] == f"{hub.url}/local/mine"
    assert ask(hub, "/api/datasets/org/new", method="GET")[1]["siblings"] == []


@pytest.mark.parametrize("name", ["../escape", "..", "org/..", "a/b/c", "/etc/x", "org/.git", "org/%2e%2e", "", "a b"])
def test_names_that_are_refused(hub: Hub, root: Path, name: str) -> None:
    before = sorted(root.parent.rglob("*"))
    status, answer = ask(hub, "/api/repos/create", {"name": name, "type": "dataset"})
    assert (status, "no name" in answer["error"]) == (422, True)
    assert ask(hub, "/api/repos/delete", {"name": name, "type": "dataset"}, "DELETE")[0] == 404
    assert [path for path in sorted(root.parent.rglob("*")) if path not in before] == []


def test_a_commit_lands_in_the_folder(hub: Hub, root: Path) -> None:
    content = bytes(range(256)) * 9
    oid = hashlib.sha256(content).hexdigest()
    asked = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(content)}]}
    _, answer = ask(hub, f"{GIT}/batch", asked)
    actions = answer["objects"][0]["actions"]
    assert ask(hub, urlsplit(actions["upload"]["href"]).path, content, "PUT")[0] == 200
    assert ask(hub, urlsplit(actions["verify"]["href"]).path, {"oid": oid, "size": len(content)})[0] == 200
    _, before = ask(hub, API, method="GET")
    status, made = commit(
        hub,
        file("a/ä.txt", b"text"),
        {"key": "lfsFile", "value": {"path": "a/b.parquet", "algo": "sha256", "oid": oid, "size": len(content)}},
        {"key": "deletedFile", "value": {"path": "README.md"}},
    )
    dataset = root / "datasets" / "org" / "name"
    assert status == 200
    assert made["commitUrl"] == f"{hub.url}/datasets/org/name/commit/{made['commitOid']}"
    assert (dataset / "a/ä.txt").read_bytes() == b"text"
    assert (dataset / "a/b.parquet").read_bytes() == content
    assert not (dataset / "README.md").exists()
    _, after = ask(hub, API, method="GET")
    assert before["sha"] != after["sha"] == made["commitOid"]
    # What stands in the repository need not be sent again, whatever its name.
    assert "actions" not in ask(hub, f"{GIT}/batch", asked)[1]["objects"][0]
    value = {"path": "c.parquet", "algo": "sha256", "oid": oid, "size": len(content)}
    assert commit(hub, {"key": "lfsFile", "value": value})[0] == 200
    assert (dataset / "c.parquet").read_bytes() == content
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == ["b.parquet", "c.parquet", "ä.txt"]


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/x", "..", "", ".", "link/x", ".git/config", "a/.git/config", "x\0y"],
)
def test_paths_outside_the_folder_are_refused(hub: Hub, root: Path, path: str) -> None:
    """And nothing of such a commit is done."""
    before = everything(root)
    for bad in (file(path, b"bad"), {"key": "deletedFolder", "value": {"path": path}}):
        status, answer = commit(hub, file("good.txt", b"good"), bad)
        assert (status, "error" in answer) == (422, True)
    assert everything(root) == before
    assert [path.name for path in (root / "datasets" / "org").iterdir()] == ["name"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/datasets/..%2F../resolve/commit/main", 404),
        ("/api/datasets/%2e%2e/%2e%2e/commit/main", 404),
        ("/api/datasets/org/..%2Fname/commit/main", 404),
        ("/api/datasets/org/none/commit/main", 404),
        ("/api/datasets/org/name/commit/other", 404),
        ("/api/datasets/org/name/commit/main?create_pr=1", 422),
    ],
)
def test_commits_elsewhere_are_refused(hub: Hub, root: Path, path: str, status: int) -> None:
    before = everything(root)
    assert ask(hub, path, json.dumps(file("x", b"x")).encode())[0] == status
    assert everything(root) == before


def test_objects_are_what_their_name_says(hub: Hub, root: Path) -> None:
    oid = hashlib.sha256(b"right").hexdigest()
    assert ask(hub, f"{GIT}/{oid}", b"wrong", "PUT")[0] == 422
    assert ask(hub, f"{GIT}/..%2F..%2Fx", b"wrong", "PUT")[0] in (404, 422)
    assert ask(hub, f"{GIT}/verify", {"oid": oid, "size": 5})[0] == 404
    value = {"path": "x.parquet", "algo": "sha256", "oid": oid, "size": 5}
    status, answer = commit(hub, {"key": "lfsFile", "value": value})
    assert (status, "was not uploaded" in answer["error"]) == (422, True)
    assert set(everything(root)) == {"root/datasets/org/name/README.md"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{API}/commit/main", b"no json"),
        (f"{API}/commit/main", b'{"key": "file", "value": {"path": "x"}}'),
        (f"{API}/commit/main", b'{"key": "file", "value": {"path": "x", "content": "?", "encoding": "base64"}}'),
        (f"{API}/commit/main", b'{"key": "else", "value": {"path": "x"}}'),
        (f"{API}/preupload/main", b'{"files": [{"path": "x"}]}'),
        ("/api/repos/create", b'{"name": "x", "type": "space"}'),
        ("/api/repos/create", b"[]"),
    ],
)
def test_bodies_that_are_not_understood(hub: Hub, root: Path, path: str, body: bytes) -> None:
    status, answer = ask(hub, path, body)
    assert status in (400, 422)
    assert len(answer["error"].splitlines()) == 1
    assert set(everything(root)) == {"root/datasets/org/name/README.md"}


def test_which_files_go_by_lfs(hub: Hub) -> None:
    files = [{"path": "a.parquet", "size": 5}, {"path": "a.txt", "size": 5}, {"path": "b.txt", "size": 10_000_000}]
    _, answer = ask(hub, f"{API}/preupload/main", {"files": files})
    assert [file["uploadMode"] for file in answer["files"]] == ["lfs", "regular", "lfs"]


def test_cards_are_yaml(hub: Hub) -> None:
    assert ask(hub, "/api/validate-yaml", {"content": "---\na: 1\n---\n# b", "repoType": "dataset"})[0] == 200
    assert ask(hub, "/api/validate-yaml", {"content": "---\na: [\n---\n# b", "repoType": "dataset"})[0] == 400
