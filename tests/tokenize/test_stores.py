"""Inputs from object stores: the same ids as from files, through the real clients, a local S3 and a local Hub."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beyond_ram.hub import Conditions, Fault, Hub, repos
from beyond_ram.tokenize.encoders import ENGINE
from beyond_ram.watch import WatchOptions, watch
from tests.conftest import ROOT, interpreter
from tests.tokenize.conftest import RUN, words
from tests.tokenize.documents import big, files_of, some_texts, summary

sys.path.insert(0, str(ENGINE))
import stores
from inventory import Inventory
from trouble import Refused

sys.path.remove(str(ENGINE))

pytestmark = pytest.mark.slow

SIGNED = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
# Neither the machine's own account nor its Hub; libraries wait no second time for a store that is not there.
NOTHING = {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1", "AWS_EC2_METADATA_DISABLED": "true",
           "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "HF_TOKEN_PATH": os.devnull,
           "NETRC": os.devnull, "AWS_DEFAULT_REGION": "us-east-1"}  # fmt: skip


@dataclass
class Store:
    """A store with the files of `root`, and the variables of its clients."""

    root: Path
    address: str
    variables: dict[str, str]
    hub: Hub | None = None

    def change(self, name, content):
        """Replace an object, or remove it."""
        if self.hub:
            (self.root / name).write_bytes(content) if content is not None else (self.root / name).unlink()
            return
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.variables["AWS_ENDPOINT_URL"]).netloc)
        bucket = self.address.removeprefix("s3://")
        method = "DELETE" if content is None else "PUT"
        connection.request(method, f"/{bucket}/{name}", content, {"Authorization": SIGNED})
        assert connection.getresponse().status in (200, 204)

    @contextlib.contextmanager
    def changed(self, name, content):
        """Replace an object while the block runs."""
        before = (self.root / name).read_bytes() if (self.root / name).is_file() else None
        self.change(name, content)
        try:
            yield
        finally:
            self.change(name, before)


def fill(folder):
    """Write objects of three units, and what is left out."""
    texts = some_texts(200)
    (folder / "deep" / ".hidden").mkdir(parents=True)
    big(folder / "a.jsonl", 0.8)
    with pa.output_stream(str(folder / "b.jsonl.zst"), compression="zstd") as sink:
        sink.write("".join(json.dumps({"text": text}) + "\n" for text in texts).encode())
    random = Random(7)
    rows = [random.randbytes(2_000).hex() for _ in range(300)]
    pq.write_table(pa.table({"n": range(300), "text": rows}), folder / "deep" / "c.parquet", row_group_size=70)
    (folder / "deep" / "d.csv").write_text('text\n"one, two"\nthree\n', encoding="utf-8")
    (folder / "deep" / ".hidden" / "e.jsonl").write_text('{"text": "no"}\n', encoding="utf-8")
    (folder / "README.md").write_text("# Texts\n", encoding="utf-8")
    (folder / "saved").mkdir()
    with pa.OSFile(str(folder / "saved" / "x.arrow"), "wb") as sink:
        table = pa.table({"text": texts[:20]})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    state = {"_data_files": [{"filename": "x.arrow"}], "_split": "train"}
    (folder / "saved" / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "saved" / "dataset_info.json").write_text("{}", encoding="utf-8")


@contextlib.contextmanager
def s3(root, work):
    command = [interpreter("stream-s3"), ROOT / "scripts/repositories/s3_server.py", "--root", root]
    with subprocess.Popen([*command, "--log", work / "log"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().strip().removeprefix("S3_ENDPOINT=")
            keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "a-SECRET", "AWS_ENDPOINT_URL": url}
            yield Store(root / "datasets/user/texts", "s3://repositories/user/texts", keys)
        finally:
            server.kill()


@contextlib.contextmanager
def hub(root, work):
    with pytest.MonkeyPatch.context() as patch, Hub(root, page_size=2) as served:
        patch.setattr(repos, "CACHED_S", -1)  # a change shows at once
        variables = {"HF_ENDPOINT": served.url, "HF_HOME": str(work / "hf"), "HF_TOKEN": "hf_SECRET"}
        yield Store(root / "datasets/user/texts", "hf://datasets/user/texts", variables, served)


@pytest.fixture(scope="module", params=[s3, hub], ids=["s3", "hub"])
def store(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    fill(root / "datasets/user/texts")
    with request.param(root, tmp_path_factory.mktemp("server")) as served:
        yield served


of_s3 = pytest.mark.parametrize("store", [s3], ids=["s3"], indirect=True)
of_hub = pytest.mark.parametrize("store", [hub], ids=["hub"], indirect=True)


@pytest.fixture
def run(store, python, families, engine):
    def ran(*inputs, out, status=0, **flags):
        (_, *command), variables = call(store, python, families, *inputs, out=out, **flags)
        done = engine.run(*command, env=variables)
        assert done.returncode == status, done.stderr
        assert "SECRET" not in done.stdout + done.stderr and "Traceback" not in done.stderr
        assert "SECRET" not in "".join(path.read_text("utf-8", "replace") for path in out.rglob("*.json"))
        assert not [*out.rglob(".partial-*")], "a copy is left"
        return done

    return ran


def call(store, python, families, *inputs, out, **flags):
    flags = {"stores": interpreter("stores"), "tokenizer": families["gpt2"], "out": out, **flags}
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "HF_"))}
    return [str(python), str(RUN), *words(*inputs, **flags)], variables | NOTHING | store.variables


@pytest.fixture(scope="module")
def whole(store, python, families, tmp_path_factory):
    """Return the files and the summary of the ids of the same files on disk."""
    out = tmp_path_factory.mktemp("whole") / "out"
    command, _ = call(store, python, families, store.root, out=out)
    command = [word for word in command if not word.startswith("--stores")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    return summary(out) | {"files": files_of(out)}


@pytest.fixture(scope="module")
def listing(store, tmp_path_factory):
    """Return a function that lists inputs, by one program for all calls of a store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (NOTHING | store.variables).items():
            patch.setenv(name, value)
        tree = stores.ObjectListing(str(interpreter("stores")), 0)
        yield lambda *inputs: Inventory(inputs, tmp_path_factory.getbasetemp() / "out", tree)
        tree.end()


NAMES = ("a.jsonl", "b.jsonl.zst", "deep/c.parquet", "deep/d.csv", "saved/x.arrow")


def test_folder_pattern_and_names_mean_the_objects_that_files_have(store, whole, listing):
    """An object is read once, and the same names are left out for the same reasons."""
    files, skipped = [f"{store.address}/{name}" for name in NAMES], dict(whole["files_skipped"])
    for ends, left_out in (
        ([""], skipped),
        (["/"], skipped),
        (["/**"], skipped),
        ([f"/{name}" for name in NAMES], {}),
        (["/[ab].*", "/a.jsonl", ""], skipped | {"read already": 3}),
    ):
        listed = listing(*(f"{store.address}{end}" for end in ends))
        assert (listed.files, dict(+listed.left_out)) == (files, left_out), ends


def test_objects_give_the_ids_of_files(store, whole, run, tmp_path):
    run(*(f"{store.address}{end}" for end in ("/[ab].*", "")), out=tmp_path / "out", workers=2)
    result = summary(tmp_path / "out")
    assert {**files_of(tmp_path / "out"), "summary.json": b""} == {**whole["files"], "summary.json": b""}
    assert (result["digest"], result["files_read"]) == (whole["digest"], len(NAMES))
    assert result["files_skipped"] == dict(whole["files_skipped"]) | {"read already": 2}


@of_hub
def test_shards_and_files_beside_objects(store, whole, run, tmp_path):
    out = tmp_path / "out"
    names = [store.root / "a.jsonl", f"{store.address}/b*", f"{store.address}/deep", f"{store.address}/saved"]
    for shard in ("2/2", "1/2"):
        run(*names, out=out, shard=shard, verify_share=100)
    parts = [(out / f"tokens-0000{shard}-of-00002.bin").read_bytes() for shard in (1, 2)]
    assert all(parts) and b"".join(parts) == whole["files"]["tokens.bin"]
    assert summary(out)["verified"]["documents"] == whole["documents"]


@of_hub
@pytest.mark.end_to_end  # engine/test_run.py kills runs that read files
def test_killed_run_goes_on(store, whole, run, python, families, tmp_path):
    """Killed while copies are made, and after a part is done. What it left is removed."""
    out, work = tmp_path / "out", tmp_path / "out" / ".beyond-ram-tokenize"
    command, variables = call(store, python, families, store.address, out=out, workers=1)
    for pattern in (".partial-*", "*[0-9].json"):
        with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL, start_new_session=True) as running:
            while not [*work.glob(pattern)] and running.poll() is None:
                time.sleep(0.001)
            os.killpg(running.pid, signal.SIGKILL)
    run(store.address, out=out)
    assert files_of(out)["tokens.bin"] == whole["files"]["tokens.bin"]


@of_s3
def test_object_that_changes_between_two_calls_is_refused(store, run, tmp_path):
    before = (store.root / "a.jsonl").read_bytes()
    run(store.address, out=tmp_path / "out", shard="1/2")
    with store.changed("a.jsonl", before[:-2].replace(b"e", b"o", 1) + b"}\n"):
        done = run(store.address, out=tmp_path / "out", shard="2/2", status=2)
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"{store.address}/a.jsonl has changed" in done.stderr


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_object_that_changes_after_it_was_listed_is_refused(how, store, listing, tmp_path):
    name, before = f"{store.address}/deep/d.csv", (store.root / "deep/d.csv").read_bytes()
    with stores.Copies(str(interpreter("stores")), listing(store.address).objects, tmp_path, "1", 2) as copies:
        with copies.reading(0, [(f"{store.address}/a.jsonl", 0, None)]):
            (copy,) = copies.made[0].values()
            assert Path(copy).read_bytes() == (store.root / "a.jsonl").read_bytes()
        with (
            store.changed("deep/d.csv", before[::-1] if how == "changed" else None),
            pytest.raises(Refused) as error,
            copies.reading(1, [(name, 0, None)]),
        ):
            pass
    assert str(error.value).startswith(name) and not [*tmp_path.iterdir()]


@of_hub
def test_lost_connections_are_tried_again(store, whole, run, tmp_path):
    try:
        for kind in ("drop", "error-500"):
            store.hub.change(Conditions(faults=(Fault(kind, 2),)))
            run(store.address, out=tmp_path / kind)
            assert files_of(tmp_path / kind)["tokens.bin"] == whole["files"]["tokens.bin"]
    finally:
        store.hub.change(Conditions())


REFUSED = {
    "s3://no-such-bucket/x": "s3://no-such-bucket/x: no such file, folder or pattern with files",
    "hf://datasets/user/nothing": "hf://datasets/user/nothing: no such file, folder or pattern with files",
    "{}/nothing*.jsonl": "no such file, folder or pattern with files",
    "{}/README.md": "cannot be read; it has to end in",
    "https://user:SECRET@127.0.0.1:1/a.jsonl": "https://…: an address with a password",
    "https://127.0.0.1:1/a.jsonl?X-Amz-Signature=SECRET": "https://…: an address with a password",
    "http://127.0.0.1:1/a.jsonl": "http://127.0.0.1:1/a.jsonl: ",
    "nothing://a/b.jsonl": "fsspec knows no store 'nothing'",
    "gs://bucket/a.jsonl": "gcsfs",
    "zip://a.jsonl::s3://bucket/a.zip": "several file systems in one",
    "file:///etc/a.jsonl": "a file of this machine",
}


def test_what_cannot_be_read_is_refused_by_name(store, listing):
    for address, message in REFUSED.items():
        if not address.startswith("{}") and bool(store.hub) != address.startswith("hf"):
            continue  # once is enough
        with pytest.raises(Refused) as error:
            listing(address.format(store.address))
        assert message in str(error.value) and "\n" not in str(error.value) and "SECRET" not in str(error.value)
    assert listing(f"{store.address}/deep/.hidden").files == [f"{store.address}/deep/.hidden/e.jsonl"]


@of_s3
def test_credentials_are_asked_for_in_one_line_and_without_a_folder(store, run, tmp_path):
    keys = {name: store.variables.pop(name) for name in [*store.variables] if "KEY" in name}
    try:
        done = run(store.address, out=tmp_path / "out", status=2)
    finally:
        store.variables |= keys
    assert done.stderr.count("\n") == 1 and "FSSPEC_S3_ANON=true" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_memory_limit_holds(store, whole, run, python, families, tmp_path):
    """Of all processes together; and what does not fit is refused by the object's name."""
    command, variables = call(store, python, families, store.address, out=tmp_path / "out", memory_limit=200_000_000)
    seen = watch(command, tmp_path / "watched", WatchOptions(environment=variables))
    assert seen["outcome"] == "completed", seen
    assert seen["peak"]["anon_bytes"] < 200_000_000
    assert files_of(tmp_path / "out")["tokens.bin"] == whole["files"]["tokens.bin"]
    if not store.hub:
        return  # what follows reads a copy on disk
    table = pa.table({"text": [f"{number} " * 60_000 for number in range(600)]})
    pq.write_table(table, tmp_path / "large.parquet", data_page_size=1 << 28, use_dictionary=False)
    with store.changed("large.parquet", (tmp_path / "large.parquet").read_bytes()):
        done = run(f"{store.address}/large.parquet", out=tmp_path / "large", memory_limit=200_000_000, status=2)
    assert f"{store.address}/large.parquet, row group 1" in done.stderr, done.stderr
    assert "reading it needs" in done.stderr and done.stderr.splitlines()[-1].startswith("beyond-ram: ")


@of_s3
@pytest.mark.parametrize(
    ("name", "why"), [("deep", ": an object, and also a folder"), ("deep//d.txt", ": a part of its name is empty")]
)
def test_object_whose_name_is_no_path_is_refused_where_it_is_met(name, why, store, listing):
    with store.changed(name, b"one"):
        for end in ("", "/**/*.txt", "/deep*"):
            with pytest.raises(Refused, match=f"{store.address}/{name}{why}"):
                listing(f"{store.address}{end}")
        assert listing(f"{store.address}/a*").files == [f"{store.address}/a.jsonl"]


@of_hub
def test_full_disk_is_named(store, run, small_disk):
    with store.changed("large.txt", bytes(20 << 20)):
        done = run(f"{store.address}/large.txt", out=small_disk / "out", status=1)
    assert f"{store.address}/large.txt: the disk" in done.stderr.splitlines()[-1], done.stderr


@of_hub
def test_nothing_is_started_without_an_address(store, run, python, families, tmp_path):
    """A file whose name begins as an address is a file."""
    folder = tmp_path / "s3:" / "bucket"
    folder.mkdir(parents=True)
    shutil.copy(store.root / "a.jsonl", folder / "a.jsonl")
    command, _ = call(store, python, families, "s3://bucket/a.jsonl", out=tmp_path / "out")
    command = [word for word in command if not word.startswith("--stores")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@of_hub
def test_command_gives_the_ids_that_datasets_opens(store, whole, families, tmp_path):
    """With the stack that it builds."""
    out, address = tmp_path / "out", f"{store.address}@main"
    command = [sys.executable, "-m", "beyond_ram", "tokenize", address, "--out", out, "--tokenizer", families["gpt2"]]
    done = subprocess.run(
        [*command, "--tokenizers=1.0"], env=os.environ | NOTHING | store.variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert summary(out)["digest"] == whole["digest"] and (out / "state.json").is_file()
