"""A relay to another Hub, which logs the requests: real clients get and ask the same as without it."""

from __future__ import annotations

import base64
import http.client
import http.server
import json
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Conditions, Hub

from ..conftest import interpreter
from . import asking
from .test_conformance import STACKS, environment_of, expected, fill

STEPS = ("stream:org/redirect", "filesystem:org/redirect", "snapshot:org/redirect")
TREE, FILE = "/api/datasets/org/name/tree/main", "/datasets/org/name/resolve/main/a.parquet"


def answers_of(stack, hub, work):
    """Return what the clients of a stack get, ask_by step."""
    work.mkdir()
    client = [str(interpreter(stack)), str(Path(__file__).with_name("client.py")), str(work), *STEPS]
    environment = environment_of(hub.url, work / "home", hub.token or "local")
    done = subprocess.run(
        client, input="\n" * len(STEPS), capture_output=True, env=environment, text=True, check=False, timeout=120
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert len(lines) == len(STEPS), done.stderr
    return dict(zip(STEPS, lines, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("stack", [pytest.param(STACKS[0], marks=pytest.mark.end_to_end), STACKS[-1]])
def test_clients_get_and_ask_the_same_through_a_relay(stack, tmp_path):
    """Pages of a listing, redirects to storage on another address, and ranges."""

    def ask_by(way):
        root = tmp_path / f"{way}-root"
        fill(root / "datasets" / "org" / "redirect")
        with Hub(root, page_size=2, conditions=Conditions(redirect=True)) as hub:
            if way == "direct":
                answers, requests = answers_of(stack, hub, tmp_path / way), hub.requests
            else:
                with Hub(None, upstream=hub.url) as relay:
                    answers, requests = answers_of(stack, relay, tmp_path / way), relay.requests
                assert len(hub.requests) == len(relay.requests)
                assert any(request.bytes_sent for request in relay.requests if request.endpoint == "elsewhere")
            assert all(request.pid is not None for request in requests)
        for step in STEPS:
            assert answers[step].get("result") == expected(step.partition(":")[0], "redirect", root), answers[step]
        return Counter((r.method, r.endpoint.replace("elsewhere", "cdn"), r.status) for r in requests)

    with ThreadPoolExecutor(2) as pool:
        direct, relayed = pool.map(ask_by, ("direct", "relayed"))
    assert direct == relayed


@dataclass
class Server:
    """A server with set answers, which keeps the method, path and headers of each request."""

    answers: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def handler(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append((self.command, self.path, dict(self.headers)))
                status, headers = server.answers.get(self.path.partition("?")[0], (200, {}))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        return Handler


def served():
    server = Server()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), server.handler()) as running:
        server.url = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        running.shutdown()


other = pytest.fixture(served, name="other")
storage = pytest.fixture(served, name="storage")


@pytest.fixture
def relay(other, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_real")
    with Hub(None, log=tmp_path / "log", upstream=other.url) as running:
        yield running


def ask(hub, path, method="GET", token="", body=None, **headers):
    """Send a request unchanged, with the relay's token unless another is authorization, and read the answer."""
    address = urlsplit(path)
    connection = http.client.HTTPConnection(address.netloc or hub.url.removeprefix("http://"), timeout=10)
    authorization = {} if token is None else {"Authorization": f"Bearer {token or hub.token}"}
    try:
        connection.putrequest(method, path.removeprefix(f"http://{address.netloc}"), skip_accept_encoding=True)
        for name, value in {**authorization, **headers, **({"Content-Length": str(len(body))} if body else {})}.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode() if body else None)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


@pytest.mark.parametrize("token", [None, "local", "hf_real", "ä"])
def test_clients_without_the_secret_get_a_status_401(other, relay, token):
    for method, path in (("GET", TREE), ("HEAD", FILE), ("POST", TREE.replace("tree", "paths-info"))):
        assert ask(relay, path, method, token).status == 401
    assert other.asked == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/repos/create", 403),
        ("POST", "/api/datasets/org/name/commit/main", 403),
        ("POST", "/api/datasets/org/name/preupload/main", 403),
        ("PUT", "/datasets/org/name.git/info/lfs/objects/x", 403),
        ("POST", TREE, 403),
        ("PATCH", TREE, 403),
        ("POST", "/api/else", 403),
        ("GET", "/api/whoami-v2", 404),
        ("GET", "/settings/tokens", 404),
        ("GET", "/api/datasets/org/name/tree/main/../../../../../../settings", 404),
        ("GET", "/api/datasets/org/%2e%2e/tree/main", 404),
        ("GET", "http://evil.example/api/datasets/org/name/tree/main", 400),
    ],
)
def test_relay_forwards_only_requests_that_read(other, relay, method, path, status):
    headers = {"Authorization": f"Bearer {relay.token}", "Host": relay.url.removeprefix("http://")}
    assert asking.ask(relay, path, method, "{}", **headers).status == status
    assert other.asked == []


def test_relay_forwards_only_headers_that_reading_needs(other, storage, relay):
    """In both directions. The secret takes the place of the relay's token, and cookies are dropped."""
    other.answers[TREE] = (200, {"Set-Cookie": "session=1", "X-Xet-Hash": "1", "X-Total-Count": "7", "ETag": '"e"'})
    other.answers[FILE] = (302, {"Location": f"{storage.url}/a?X-Amz-Signature=signed", "Set-Cookie": "session=1"})
    sent_headers = {
        "User-Agent": "me",
        "Range": "bytes=0-1",
        "Cookie": "mine=1",
        "X-Mine": "1",
        "Referer": "http://mine",
    }
    for _ in range(2):  # nothing is kept from one request to the next
        answer = ask(relay, TREE, **sent_headers)
        assert set(answer.headers) - {"Date", "Server"} == {"X-Total-Count", "ETag", "Content-Length"}
        redirect = ask(relay, FILE, **sent_headers)
        assert (redirect.status, redirect.headers["Set-Cookie"]) == (302, None)
        assert ask(relay, str(redirect.headers["Location"]), **sent_headers).status == 200
    needed = {"User-Agent": "me", "Range": "bytes=0-1"}
    for _, _, headers in other.asked:
        assert headers == {**needed, "Host": urlsplit(other.url).netloc, "Authorization": "Bearer hf_real"}
    assert storage.asked == [("GET", "/a?X-Amz-Signature=signed", {**needed, "Host": urlsplit(storage.url).netloc})] * 2


def test_netrc_is_ignored(other, storage, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("default login me password netrc-secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    other.answers[FILE] = (302, {"Location": f"{storage.url}/a"})
    with Hub(None, upstream=other.url) as relay:
        assert ask(relay, str(ask(relay, FILE).headers["Location"])).status == 200
    assert ["Authorization" in headers for _, _, headers in other.asked + storage.asked] == [False, False]


def test_links_to_next_pages_lead_through_the_relay(other, relay):
    other.answers[TREE] = (200, {"Link": f'<{other.url}{TREE}?cursor=abc>; rel="next", <http://x/y>; rel="xet-auth"'})
    assert ask(relay, TREE).headers["Link"] == f'<{relay.url}{TREE}?cursor=abc>; rel="next"'


def test_upstream_may_have_a_path(other, monkeypatch):
    """Addresses on the same host but outside this path get no token."""
    monkeypatch.setenv("HF_TOKEN", "hf_real")
    other.answers[f"/hub{FILE}"] = (307, {"Location": f"/hub{FILE}2"})
    other.answers[f"/hub{FILE}2"] = (302, {"Location": "/storage/a"})
    with Hub(None, upstream=f"{other.url}/hub/") as relay:
        assert ask(relay, FILE).headers["Location"] == f"{relay.url}{FILE}2"
        assert ask(relay, str(ask(relay, f"{FILE}2").headers["Location"])).status == 200
    assert [(path, "Authorization" in headers) for _, path, headers in other.asked] == [
        (f"/hub{FILE}", True),
        (f"/hub{FILE}2", True),
        ("/storage/a", False),
    ]


def test_small_files_are_read_from_the_resolve_cache(other, relay):
    cached_path = "/api/resolve-cache/datasets/org/name/0123/README.md"
    other.answers["/datasets/org/name/resolve/main/README.md"] = (307, {"Location": f"{cached_path}?etag=%22x%22"})
    location = ask(relay, "/datasets/org/name/resolve/main/README.md").headers["Location"]
    assert location == f"{relay.url}{cached_path}?etag=%22x%22"
    assert ask(relay, str(location), "HEAD").status == 200
    deadline = time.monotonic() + 10  # a request is logged after its answer
    while len(relay.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [request.endpoint for request in relay.requests] == ["resolve", "resolve"]


def test_no_secret_is_logged(other, storage, relay, tmp_path):
    signature = "X-Amz-Signature=s1&Signature=s2&sig=s3&token=s4&Expires=s5&Policy=s6&Key-Pair-Id=s7&X-Own=s8"
    other.answers[FILE] = (302, {"Location": f"{storage.url}/a?{signature}"})
    ask(relay, f"{TREE}?recursive=True&limit=5&{signature}&plain")
    location = str(ask(relay, FILE).headers["Location"])
    ask(relay, location)
    ask(relay, TREE, token="hf_other")
    ask(relay, "/elsewhere/guessed/a?sig=s9")
    log = (tmp_path / "log").read_text()
    assert [line["path"] for line in map(json.loads, log.splitlines())] == [
        f"{TREE}?recursive=True&limit=5&X-Amz-Signature&Signature&sig&token&Expires&Policy&Key-Pair-Id&X-Own&plain",
        FILE,
        f"/elsewhere/http/{urlsplit(storage.url).netloc}/a",
        TREE,
        "/elsewhere//a",
    ]
    secrets = [relay.token, "hf_real", "hf_other", location.split("/")[4], *(f"s{n}" for n in range(1, 10))]
    assert not [secret for secret in secrets if f"={secret}" in log or str(secret) in log.replace("resolve", "")]


def test_relay_reaches_other_hosts_only_after_a_redirect(other, relay):
    """A client cannot choose the host."""
    for key in ("http", "", urlsplit(other.url).netloc):
        assert ask(relay, f"/elsewhere/{key}/{urlsplit(other.url).netloc}/api/whoami-v2").status == 404
    assert other.asked == []


def test_unreachable_upstream_gets_a_status_502():
    with Hub(None, upstream="http://127.0.0.1:9") as relay:
        assert ask(relay, "/api/datasets/org/name").status == 502


def test_malformed_redirects_get_a_status_502(other, relay):
    for location in ("http://[x/a", "ftp://x/a", "mailto:x"):
        other.answers[FILE] = (302, {"Location": location})
        answer = ask(relay, FILE)
        assert answer.status == 502 or ask(relay, str(answer.headers["Location"])).status == 502


def test_proxy_of_the_environment_is_used(monkeypatch, other):
    """With its name and password; `no_proxy` holds too."""
    monkeypatch.setenv("http_proxy", other.url.replace("://", "://me:word@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Hub(None, upstream="http://hub.example") as relay:
        assert ask(relay, "/api/datasets/org/name").status == 200
    with Hub(None, upstream=f"{other.url}") as relay:
        assert ask(relay, "/api/datasets/org/name").status == 200
    (_, proxied, headers), (_, direct, _) = other.asked
    assert (proxied, direct) == ("http://hub.example/api/datasets/org/name", "/api/datasets/org/name")
    assert headers["Proxy-Authorization"] == f"Basic {base64.b64encode(b'me:word').decode()}"


@pytest.mark.parametrize("upstream", ["http://hub.example", "https://hub.example"])
@pytest.mark.parametrize("proxy", ["http://me:word@{host}", "http://me:12/word@{host}", "http://me:wo/rd@{host}",
                                   "http://me:word@127.0.0.1:9", "me:word@127.0.0.1:9"])  # fmt: skip
def test_password_of_a_proxy_is_in_no_answer(monkeypatch, other, upstream, proxy, capfd):
    monkeypatch.setenv(f"{urlsplit(upstream).scheme}_proxy", proxy.format(host=urlsplit(other.url).netloc))
    other.answers["http://hub.example/api/datasets/org/name"] = (407, {})
    with Hub(None, upstream=upstream) as relay:
        answer = asking.ask(relay, "/api/datasets/org/name", Authorization=f"Bearer {relay.token}")
    assert answer.status in (407, 502)
    shown = answer.body.decode() + str(answer.headers) + "".join(capfd.readouterr())
    assert "rd" not in shown.replace("Forward", "")


MALFORMED = dict.fromkeys(["huggingface.co", "ftp://hub", ""], r"such as https://huggingface\.co")


@pytest.mark.parametrize("address", [*MALFORMED, "https://me:word@huggingface.co"])
def test_malformed_upstream_or_one_with_a_password_is_refused(address):
    with pytest.raises(ValueError, match=MALFORMED.get(address, "without a name, password or query")) as refused:
        Hub(None, upstream=address)
    assert "word@" not in str(refused.value)
