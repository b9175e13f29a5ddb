"""The endpoint against real clients: each stack reads and pushes under each condition."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from beyond_ram.hub import Conditions, Fault, Hub, Request, sending

from ..conftest import interpreter

pytestmark = pytest.mark.slow

STACKS = ("june-2023", "middle", "datasets-3.6", "current")
CONDITIONS = {
    "plain": Conditions(),
    "redirect": Conditions(redirect=True),
    "narrow": Conditions(latency_ms=10, bandwidth_mb_per_s=5),
    "xet": Conditions(xet=True, redirect=True),
    "xet-drop": Conditions(xet=True, faults=(Fault("drop", 3),)),
    **{kind: Conditions(faults=(Fault(kind, 3),)) for kind in ("error-500", "too-many-429", "drop", "slow")},
}
FAILING = ("error-500", "too-many-429", "drop", "xet-drop")
NO_XET = "june-2023"  # the other stacks have hf_xet
READING = ("stream", "filesystem", "snapshot")
ROWS_IN_A_FILE, FILES = 300, 3

# The oldest and the newest clients run under every condition. Those in between are `end_to_end` and skip half of them.
SKIPPED = {
    "middle": {"narrow", "too-many-429", "slow", "xet-drop"},
    "datasets-3.6": {"redirect", "error-500", "drop", "xet"},
}


@dataclass
class Client:
    """The results of one client's steps, and its requests."""

    stack: str
    root: Path
    results: dict[str, Any] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)


@functools.cache
def texts():
    """Return texts that are hard to compress, so that files have some size."""
    return [hashlib.sha512(str(number).encode()).hexdigest() * 4 for number in range(ROWS_IN_A_FILE * FILES)]


def fill(repository):
    (repository / "data").mkdir(parents=True)
    (repository / "README.md").write_text("# A table\n")
    for number in range(FILES):
        ids = list(range(number * ROWS_IN_A_FILE, (number + 1) * ROWS_IN_A_FILE))
        table = pyarrow.table({"id": ids, "text": [texts()[i] for i in ids]})
        path = repository / "data" / f"train-{number:05}-of-{FILES:05}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=100)


@pytest.fixture(scope="module")
def clients(request, tmp_path_factory):
    """Run the clients of all stacks at the same time: most of their time is waiting before they retry."""
    tests = [item for item in request.session.items if item.path == request.path]
    end_to_end = any(item.get_closest_marker("end_to_end") for item in tests)
    stacks = [stack for stack in STACKS if end_to_end or stack not in SKIPPED]
    for stack in stacks:
        interpreter(stack)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(stacks)) as pool:
        patch.setattr(sending, "SLOW_BODY_S", 0.3)
        works = [tmp_path_factory.mktemp(stack) for stack in stacks]
        return dict(zip(stacks, pool.map(run_client, stacks, works), strict=True))


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.end_to_end] if name in SKIPPED else []) for name in STACKS]
)
def client(request, clients):
    return clients[request.param]


def conditions_of(stack):
    """Return the conditions under which a stack's clients run."""
    return [name for name in CONDITIONS if name not in SKIPPED.get(stack, ())]


def run_client(stack, work):
    """Run every step of one stack's clients in one process."""
    for name in conditions_of(stack):
        fill(work / "root" / "datasets" / "org" / name)
    python = interpreter(stack)
    steps = [f"{step}:org/{name}" for name in conditions_of(stack) for step in READING]
    steps += ["push:org/pushed"]
    with Hub(work / "root", page_size=2) as hub:
        environment = environment_of(hub.url, work / "home")
        command = [str(python), str(Path(__file__).with_name("client.py")), str(work), *steps]
        with (work / "errors").open("w") as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
            )
            try:
                assert process.stdin and process.stdout
                assert "versions" in process.stdout.readline()
                client, starts = Client(stack, work / "root"), []
                for step in steps:
                    hub.change(CONDITIONS.get(step.rpartition("/")[2], Conditions()))
                    starts.append(time.monotonic())
                    process.stdin.write("\n")
                    process.stdin.flush()
                    client.results[step] = json.loads(process.stdout.readline() or '{"error": "it ended"}')
                process.wait(timeout=20)
            finally:
                process.kill()
                process.wait()
        # By arrival: a request that the client has left is logged when the endpoint notices, which may be a step later.
        for step, start, end in zip(steps, starts, [*starts[1:], math.inf], strict=True):
            client.requests[step] = [request for request in hub.requests if start <= request.monotonic_s < end]
        return client


def environment_of(url, home, token="local"):
    """Return the environment in which a client asks only the endpoint at `url`."""
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment.pop("HF_HUB_OFFLINE", None)
    return environment | {
        "HF_ENDPOINT": url,
        "HF_HOME": str(home),
        "HF_TOKEN": token,
        "HUGGING_FACE_HUB_TOKEN": token,  # its name in 2023
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }


def repository(name, under):
    """Return the files of a repository and their hashes."""
    folder = under / "datasets" / "org" / name
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def expected(step, condition, root):
    """Return what a client must get."""
    if step == "stream":
        return [[number, hashlib.sha256(text.encode()).hexdigest()] for number, text in enumerate(texts())]
    files = repository(condition, root)
    if step == "snapshot":
        return files
    return {path.removeprefix("data/"): digest for path, digest in files.items() if path.startswith("data/")} | {
        "end": (root / f"datasets/org/{condition}/data/train-{FILES - 1:05}-of-{FILES:05}.parquet")
        .read_bytes()[-8:]
        .hex()
    }


def test_every_client_reads_correctly_or_raises(client):
    """A client may give up after as many failing answers as it likes, but then it must raise."""
    wrong = []
    for condition in conditions_of(client.stack):
        for step in READING:
            answer = client.results[f"{step}:org/{condition}"]
            gives_up = condition in FAILING and "error" in answer and "result" not in answer
            if not gives_up and answer.get("result") != expected(step, condition, client.root):
                wrong.append(f"{step} under {condition}: {str(answer)[:200]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("condition", FAILING)
def test_some_client_gets_through_a_fault(clients, condition):
    """The endpoint answers each request at most once with a fault."""
    results = [client.results.get(f"{step}:org/{condition}", {}) for client in clients.values() for step in READING]
    assert any("result" in answer for answer in results), results


def test_every_client_met_the_faults(client):
    for condition in [name for name in conditions_of(client.stack) if CONDITIONS[name].faults]:
        faults = {r.fault for step in READING for r in client.requests[f"{step}:org/{condition}"]}
        assert CONDITIONS[condition].faults[0].kind in faults, condition


def test_pushed_rows_are_in_the_folder_and_read_back(client):
    answer = client.results["push:org/pushed"]
    assert answer.get("result") == [[number, f"pushed {number}"] for number in range(50)], answer
    files = repository("pushed", client.root)
    assert files.pop("a/b.txt") == hashlib.sha256(b"by hand\n" * 9).hexdigest()
    tables = [path for path in files if path.endswith(".parquet")]
    rows = [pyarrow.parquet.read_table(client.root / "datasets/org/pushed" / path).num_rows for path in tables]
    assert sum(rows) == 50
    assert not list((client.root / ".objects").iterdir()), "uploads were not moved into the commit"


def test_downloads_use_xet_and_streams_do_not(client):
    """The Hub offers Xet to both."""
    if "xet" not in conditions_of(client.stack):
        return
    read = {step: {request.endpoint for request in client.requests[f"{step}:org/xet"]} for step in READING}
    by_xet = {"xet-read-token", "reconstruction", "xorb"}
    assert read["snapshot"] & (by_xet | {"cdn"}) == ({"cdn"} if client.stack == NO_XET else by_xet)
    for step in ("stream", "filesystem"):
        assert "cdn" in read[step]
        assert not read[step] & by_xet


def test_no_client_asks_for_an_unknown_endpoint(client):
    unknown = [r for requests in client.requests.values() for r in requests if r.endpoint == "unknown"]
    assert not {f"{request.method} {request.path}" for request in unknown}


def test_every_request_has_a_process(client):
    """A client that hangs up at once may be missed."""
    pids = [request.pid for requests in client.requests.values() for request in requests]
    assert sum(pid is None for pid in pids) <= 0.02 * len(pids)
