"""The local Hub endpoint: its answers, refusals and log."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest

from beyond_ram.hub import Hub, repos

from .asking import ask

DATASET = "/datasets/org/name/resolve/main"
CONTENT = bytes(range(256)) * 10


@pytest.fixture
def root(tmp_path):
    dataset = tmp_path / "root" / "datasets" / "org" / "name"
    (dataset / "data" / "deep").mkdir(parents=True)
    (dataset / "README.md").write_text("hello")
    (dataset / "data" / "a.parquet").write_bytes(CONTENT)
    (dataset / "data" / "deep" / "ä b.txt").write_text("deep")
    model = tmp_path / "root" / "models" / "single"
    model.mkdir(parents=True)
    (model / "tokenizer.json").write_text("{}")
    (tmp_path / "secret").write_text("outside")
    (dataset / "link").symlink_to(tmp_path / "secret")
    return tmp_path / "root"


def sha_of(hub):
    return str(ask(hub, "/api/datasets/org/name").json()["sha"])


def test_files_and_their_headers(hub):
    sha = sha_of(hub)
    git = hashlib.sha1(b"blob 5\0hello").hexdigest()
    for method, body in (("GET", b"hello"), ("HEAD", b"")):
        answer = ask(hub, f"{DATASET}/README.md", method)
        assert (answer.status, answer.body) == (200, body)
        assert answer.headers["ETag"] == f'"{git}"'
        assert answer.headers["X-Repo-Commit"] == sha
        assert answer.headers["Content-Length"] == "5"
        assert answer.headers["X-Linked-Size"] is None
    lfs = ask(hub, f"/datasets/org/name/resolve/{sha}/data/a.parquet", "HEAD")
    assert lfs.headers["ETag"] == lfs.headers["X-Linked-ETag"] == f'"{hashlib.sha256(CONTENT).hexdigest()}"'
    assert lfs.headers["X-Linked-Size"] == str(len(CONTENT))
    assert not [name for name in lfs.headers if "xet" in name.lower()], "reads stay on plain HTTP"
    assert ask(hub, f"{DATASET}/data/deep/%C3%A4%20b.txt").body == b"deep"
    assert ask(hub, "/single/resolve/main/tokenizer.json").body == b"{}"
    assert ask(hub, f"{DATASET}/README.md".replace("main", "refs%2Fheads%2Fmain")).body == b"hello"


@pytest.mark.parametrize(
    ("range_text", "start", "stop"),
    [("0-9", 0, 10), ("100-", 100, 2560), ("-10", 2550, 2560), ("-9999", 0, 2560), ("2000-9999", 2000, 2560)],
)
def test_ranges(hub, range_text, start, stop):
    answer = ask(hub, f"{DATASET}/data/a.parquet", Range=f"bytes={range_text}")
    assert (answer.status, answer.body) == (206, CONTENT[start:stop])
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/2560"


@pytest.mark.parametrize(
    "header", ["bytes=2560-", "bytes=9-3", "lines=1-2", "bytes=-0", "bytes=-", f"bytes=0-{'9' * 5000}"]
)
def test_impossible_ranges_are_refused(hub, header):
    answer = ask(hub, f"{DATASET}/data/a.parquet", Range=header)
    assert answer.status == 416
    assert answer.headers["Content-Range"] == "bytes */2560"


OUTSIDE = [
    f"{DATASET}/../../../../secret",
    f"{DATASET}/..%2F..%2F..%2F..%2Fsecret",
    f"{DATASET}/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret",
    f"{DATASET}/data/%2Fetc%2Fpasswd",
    "/cdn/datasets/org/name/main/..%2F..%2F..%2F..%2Fsecret",
    f"{DATASET}//etc/passwd",
    f"{DATASET}/link",
    f"{DATASET}/README.md%00",
    "/datasets/..%2F../resolve/main/secret",
    "/datasets/%2e%2e/resolve/main/secret",
    "/datasets/%2e%2e/%2e%2e/resolve/main/secret",
    "/api/datasets/org/name/tree/main/..%2F..",
]
MISSING = {
    f"{DATASET}/name.py": "EntryNotFound",
    f"{DATASET}/data": "EntryNotFound",
    "/datasets/org/name/resolve/v2/README.md": "RevisionNotFound",
    "/api/datasets/org/other": "RepoNotFound",
    "/api/datasets/org/name/tree/main/none": "EntryNotFound",
    "/api/models/org/name": "RepoNotFound",
}


@pytest.mark.parametrize("path", [*OUTSIDE, *MISSING])
def test_paths_that_are_missing_or_outside_the_folder_get_a_status_404(hub, path):
    answer = ask(hub, path)
    assert (answer.status, b"outside" in answer.body) == (404, False)
    assert path in OUTSIDE or answer.headers["X-Error-Code"] == MISSING[path]


def test_tree_is_listed_in_pages(hub):
    address = "/api/datasets/org/name/tree/main?recursive=True&expand=False"
    pages = []
    while address:
        answer = ask(hub, address)
        pages.append(answer.json())
        link = answer.headers.get("Link", "")
        assert not link or (link.startswith(f"<{hub.url}/") and link.endswith('>; rel="next"'))
        address = link.split(">")[0].removeprefix(f"<{hub.url}")
    assert [len(page) for page in pages] == [2, 2, 1]
    entries = [entry for page in pages for entry in page]
    assert [(entry["type"], entry["path"]) for entry in entries] == [
        ("file", "README.md"),
        ("directory", "data"),
        ("file", "data/a.parquet"),
        ("directory", "data/deep"),
        ("file", "data/deep/ä b.txt"),
    ]
    assert entries[2]["lfs"]["oid"] == hashlib.sha256(CONTENT).hexdigest()
    inner = ask(hub, "/api/datasets/org/name/tree/main/data").json()
    assert [entry["path"] for entry in inner] == ["data/a.parquet", "data/deep"]
    assert ask(hub, "/api/datasets/org/name/tree/main?cursor=x").status == 400


def test_paths_info_by_form_and_by_json(hub):
    paths = ["data/a.parquet", "none", "data"]
    bodies = {
        "application/x-www-form-urlencoded": urlencode({"paths": paths, "expand": "False"}, doseq=True),
        "application/json": json.dumps({"paths": paths, "expand": False}),
    }
    for kind, body in bodies.items():
        answer = ask(hub, "/api/datasets/org/name/paths-info/main", "POST", body, **{"Content-Type": kind})
        assert [(entry["type"], entry["path"]) for entry in answer.json()] == [
            ("file", "data/a.parquet"),
            ("directory", "data"),
        ]


def test_file_that_is_cut_while_it_is_sent_ends_the_connection(hub, root):
    """Otherwise the next answer would count as the rest of the file."""
    path = root / "datasets/org/name/data/a.parquet"
    path.write_bytes(bytes(30_000_000))
    time.sleep(repos.CACHED_S)
    connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=10)
    connection.request("GET", f"{DATASET}/data/a.parquet")
    answer = connection.getresponse()
    os.truncate(path, 10_000_000)
    with pytest.raises(http.client.IncompleteRead):
        answer.read()
    connection.close()


def test_change_that_keeps_size_and_time_changes_the_etag(hub, root):
    path = root / "datasets/org/name/README.md"
    before, times = ask(hub, f"{DATASET}/README.md"), path.stat()
    path.write_text("olleh")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = ask(hub, f"{DATASET}/README.md")
    assert (before.body, after.body) == (b"hello", b"olleh")
    assert before.headers["ETag"] != after.headers["ETag"]


def test_endpoint_without_descriptors_writes_little_and_recovers(root, tmp_path):
    words = [sys.executable, "-m", "beyond_ram.hub", "--root", str(root)]
    limited = f"ulimit -n 40; exec {shlex.join(words)} 2> {shlex.quote(str(tmp_path / 'errors'))}"
    with subprocess.Popen(["sh", "-c", limited], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        host, _, port = running.stdout.readline().strip().rpartition("/")[2].partition(":")
        connections = []
        for _ in range(60):
            with contextlib.suppress(OSError):
                connections.append(socket.create_connection((host, int(port)), 0.05))
                connections[-1].sendall(f"GET {DATASET}/README.md HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        time.sleep(0.5)
        for connection in connections:
            connection.close()
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        connection.request("GET", f"{DATASET}/README.md")
        assert connection.getresponse().read() == b"hello"
        connection.close()
        running.terminate()
    assert (tmp_path / "errors").stat().st_size < 100_000


@pytest.mark.slow
def test_commit_changes_only_with_content(hub, root):
    before = sha_of(hub)
    assert sha_of(hub) == before
    assert ask(hub, f"/api/datasets/org/name/revision/{before}").status == 200
    assert ask(hub, "/api/datasets/org/name/commits/main").json()[0]["id"] == before
    (root / "datasets" / "org" / "name" / "README.md").write_text("other")
    time.sleep(repos.CACHED_S * 1.1)
    assert sha_of(hub) != before
    assert ask(hub, f"/api/datasets/org/name/revision/{before}").status == 404


def test_requests_are_logged(root, tmp_path):
    with Hub(root, log=tmp_path / "log.jsonl") as hub:
        ask(hub, f"{DATASET}/data/a.parquet", Range="bytes=0-99")
        ask(hub, f"{DATASET}/name.py", "HEAD")
        ask(hub, "/api/nothing")
        requests = list(hub.requests)
    assert [(r.method, r.endpoint, r.status) for r in requests] == [
        ("GET", "resolve", 206),
        ("HEAD", "resolve", 404),
        ("GET", "unknown", 404),
    ]
    assert (requests[0].bytes_sent, requests[0].range) == (100, "bytes=0-99")
    assert (requests[1].bytes_sent, requests[1].in_flight) == (0, 1)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines] == [request.path for request in requests]


def test_endpoint_listens_on_loopback_only_and_stops(root):
    with Hub(root) as hub:
        assert hub.url.startswith("http://127.0.0.1:")
        port = int(hub.url.rsplit(":", 1)[1])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)  # a listener on all addresses would accept
        with pytest.raises(OSError), Hub(root, port=port):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_files_are_hashed_before_the_address_is_printed(root):
    """A client must not measure the time of hashing."""
    with Hub(root) as hub:
        hashed = repos._hashes_of.cache_info().misses
        assert ask(hub, f"{DATASET}/data/a.parquet").status == 200
        assert ask(hub, "/api/datasets/org/name").status == 200
        assert ask(hub, "/single/resolve/main/tokenizer.json").status == 200
        assert repos._hashes_of.cache_info().misses == hashed


def test_simultaneous_requests_read_the_folder_once(root, monkeypatch):
    folders_read = []
    walk = os.walk
    monkeypatch.setattr("beyond_ram.hub.repos.os.walk", lambda top: folders_read.append(top) or walk(top))
    with Hub(root) as hub:
        folders_read.clear()
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: ask(hub, "/api/datasets/org/name").status, range(16)))
    assert answers == [200] * 16
    assert len(folders_read) == 1
