"""Latency, bandwidth, redirects and faults; and which process sent a request."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Conditions, Fault, Hub
from beyond_ram.hub import __main__ as hub

from .asking import ask, running

CONTENT = os.urandom(400_000)
FILE = "/datasets/org/name/resolve/main/a b.parquet".replace(" ", "%20")


@pytest.fixture
def root(tmp_path):
    dataset = tmp_path / "datasets" / "org" / "name"
    dataset.mkdir(parents=True)
    (dataset / "a b.parquet").write_bytes(CONTENT)
    (dataset / "README.md").write_text("hello")
    return tmp_path


@pytest.mark.slow
def test_bandwidth_is_shared_by_all_connections(root):
    with Hub(root, conditions=Conditions(bandwidth_mb_per_s=2)) as hub, ThreadPoolExecutor(4) as pool:
        started = time.monotonic()
        answers = list(pool.map(lambda _: ask(hub, FILE), range(4)))
        took = time.monotonic() - started
    assert all(body == CONTENT for _, _, body in answers)
    assert took >= 4 * len(CONTENT) / 2e6
    assert took < 3


def test_only_lfs_files_are_redirected(root):
    with Hub(root, conditions=Conditions(redirect=True)) as hub:
        for method in ("HEAD", "GET"):
            status, headers, _ = ask(hub, FILE, method)
            assert status == 302
            assert headers["X-Linked-Size"] == str(len(CONTENT))
            assert headers["X-Linked-ETag"] == headers["ETag"]
            assert headers["X-Repo-Commit"]
        address = urlsplit(headers["Location"])
        assert address.hostname == "127.0.0.1"
        assert f"http://{address.netloc}" != hub.url, "storage is on another host, as on the Hub"
        status, _, body = ask(address.netloc, address.path, Range="bytes=10-19")
        assert (status, body) == (206, CONTENT[10:20])
        assert ask(hub, "/datasets/org/name/resolve/main/README.md")[0] == 200
    assert [(r.endpoint, r.status) for r in hub.requests[1:3]] == [("resolve", 302), ("cdn", 206)]


def test_every_nth_read_fails_once(root):
    ranges = [f"bytes={start}-{start + 9}" for start in range(0, 60, 10)]
    with Hub(root, conditions=Conditions(faults=(Fault("error-500", 2), Fault("too-many-429", 3)))) as hub:
        ask(hub, FILE, "HEAD")
        first = [ask(hub, FILE, Range=range_header) for range_header in ranges]
        second = [ask(hub, FILE, Range=range_header)[0] for range_header in ranges]
    logged_faults = [request.fault for request in hub.requests]  # complete: the Hub has stopped
    assert [status for status, _, _ in first] == [206, 500, 429, 500, 206, 500]
    assert first[2][1]["Retry-After"] == "1"
    assert second == [206] * 6
    assert logged_faults == ["", "", "error-500", "too-many-429", "error-500", "", "error-500", *[""] * 6]


def test_a_dropped_connection_leaves_half_the_body(root):
    with Hub(root, conditions=Conditions(faults=(Fault("drop", 1),))) as hub:
        with pytest.raises(http.client.IncompleteRead) as broken:
            ask(hub, FILE)
        assert broken.value.partial == CONTENT[: len(CONTENT) // 2]
        assert ask(hub, FILE)[2] == CONTENT
    assert [(r.fault, r.bytes_sent) for r in hub.requests] == [("drop", len(CONTENT) // 2), ("", len(CONTENT))]


@pytest.mark.slow
def test_a_slow_body_is_whole(root):
    with Hub(root, conditions=Conditions(faults=(Fault("slow", 1),))) as hub:
        started = time.monotonic()
        assert ask(hub, FILE)[2] == CONTENT
        assert time.monotonic() - started >= 2
        started = time.monotonic()
        assert ask(hub, FILE)[2] == CONTENT
        assert time.monotonic() - started < 1.5


def test_requests_have_the_process_of_the_client(root):
    """This process and a child are found, also when a connection is reused."""
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
    with Hub(root) as hub:
        connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=10)
        for _ in range(2):
            connection.request("GET", "/api/datasets/org/name")
            connection.getresponse().read()
        child = subprocess.Popen([sys.executable, "-c", code, f"{hub.url}/api/datasets/org/name"])
        assert child.wait(timeout=10) == 0
        connection.close()
        requests = list(hub.requests)
    assert [request.pid for request in requests] == [os.getpid(), os.getpid(), child.pid]


@pytest.mark.slow
def test_client_that_hung_up_does_not_stop_the_endpoint(root):
    with Hub(root, conditions=Conditions(latency_ms=100)) as hub:
        with socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1]))) as client:
            client.sendall(b"GET /api/datasets/org/name HTTP/1.1\r\nHost: x\r\n\r\n")
        deadline = time.monotonic() + 10
        while not len(hub.requests) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ask(hub, FILE)[0] == 200, "the endpoint no longer answers"


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["--fault", "flood:3"], "fault is 'flood'"),
        (["--fault", "drop"], "KIND:EVERY_NTH"),
        (["--fault", "drop:0"], "1 or more"),
        (["--latency-ms", "-1"], "cannot be below 0"),
        (["--latency-ms", "nan"], "cannot be below 0"),
        (["--bandwidth-mb-s", "0"], "must be above 0"),
        (["--root", "nowhere"], "nowhere"),
        (["--port", "99999"], "port 99999"),
    ],
)
def test_impossible_conditions_get_one_line(root, arguments, phrase, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["hub", "--root", str(root), *arguments])
    for name in ("signal", "set_wakeup_fd"):  # this process goes on
        monkeypatch.setattr(signal, name, lambda *_: None)
    assert hub.main() == 2
    message = capfd.readouterr().err
    assert phrase in message
    assert len(message.splitlines()) == 1


@pytest.mark.slow
def test_flags_set_conditions(root, tmp_path):
    flags = ["--redirect", "--latency-ms", "1", "--bandwidth-mb-s", "50", "--fault", "drop:9", "--fault", "slow:8"]
    log = tmp_path / "log.jsonl"
    with running(tmp_path / "errors", "--root", str(root), "--log", str(log), *flags) as variables:
        assert ask(variables["HF_ENDPOINT"], FILE).status == 302
    assert json.loads(log.read_text())["pid"] == os.getpid()
