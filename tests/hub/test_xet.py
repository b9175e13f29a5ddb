"""Reading from Xet storage by its protocol. Real clients are in test_conformance.py."""

import json
import random
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from beyond_ram.hub import Conditions, Fault, Hub
from beyond_ram.hub.xet import Storage

from .asking import ask

CONTENT = random.Random(0).randbytes(600_000)
# Chunks are cut by content, so most of the second half is stored already.
COPIES = CONTENT[:500_000] + random.Random(1).randbytes(1000) + CONTENT
HEADER_BYTES = 8


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    repository = root / "datasets" / "org" / "name"
    repository.mkdir(parents=True)
    (repository / "copies.npy").write_bytes(COPIES)
    (repository / "empty.npy").write_bytes(b"")
    (repository / "README.md").write_text("hello")
    return root


@pytest.fixture(scope="module")
def hub(root):
    with Hub(root, conditions=Conditions(xet=True)) as hub:
        yield hub


def get(url, byte_range="", method="GET"):
    address = urlsplit(url)
    return ask(address.netloc, address.path, method, **({"Range": f"bytes={byte_range}"} if byte_range else {}))


def address(hub, name):
    """Return the storage's address, from the token that a file's headers link to, and the file's hash."""
    _, headers, _ = get(f"{hub.url}/datasets/org/name/resolve/main/{name}", method="HEAD")
    (link,) = re.findall(r'<(.*)>; rel="xet-auth"', headers["Link"])
    return json.loads(get(link)[2])["casUrl"], headers["X-Xet-Hash"]


def rebuild(answer):
    """Return the bytes of an answer's terms, and the number of ranges read. A chunk is its header and its content,
    because random bytes are not compressed."""
    chunks = {}
    reads = 0
    for xorb, parts in (answer.get("fetch_info") or answer["xorbs"]).items():
        for part in parts:
            for span in part.get("ranges", [{"chunks": part.get("range"), "bytes": part.get("url_range")}]):
                status, _, body = get(part["url"], f"{span['bytes']['start']}-{span['bytes']['end']}")
                assert status == 206
                reads += 1
                for number in range(span["chunks"]["start"], span["chunks"]["end"]):
                    length = int.from_bytes(body[1:4], "little")
                    chunks[xorb, number] = body[HEADER_BYTES : HEADER_BYTES + length]
                    body = body[HEADER_BYTES + length :]
                assert not body
    terms = []
    for term in answer["terms"]:
        span = range(term["range"]["start"], term["range"]["end"])
        terms.append(b"".join(chunks[term["hash"], number] for number in span))
        assert len(terms[-1]) == term["unpacked_length"]
    return b"".join(terms), reads


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("start", "stop"), [(0, len(COPIES)), (0, 1), (1, 200_000), (450_000, 600_000), (len(COPIES) - 1, len(COPIES))]
)
def test_ranges_are_rebuilt_from_chunks(hub, version, start, stop):
    storage, xet_hash = address(hub, "copies.npy")
    status, _, body = get(f"{storage}/{version}/reconstructions/{xet_hash}", f"{start}-{stop - 1}")
    answer = json.loads(body)
    content, _ = rebuild(answer)
    before = answer["offset_into_first_range"]
    assert status == 200
    assert content[before : before + stop - start] == COPIES[start:stop]
    assert len(content) <= stop - start + 2 * 131_072, "chunks outside of the range were sent"


def test_repeated_chunks_are_read_once(hub):
    storage, xet_hash = address(hub, "copies.npy")
    answer = json.loads(get(f"{storage}/v2/reconstructions/{xet_hash}")[2])
    content, reads = rebuild(answer)
    assert content == COPIES
    assert len(answer["terms"]) > reads == 1


def test_missing_objects_get_a_status_404(hub):
    storage, xet_hash = address(hub, "copies.npy")
    assert get(f"{storage}/v1/reconstructions/{xet_hash}", f"{len(COPIES)}-")[0] == 416
    for path in (
        f"v1/reconstructions/{'1' * 64}",
        f"xorbs/{'1' * 64}",
        "xorbs/..%2Fshards",
        f"v3/reconstructions/{xet_hash}",
    ):
        assert get(f"{storage}/{path}")[0] == 404
    storage, xet_hash = address(hub, "empty.npy")
    assert json.loads(get(f"{storage}/v1/reconstructions/{xet_hash}")[2])["terms"] == []


def test_listings_have_the_xet_hash_except_for_small_files(hub):
    listed = json.loads(get(f"{hub.url}/api/datasets/org/name/tree/main")[2])
    hashes = {entry["path"]: entry.get("xetHash") for entry in listed}
    assert hashes == {name: address(hub, name)[1] for name in ("copies.npy", "empty.npy")} | {"README.md": None}
    assert "X-Xet-Hash" not in get(f"{hub.url}/datasets/org/name/resolve/main/README.md")[1]


def test_storage_reads_are_logged_and_get_faults(root):
    conditions = Conditions(latency_ms=20, faults=(Fault("error-500", 1),), xet=True)
    with Hub(root, conditions=conditions) as other:
        storage, xet_hash = address(other, "copies.npy")
        (part,) = json.loads(get(f"{storage}/v1/reconstructions/{xet_hash}", "0-9")[2])["fetch_info"].values()
        assert [get(part[0]["url"], "0-99")[0] for _ in range(2)] == [500, 206]
    (failed, read) = [request for request in other.requests if request.endpoint == "xorb"]
    assert (failed.fault, read.bytes_sent) == ("error-500", 100)
    assert all(request.injected_s >= 0.02 for request in other.requests)


def test_xet_is_off_by_default_and_stores_files_once(tmp_path):
    repository = tmp_path / "datasets" / "org" / "name"
    repository.mkdir(parents=True)
    (repository / "copies.npy").write_bytes(COPIES)
    file = "datasets/org/name/resolve/main/copies.npy"
    with Hub(tmp_path) as hub:
        assert "X-Xet-Hash" not in get(f"{hub.url}/{file}")[1]
        assert not (tmp_path / ".xet").exists()
        hub.change(Conditions(xet=True))
        hashed = get(f"{hub.url}/{file}")[1]["X-Xet-Hash"]
    shards = sorted(tmp_path.glob(".xet/xet/xorbs/shards/*.mdb"))
    with Hub(tmp_path, conditions=Conditions(xet=True)) as hub:
        assert get(f"{hub.url}/{file}")[1]["X-Xet-Hash"] == hashed
    assert sorted(tmp_path.glob(".xet/xet/xorbs/shards/*.mdb")) == shards


def test_storage_open_in_another_process_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_bytes(CONTENT)
    storage = Storage(tmp_path / ".xet")
    code = "import hf_xet, sys; commit = hf_xet.XetSession().new_upload_commit(endpoint=sys.argv[1]); print(); input()"
    command = [sys.executable, "-W", "ignore", "-c", code, storage.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout and other.stdout.readline()
        with pytest.raises(ValueError, match="another process") as refused:
            storage.add({"0" * 64: tmp_path / "file"})
        other.kill()
    assert "\n" not in str(refused.value) and str(tmp_path) in str(refused.value)
