"""Pushing to the local Hub endpoint: the files in its folder, and refusals."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Hub, push, repos, store

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
    """Return all files in the folder and beside it."""
    return {str(p.relative_to(root.parent)): p.read_bytes() for p in root.parent.rglob("*") if p.is_file()}


def test_repository_is_created_once(hub: Hub, root: Path) -> None:
    wanted = {"name": "new", "organization": "org", "type": "dataset", "private": True}
    assert ask(hub, "/api/repos/create", wanted) == (
        200,
        {"url": f"{hub.url}/datasets/org/new", "name": "org/new", "id": "org/new"},
    )
    assert (root / "datasets" / "org" / "new").is_dir()
    assert ask(hub, "/api/repos/create", wanted)[0] == 409
    assert ask(hub, "/api/repos/create", {"name": "mine"})[1]["url"] == f"{hub.url}/local/mine"
    assert ask(hub, "/api/datasets/org/new", method="GET")[1]["siblings"] == []


@pytest.mark.parametrize(
    "name",
    [
        *("../escape", "..", "org/..", "a/b/c", "/etc/x", "org/.git", "org/%2e%2e", "", "a b"),
        *("org/.", "./.", "./name", "org/a..b", "org/x.git", ".hidden/x", f"org/{'x' * 97}", "org/\udcff", "org/x\n"),
    ],
)
def test_bad_repository_names_are_refused(hub: Hub, root: Path, name: str) -> None:
    before = sorted(root.parent.rglob("*"))
    status, answer = ask(hub, "/api/repos/create", {"name": name, "type": "dataset"})
    assert (status, "cannot name" in answer["error"]) == (422, True)
    assert ask(hub, "/api/repos/delete", {"name": name, "type": "dataset"}, "DELETE")[0] == 404
    assert sorted(root.parent.rglob("*")) == before


def test_commit_writes_into_the_folder(hub: Hub, root: Path) -> None:
    content = bytes(range(256)) * 9
    oid = hashlib.sha256(content).hexdigest()
    batch = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(content)}]}
    _, answer = ask(hub, f"{GIT}/batch", batch)
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
    # Content of the repository need not be sent again, under any name.
    assert "actions" not in ask(hub, f"{GIT}/batch", batch)[1]["objects"][0]
    value = {"path": "c.parquet", "algo": "sha256", "oid": oid, "size": len(content)}
    assert commit(hub, {"key": "lfsFile", "value": value})[0] == 200
    assert (dataset / "c.parquet").read_bytes() == content
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == [
        ".beyond-ram-hub",
        "b.parquet",
        "c.parquet",
        "ä.txt",
    ]
    assert [s["rfilename"] for s in after["siblings"]] == ["a/b.parquet", "a/ä.txt"], "the mark is not served"


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/x", "..", "", ".", "link/x", ".git/config", "a/.git/config", "x\0y"],
)
def test_paths_outside_the_folder_are_refused(hub: Hub, root: Path, path: str) -> None:
    """Such a commit changes nothing."""
    before = everything(root)
    for bad in (file(path, b"bad"), {"key": "deletedFolder", "value": {"path": path}}):
        status, answer = commit(hub, file("good.txt", b"good"), bad)
        assert (status, "error" in answer) == (422, True)
    assert everything(root) == before
    assert [path.name for path in (root / "datasets" / "org").iterdir()] == ["name"]


OBJECT = {"key": "lfsFile", "value": {"path": "x.bin", "algo": "sha256", "oid": "0" * 64, "size": 1}}


@pytest.mark.parametrize(
    "bad",
    [
        {"key": "rename", "value": {"path": "x"}},
        {"key": "file", "value": {"path": "x", "content": "?", "encoding": "base64"}},
        {"key": "file", "value": {"path": "x"}},
        {"key": "file", "value": ["x"]},
        {"key": "file", "value": {"path": 5, "content": ""}},
        {"key": "copyFile", "value": {"path": "x", "srcPath": "none"}},
        OBJECT,
        file("README.md/below-a-file", b"x"),
        file("folder", b"over a folder"),
        file("a.txt/below-a-file-of-this-commit", b"x"),
        file("x" * 256, b"x"),
        file("ä" * 128, b"x"),
        file("d/" * 100 + "x", b"x"),
        file("n" * 200 + "/" + "/".join(["n" * 200] * 10), b"x"),
        file("half \ud800", b"x"),
        file("no text \udcff", b"x"),
        file(".beyond-ram-hub", b"x"),
    ],
    ids=lambda bad: str(bad["key"]),
)
def test_commit_with_one_bad_operation_changes_nothing(hub: Hub, root: Path, bad: dict[str, Any]) -> None:
    (root / "datasets/org/name/folder").mkdir()
    (root / "datasets/org/name/folder/file").write_text("in a folder")
    before = everything(root)
    good = (file("a.txt", b"a"), file("README.md", b"b"), {"key": "deletedFolder", "value": {"path": "folder"}})
    for operations in ([*good[:2], bad], [bad, *good[:2]]):
        status, answer = commit(hub, *operations)
        assert status in (400, 404, 422), answer
        assert len(answer["error"].splitlines()) == 1
        assert everything(root) == before
        assert [path.name for path in (root / "datasets" / "org").iterdir()] == ["name"]
    assert commit(hub, *good)[0] == 200, "later pushes fail"
    assert ask(hub, API, method="GET")[0] == 200


def test_stale_parent_is_refused(hub: Hub, root: Path) -> None:
    """As by the Hub; a parent may be shortened."""

    def commit_on(parent: str | None, name: str) -> tuple[int, Any]:
        header = {"key": "header", "value": {"summary": "a commit", "parentCommit": parent}}
        lines = map(json.dumps, (header, file(name, b"new")))
        return ask(hub, f"{API}/commit/main", "\n".join(lines).encode())

    _, first = ask(hub, API, method="GET")
    (root / "datasets/org/name/README.md").write_text("by hand, just now")
    assert commit_on(first["sha"], "a.txt")[0] == 412
    assert sorted(path.name for path in (root / "datasets/org").iterdir()) == ["name"]
    status, made = commit_on(None, "a.txt")
    assert status == 200
    assert commit_on(made["commitOid"][:7], "b.txt")[0] == 200
    status, answer = commit_on(made["commitOid"], "b.txt")
    assert (status, answer["error"]) == (412, "A commit has happened since. Please refresh and try again.")
    assert not (root / "datasets/org/name/c.txt").exists()


def test_folder_of_a_killed_push_is_removed(root: Path) -> None:
    organisation = root / "datasets" / "org"
    (organisation / ".hub-killed" / "tree").mkdir(parents=True)
    (organisation / ".hub-replacing" / "aside").mkdir(parents=True)
    repository = repos.Repos(root).get("datasets", "org/name")
    with store._beside(repository.root) as in_use:
        in_use.mkdir()
        with Hub(root):
            left = {path.name for path in organisation.iterdir()}
        assert left == {"name", ".hub-replacing", in_use.parent.name}


def test_commit_of_newlines_takes_little_memory(root: Path) -> None:
    """A commit may have 1 GiB; blank lines are no operations."""
    words = [sys.executable, "-m", "beyond_ram.hub", "--root", str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        host = running.stdout.readline().strip().removeprefix("HF_ENDPOINT=http://")
        connection = http.client.HTTPConnection(host, timeout=30)
        connection.request("POST", f"{API}/commit/main", iter([b"\n" * 1_000_000] * 60))
        answer = connection.getresponse()
        lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
        running.terminate()
    peak_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    assert answer.status == 200
    assert peak_kb < 150_000


def test_commits_of_too_many_or_too_large_operations_are_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "OPERATIONS", 10)
    monkeypatch.setattr(push, "OPERATION_BYTES", 10_000)
    assert commit(hub, *(file(f"{number}.txt", b"x") for number in range(20)))[0] == 422
    assert commit(hub, file("a.txt", b"x" * 20_000))[0] == 422
    assert commit(hub, file("a.txt", b"x" * 5_000))[0] == 200


def test_simultaneous_commits_are_all_applied(hub: Hub, root: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: commit(hub, file(f"{n}.txt", b"x"))[0], range(24)))
    assert answers == [200] * 24
    assert len(list((root / "datasets/org/name").glob("*.txt"))) == 24


@pytest.mark.slow
def test_readers_see_a_whole_commit_or_none_of_it(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repos, "CACHED_S", -1)  # every request reads the folder
    even, odd = ([f"{number:02}-{which}" for number in range(40)] for which in ("even", "odd"))

    def replace(new: list[str], old: list[str]) -> int:
        deletions = [{"key": "deletedFile", "value": {"path": path}} for path in old]
        return commit(hub, *(file(path, b"x") for path in new), *deletions)[0]

    def read(_: int) -> tuple[str, ...]:
        status, answer = ask(hub, API, method="GET")
        return status, *(sibling["rfilename"] for sibling in answer["siblings"] if "-" in sibling["rfilename"])

    assert replace(even, odd) == 200
    with ThreadPoolExecutor(3) as pool:
        readings = pool.map(read, range(75))
        statuses = [replace(*((odd, even) if number % 2 else (even, odd))) for number in range(1, 16)]
        views = set(readings)
    assert statuses == [200] * 15
    assert views == {(200, *even), (200, *odd)}


def test_folders_are_renamed_without_atomic_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems lack RENAME_EXCHANGE."""
    monkeypatch.setattr(store, "_RENAME_EXCHANGE", 1 << 31)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    store._exchange(tmp_path / "new", tmp_path / "old")
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["new"]
    shutil.rmtree(tmp_path / "aside")
    with pytest.raises(FileNotFoundError):
        store._exchange(tmp_path / "gone", tmp_path / "old")
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["new"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 2 MB."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(small)], capture_output=True).returncode:
        pytest.skip("a small file system needs root")
    yield small
    subprocess.run(["umount", "-l", str(small)], check=True)


def test_full_disk_leaves_the_repository_unchanged(small: Path) -> None:
    root = small / "root"
    (root / "datasets/org/name").mkdir(parents=True)
    (root / "datasets/org/name/README.md").write_text("hello")
    content = b"x" * 600_000
    oid = hashlib.sha256(content * 4).hexdigest()
    with Hub(root) as hub:
        before = everything(root)
        deletion = {"key": "deletedFile", "value": {"path": "README.md"}}
        status, answer = commit(hub, deletion, *(file(f"{number}.bin", content) for number in range(5)))
        assert (status, "No space left" in answer["error"]) == (507, True)
        assert ask(hub, f"{GIT}/{oid}", content * 4, "PUT")[0] == 507
        assert everything(root) == before
        assert commit(hub, deletion, file("0.bin", content))[0] == 200
    assert (root / "datasets/org/name/0.bin").read_bytes() == content


def test_repository_that_is_a_mount_is_left_unchanged(small: Path, tmp_path: Path) -> None:
    dataset = tmp_path / "root/datasets/org/name"
    dataset.mkdir(parents=True)
    (small / "README.md").write_text("hello")
    subprocess.run(["mount", "--bind", str(small), str(dataset)], check=True)
    try:
        with Hub(tmp_path / "root") as hub:
            assert commit(hub, file("README.md", b"other"))[0] == 422
        assert [path.name for path in dataset.parent.iterdir()] == ["name"]
        assert [(path.name, path.read_text()) for path in dataset.iterdir()] == [("README.md", "hello")]
    finally:
        subprocess.run(["umount", str(dataset)], check=True)


def test_only_created_or_pushed_repositories_are_deleted(hub: Hub, root: Path) -> None:
    def delete(name: str) -> int:
        return ask(hub, "/api/repos/delete", {"name": name, "type": "dataset"}, "DELETE")[0]

    org = root / "datasets" / "org"
    (org / "alias").symlink_to(org / "name")
    before = everything(root)
    assert delete("org/name") == delete("org/alias") == 422
    assert everything(root) == before
    assert ask(hub, "/api/repos/create", {"name": "org/made", "type": "dataset"})[0] == 200
    assert commit(hub, file("a", b"a"))[0] == 200
    assert delete("org/alias") == 422, "a link to a pushed repository was deleted"
    assert delete("org/made") == delete("org/name") == 200
    assert [path.name for path in org.iterdir()] == ["alias"]
    assert delete("org/name") == 404


@pytest.mark.parametrize("name", ["org", "org/alias"])
def test_pushes_to_organisations_and_links_are_refused(hub: Hub, root: Path, name: str) -> None:
    (root / "datasets/org/alias").symlink_to(root / "datasets/org/name")
    before = everything(root)
    assert ask(hub, f"/api/datasets/{name}/commit/main", json.dumps(file("x", b"x")).encode())[0] == 422
    assert everything(root) == before


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


def test_objects_with_another_hash_are_refused(hub: Hub, root: Path) -> None:
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
def test_malformed_bodies_get_one_line(hub: Hub, root: Path, path: str, body: bytes) -> None:
    status, answer = ask(hub, path, body)
    assert status in (400, 422)
    assert len(answer["error"].splitlines()) == 1
    assert set(everything(root)) == {"root/datasets/org/name/README.md"}


def test_large_and_binary_files_go_to_lfs(hub: Hub) -> None:
    files = [{"path": "a.parquet", "size": 5}, {"path": "a.txt", "size": 5}, {"path": "b.txt", "size": 10_000_000}]
    _, answer = ask(hub, f"{API}/preupload/main", {"files": files})
    assert [file["uploadMode"] for file in answer["files"]] == ["lfs", "regular", "lfs"]


def test_cards_must_be_valid_yaml(hub: Hub) -> None:
    assert ask(hub, "/api/validate-yaml", {"content": "---\na: 1\n---\n# b", "repoType": "dataset"})[0] == 200
    assert ask(hub, "/api/validate-yaml", {"content": "---\na: [\n---\n# b", "repoType": "dataset"})[0] == 400
