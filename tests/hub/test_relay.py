"""Another Hub, asked through an address that notes the requests: real clients get and ask the same as without it."""

from __future__ import annotations

import http.client
import http.server
import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.hub import Conditions, Hub

from .test_conformance import environment_of, expected, fill, interpreter

STEPS = ("stream:org/redirect", "filesystem:org/redirect", "snapshot:org/redirect")


def spoken(stack: str, url: str, work: Path) -> dict[str, Any]:
    """What the clients of a stack get, by step."""
    work.mkdir()
    client = [interpreter(stack), str(Path(__file__).with_name("client.py")), str(work), *STEPS]
    environment = environment_of(url, work / "home")
    done = subprocess.run(
        client, input="\n" * len(STEPS), capture_output=True, env=environment, text=True, check=False, timeout=120
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert len(lines) == len(STEPS), done.stderr
    return dict(zip(STEPS, lines, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["june-2023", "current"])
def test_clients_get_and_ask_the_same(stack: str, tmp_path: Path) -> None:
    """Pages of a listing, redirects to storage on another address, and ranges."""
    asked = {}
    for way in ("direct", "relayed"):
        root = tmp_path / f"{way}-root"
        fill(root / "datasets" / "org" / "redirect")
        with Hub(root, page_size=2, conditions=Conditions(redirect=True)) as hub:
            if way == "direct":
                found = spoken(stack, hub.url, tmp_path / way)
                noted = hub.requests
            else:
                with Hub(None, upstream=hub.url) as relay:
                    found = spoken(stack, relay.url, tmp_path / way)
                noted = relay.requests
                assert len(hub.requests) == len(relay.requests)
                assert any(request.bytes_sent for request in relay.requests if request.endpoint == "elsewhere")
            assert all(request.pid is not None for request in noted)
            asked[way] = Counter((r.method, r.endpoint.replace("elsewhere", "cdn"), r.status) for r in noted)
        for step in STEPS:
            assert found[step].get("result") == expected(step.partition(":")[0], "redirect", root), found[step]
    assert asked["direct"] == asked["relayed"]


def test_only_what_an_answer_has_named_is_elsewhere(tmp_path: Path) -> None:
    """Nobody is led to a host of his own choice."""
    (tmp_path / "root").mkdir()
    with Hub(tmp_path / "root") as hub, Hub(None, upstream=hub.url) as relay:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{relay.url}/elsewhere/http/{hub.url.removeprefix('http://')}/api/whoami-v2")
        assert not len(hub.requests)


def test_a_hub_that_is_not_there_is_said() -> None:
    with (
        Hub(None, upstream="http://127.0.0.1:9") as relay,
        pytest.raises(urllib.error.HTTPError, match="502"),
    ):
        urllib.request.urlopen(f"{relay.url}/api/datasets/org/name")


def test_a_token_goes_to_the_hub_and_into_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    log, sent = tmp_path / "log", []

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.handle_request, daemon=True).start()
        with Hub(None, log=log, upstream=f"http://127.0.0.1:{other.server_port}") as relay:
            connection = http.client.HTTPConnection(relay.url.removeprefix("http://"), timeout=10)
            connection.putrequest("GET", "/api/whoami-v2", skip_accept_encoding=True)
            connection.endheaders()
            assert connection.getresponse().status == 200
    # With the token, and nothing else that the client did not say.
    assert sent == [{"Host": f"127.0.0.1:{other.server_port}", "Authorization": "Bearer hf_secret"}]
    assert "whoami" in log.read_text()
    assert "hf_secret" not in log.read_text()


@pytest.mark.parametrize("address", ["huggingface.co", "ftp://hub", ""])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ValueError, match=r"such as https://huggingface\.co"):
        Hub(None, upstream=address)
