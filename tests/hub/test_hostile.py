"""Requests that no client sends: the endpoint refuses them, touches nothing outside its folder, and goes on serving."""

import contextlib
import gzip
import http.client
import json
import random
from collections import Counter
from urllib.parse import quote

import pytest

from beyond_ram.hub import Hub

from .asking import ask, running

API = "/api/datasets/org/name"
FILE = "/datasets/org/name/resolve/main/a.bin"
CANARY = b"outside, not for reading"
COMMIT = b'{"key": "file", "value": {"path": "new.txt", "content": "new"}}'


@pytest.fixture
def root(tmp_path):
    dataset = tmp_path / "root" / "datasets" / "org" / "name"
    (dataset / ".git").mkdir(parents=True)
    (dataset / ".git" / "config").write_bytes(CANARY)
    (dataset / "a.bin").write_bytes(bytes(range(100)))
    (dataset / "README.md").write_text("hello")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(CANARY)
    (tmp_path / "root" / "secret").write_bytes(CANARY)
    (dataset / "link").symlink_to(tmp_path / "outside" / "secret")
    (dataset / "folder-link").symlink_to(tmp_path / "outside")
    (dataset / "circle").symlink_to(dataset / "circle")
    (dataset.parent / "away").symlink_to(tmp_path / "outside")
    return tmp_path / "root"


def everything(folder):
    """Return the content and the time of the last change of all files in a folder."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": "0.0.0.0:{port}"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "localhost:{port}", "Origin": "http://localhost:{port}"}, 200),
        ({}, 200),
    ],
)
def test_pages_of_other_origins_are_refused(hub, root, headers, status):
    """A form that a browser posts without asking first, and a host name that leads to this machine."""
    port, before = hub.url.rpartition(":")[2], everything(root)
    headers = {key: value.replace("{port}", port) for key, value in headers.items()}
    posted = ask(hub, f"{API}/commit/main", "POST", COMMIT, **{"Content-Type": "text/plain", **headers})
    assert posted.status == ask(hub, API, **headers).status == status
    assert (everything(root) == before) == (status != 200)


DEEP = b"[" * 100_000


JSON = {"Content-Type": "application/json"}
MALFORMED = {
    "deep paths": ("POST", f"{API}/paths-info/main", DEEP, JSON),
    "deep commit": ("POST", f"{API}/commit/main", DEEP, {}),
    "infinite size": ("POST", f"{API}/preupload/main", b'{"files": [{"path": "x", "size": Infinity}]}', {}),
    "long size": ("POST", f"{API}/preupload/main", b'{"files": [{"path": "x", "size": %s}]}' % (b"9" * 5000), {}),
    "charset": ("POST", f"{API}/preupload/main", b'"\xff"', {"Content-Type": "text/plain; charset=none-such"}),
    "no gzip": ("POST", f"{API}/preupload/main", b"no gzip", {"Content-Encoding": "gzip"}),
    "gzip": ("POST", f"{API}/commit/main", gzip.compress(COMMIT, mtime=0), {"Content-Encoding": "gzip"}),
    "long name": ("POST", "/api/repos/create", json.dumps({"name": f"org/{'n' * 300}"}).encode(), {}),
    "type": ("POST", "/api/repos/create", json.dumps({"name": "org/x", "type": ["dataset"]}).encode(), {}),
    "long body": ("POST", f"{API}/preupload/main", b'{"files": "%s"}' % (b"x" * (1 << 24)), {}),
    "long file": ("GET", f"/datasets/org/name/resolve/main/{'n' * 300}", None, {}),
    "long path": ("GET", f"/datasets/org/name/resolve/main/{'n/' * 2000}", None, {}),
    "limit below 0": ("GET", f"{API}/tree/main?limit=-1", None, {}),
    "long cursor": ("GET", f"{API}/tree/main?cursor={'9' * 5000}", None, {}),
    "no JSON": ("POST", f"{API}/commit/main", b"no json", {}),
    "no size": ("POST", f"{API}/preupload/main", b'{"files": [{"path": "x"}]}', {}),
    "other type": ("POST", "/api/repos/create", b'{"name": "x", "type": "space"}', {}),
    "list": ("POST", "/api/repos/create", b"[]", {}),
    "link to itself": ("GET", "/datasets/org/name/resolve/main/circle", None, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "body", "headers"), MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_requests_get_a_status_4xx_and_a_line(hub, root, method, path, body, headers):
    before = everything(root)
    answer = ask(hub, path, method, body, **headers)
    assert 400 <= answer.status < 500 and answer.body.strip().count(b"\n") == 0
    assert everything(root) == before
    assert ask(hub, API).status == 200


def test_undecodable_file_names_are_skipped_with_a_message(root, capfd):
    """All other files are served."""
    dataset = root / "datasets" / "org" / "name"
    for name in ("\udcff.txt", "folder\udcfe/a.txt", "d/" * 80 + "a.txt"):
        (dataset / name).parent.mkdir(parents=True, exist_ok=True)
        (dataset / name).write_bytes(CANARY)
    (dataset.parent / "\udcff").mkdir()
    with Hub(root) as hub:
        answer = ask(hub, API)
        assert answer.status == 200
        assert [file["rfilename"] for file in answer.json()["siblings"]] == ["README.md", "a.bin"]
        assert ask(hub, f"{API}/commit/main", "POST", COMMIT).status == 200
    message = capfd.readouterr().err
    assert [message.count(name) for name in ("\\udcff.txt", "folder\\udcfe")] == [1, 1]
    assert (dataset / "\udcff.txt").read_bytes() == CANARY, "a commit touched them"


# Parts of random requests.
REQUESTS = 500
NAMES = [*["org/name"] * 20, "org/away", "org", "org/.", "./.", "../outside", "org/new", "a/b/c", "", "n" * 300,
         "\udcff", "é"]  # fmt: skip
PATHS = [*["a.bin"] * 20, "README.md", "link", "folder-link/secret", "circle", ".git/config", "../x",
         "", "../../../secret", "../../../../outside/secret", "/etc/hostname", "a//b", "./a", "x\0y", "x\ny",
         "d/" * 500, "n" * 300, "half \ud800", "no text \udcff", "%2e%2e/x", "..\\x", "a.bin/below",
         "new/deep/file"]  # fmt: skip
VALUES = [None, True, -1, 1e400, float("nan"), 10**400, "", "x", [], {}, [[]], "0" * 64, "?", "base64", *PATHS]
METHODS = dict.fromkeys(("/commit/", "/paths-info", "/preupload", "batch", "verify", "create"), "POST")
METHODS |= {"validate": "POST", "objects": "PUT"}
KEYS = ["header", "file", "lfsFile", "deletedFile", "deletedFolder", "else"]
HEADERS = {
    "Range": [*["bytes=5-"] * 9, "bytes=-0", "bytes=9-3", "bytes=", "lines=1", "bytes=0-1,2-3", "x" * 5000, "bytes=٣-"],
    "Content-Type": ["application/json", "text/plain; charset=none", "multipart/form-data", "\xff", ";;;"],
    "Content-Encoding": ["gzip", "deflate", "br", "zstd", "x"],
    "Host": ["evil.example", "", "127.0.0.1:99999999", "a b", "[::1]"],
    "Origin": ["null", "http://evil.example"],
    "Expect": ["100-continue", "x"],
    "Upgrade": ["websocket"],
    "Authorization": ["Bearer \xff", "Basic x"],
    "Cookie": ["a=b; " * 500],
}


def path_of(chance):
    """Return a random path of some endpoint, escaped in some way."""
    name, path = chance.choice(NAMES), chance.choice(PATHS)
    revision = chance.choice(["main"] * 20 + ["HEAD", "..", "v1", "0" * 40, "\udcff"])
    kind = chance.choice(["datasets"] * 8 + ["models", "spaces"])
    api = f"/api/{kind}/{name}"
    address = chance.choice(
        [
            api,
            *(f"{api}/{what}/{revision}" for what in ("revision", "tree", "commits", "xet-read-token")),
            *[f"{api}/{what}/{revision}" for what in ("commit", "paths-info", "preupload")] * 3,
            f"{api}/tree/{revision}/{path}",
            f"{api}/refs",
            *[f"/{kind}/{name}/resolve/{revision}/{path}"] * 4,
            f"/cdn/{kind}/{name}/{revision}/{path}",
            *(f"/{kind}/{name}.git/info/lfs/objects/{what}" for what in ("batch", "verify", "0" * 64, path)),
            *(
                f"/{what}/{chance.choice(['0', '1']) * 64}"
                for what in ("xorbs", "v1/reconstructions", "v2/reconstructions")
            ),
            *("/api/repos/create", "/api/validate-yaml", "/api/whoami-v2", "/elsewhere/x/y"),
        ]
    )
    address = quote(
        address.encode(errors="surrogateescape" if "\ud800" not in address else "replace"),
        safe=chance.choice(["/"] * 6 + ["%"]),
    )
    query = chance.choice(["", "", "?limit=-1", "?cursor=x", "?recursive=1&expand=1", "?%ff=%00", "?create_pr=0"])
    return address.replace("%2F", "/", 4) + query


def body_of(chance, path):
    """Return no body, something other than JSON, or JSON that is nearly right."""

    def some(right, others=VALUES):
        return chance.choice([*[right] * 2 * len(others), *others])

    value = {"path": chance.choice(PATHS), "content": some("new"), "encoding": some("utf-8"), "oid": some("0" * 64)}
    value |= {"size": some(5)}
    lines = [{"key": chance.choice(KEYS), "value": some(value)} for _ in range(chance.randint(1, 3))]
    objects = [some({key: value[key] for key in ("oid", "size", "path")})]
    whole = {"files": some(objects), "objects": some(objects), "paths": some([value["path"]]), "content": some("a: b")}
    whole |= {"name": some("org/new", NAMES[20:]), "type": some("dataset", ["model", "space", None, []])}
    right = "\n".join(map(json.dumps, lines)) if "/commit/" in path else json.dumps(whole)
    wrong = [None, DEEP, chance.randbytes(50), gzip.compress(right.encode(), mtime=0)]
    return chance.choice([*[right.encode()] * 12, *wrong])


def ask_at_random(variables, seed):
    """Count the statuses of random requests. None is the server's fault, and no answer has content of other files."""
    chance, host, statuses = random.Random(seed), variables["HF_ENDPOINT"], Counter[int]()
    for number in range(REQUESTS):
        path = path_of(chance)
        body = body_of(chance, path)
        right = next((method for part, method in METHODS.items() if part in path), "GET")
        method = chance.choice([*[right] * 8, "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
        headers = {"Authorization": f"Bearer {variables.get('HF_TOKEN')}".encode()}
        chosen = chance.choices(list(HEADERS), k=chance.choice([0, 0, 0, 1, 2]))
        headers |= {key: chance.choice(HEADERS[key]).encode() for key in chosen}
        status, answer = 0, b""
        with contextlib.suppress(http.client.BadStatusLine):  # the server may hang up
            status, _, answer = ask(host, path, method, body, **headers)
        assert status < 500, (number, method, path, body, headers, answer)
        assert CANARY not in answer, (number, method, path)
        statuses[status] += 1
    assert ask(host, API, Authorization=f"Bearer {variables.get('HF_TOKEN')}").status == 200
    return statuses


@pytest.mark.slow
def test_random_requests_change_nothing_outside(root, tmp_path):
    outside = everything(tmp_path / "outside")
    with running(tmp_path / "said", "--root", str(root), "--xet") as variables:
        statuses = ask_at_random(variables, seed=1)
    assert everything(tmp_path / "outside") == outside
    assert (root / "secret").read_bytes() == (root / "datasets/org/name/.git/config").read_bytes() == CANARY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside", "root", "said"]
    assert {path.name for path in root.iterdir()} <= {"datasets", "models", "secret", ".objects", ".xet"}
    assert min(statuses[status] for status in (200, 400, 403, 404, 421, 422)) > 2, "some were nearly right"


@pytest.mark.slow
def test_random_requests_through_the_relay_change_nothing(root, tmp_path):
    before = everything(tmp_path / "root")
    with (
        running(tmp_path / "said", "--root", str(root)) as hub,
        running(tmp_path / "relay-said", "--upstream", hub["HF_ENDPOINT"]) as variables,
    ):
        statuses = ask_at_random(variables, seed=2)
    assert everything(tmp_path / "root") == before
    assert min(statuses[status] for status in (200, 401, 403, 404, 421)) > 2, "some were nearly right"
