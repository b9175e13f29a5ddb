"""Pushing to the local Hub endpoint: the files in its folder, and refusals."""

import base64
import hashlib
import http.client
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Hub

from ..conftest import mounted
from . import asking

API = "/api/datasets/org/name"
GIT = "/datasets/org/name.git/info/lfs/objects"


@pytest.fixture
def root(tmp_path):
    dataset = tmp_path / "root" / "datasets" / "org" / "name"
    dataset.mkdir(parents=True)
    (dataset / "README.md").write_text("hello")
    (tmp_path / "outside").mkdir()
    (dataset / "link").symlink_to(tmp_path / "outside")
    return tmp_path / "root"


def ask(hub, path, body=None, method="POST"):
    status, _, text = asking.ask(hub, path, method, body if isinstance(body, bytes) else json.dumps(body))
    return status, json.loads(text) if text else None


def file(path, content):
    value = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
    return {"key": "file", "value": value}


def commit(hub, *operations):
    header = {"key": "header", "value": {"summary": "a commit", "description": ""}}
    return ask(hub, f"{API}/commit/main", "\n".join(map(json.dumps, (header, *operations))).encode())


def everything(root):
    """Return all files in the folder and beside it."""
    return {str(p.relative_to(root.parent)): p.read_bytes() for p in root.parent.rglob("*") if p.is_file()}


def test_repository_is_created_once(hub, root):
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
    "name", ["../escape", "org/..", "a/b/c", "/etc/x", "org/.git", "", "org/a..b", ".hidden/x", f"org/{'x' * 97}"]
)
def test_bad_repository_names_are_refused(hub, root, name):
    before = sorted(root.parent.rglob("*"))
    status, answer = ask(hub, "/api/repos/create", {"name": name, "type": "dataset"})
    assert (status, "cannot name" in answer["error"]) == (422, True)
    assert sorted(root.parent.rglob("*")) == before


def test_commit_writes_into_the_folder(hub, root):
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
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == ["b.parquet", "c.parquet", "ä.txt"]
    assert [s["rfilename"] for s in after["siblings"]] == ["a/b.parquet", "a/ä.txt"]


def test_stale_parent_is_refused(hub, root):
    """As by the Hub; a parent may be shortened."""

    def commit_on(parent, name):
        header = {"key": "header", "value": {"summary": "a commit", "parentCommit": parent}}
        return ask(hub, f"{API}/commit/main", "\n".join(map(json.dumps, (header, file(name, b"new")))).encode())

    _, first = ask(hub, API, method="GET")
    (root / "datasets/org/name/README.md").write_text("by hand, just now")
    assert commit_on(first["sha"], "a.txt")[0] == 412
    status, made = commit_on(None, "a.txt")
    assert status == 200
    assert commit_on(made["commitOid"][:7], "b.txt")[0] == 200
    assert commit_on(made["commitOid"], "c.txt")[0] == 412
    assert sorted(path.name for path in (root / "datasets/org/name").iterdir()) == [
        "README.md",
        "a.txt",
        "b.txt",
        "link",
    ]


def test_commit_of_newlines_takes_little_memory(root):
    words = [sys.executable, "-m", "beyond_ram.hub", "--root", str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        try:
            host = running.stdout.readline().strip().removeprefix("HF_ENDPOINT=http://")
            connection = http.client.HTTPConnection(host, timeout=30)
            connection.request("POST", f"{API}/commit/main", iter([b"\n" * 1_000_000] * 60))
            status = connection.getresponse().status
            lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
        finally:
            running.terminate()
    peak_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    assert status == 200
    assert peak_kb < 300_000, "some times the body, and not nine times"


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "..", "", ".", "link/x", ".git/config", "a/.git/config", "x\0y"]
)
def test_paths_outside_the_folder_are_refused(hub, root, path):
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
        OBJECT,
        file("README.md/below-a-file", b"x"),
        file("folder", b"over a folder"),
        file("a.txt/below-a-file-of-this-commit", b"x"),
        file("x" * 256, b"x"),
        file("d/" * 100 + "x", b"x"),
        file("n" * 200 + "/" + "/".join(["n" * 200] * 10), b"x"),
        file("no text \udcff", b"x"),
    ],
    ids=lambda bad: str(bad["key"]),
)
def test_commit_with_one_bad_operation_changes_nothing(hub, root, bad):
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


def test_simultaneous_commits_are_all_applied(hub, root):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: commit(hub, file(f"{n}.txt", b"x"))[0], range(24)))
    assert answers == [200] * 24
    assert len(list((root / "datasets/org/name").glob("*.txt"))) == 24


@pytest.fixture
def small(tmp_path):
    with mounted(tmp_path / "small", "2m") as place:
        yield place


def test_full_disk_leaves_the_repository_unchanged(small):
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


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/datasets/..%2F../resolve/commit/main", 404),
        ("/api/datasets/%2e%2e/%2e%2e/commit/main", 404),
        ("/api/datasets/org/..%2Fname/commit/main", 404),
        ("/api/datasets/org/none/commit/main", 404),
        ("/api/datasets/org/name/commit/other", 404),
        ("/api/datasets/org/name/commit/main?create_pr=1", 422),
        ("/api/datasets/org/commit/main", 422),
        ("/api/datasets/org/alias/commit/main", 422),
    ],
)
def test_commits_elsewhere_are_refused(hub, root, path, status):
    (root / "datasets/org/alias").symlink_to(root / "datasets/org/name")
    before = everything(root)
    assert ask(hub, path, json.dumps(file("x", b"x")).encode())[0] == status
    assert everything(root) == before


def test_objects_with_another_hash_are_refused(hub, root):
    oid = hashlib.sha256(b"right").hexdigest()
    assert ask(hub, f"{GIT}/{oid}", b"wrong", "PUT")[0] == 422
    assert ask(hub, f"{GIT}/..%2F..%2Fx", b"wrong", "PUT")[0] in (404, 422)
    assert ask(hub, f"{GIT}/verify", {"oid": oid, "size": 5})[0] == 404
    value = {"path": "x.parquet", "algo": "sha256", "oid": oid, "size": 5}
    status, answer = commit(hub, {"key": "lfsFile", "value": value})
    assert (status, "was not uploaded" in answer["error"]) == (422, True)
    assert set(everything(root)) == {"root/datasets/org/name/README.md"}


def test_large_and_binary_files_go_to_lfs(hub):
    files = [{"path": "a.parquet", "size": 5}, {"path": "a.txt", "size": 5}, {"path": "b.txt", "size": 10_000_000}]
    _, answer = ask(hub, f"{API}/preupload/main", {"files": files})
    assert [file["uploadMode"] for file in answer["files"]] == ["lfs", "regular", "lfs"]
