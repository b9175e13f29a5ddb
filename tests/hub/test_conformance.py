"""The endpoint against the clients that people have: of each stack, reading and pushing, under each condition."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
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

# The oldest and the newest clients meet every condition; those in between, which are `end_to_end`, half of those that
# are not plain.
SPARED = {
    "middle": {"narrow", "too-many-429", "slow", "xet-drop"},
    "datasets-3.6": {"redirect", "error-500", "drop", "xet"},
}


@dataclass
class Spoken:
    """What one client did and got, and what it asked for."""

    stack: str
    root: Path
    results: dict[str, Any] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)


@functools.cache
def texts() -> list[str]:
    """Hard to compress, so that files have some size."""
    return [hashlib.sha512(str(number).encode()).hexdigest() * 4 for number in range(ROWS_IN_A_FILE * FILES)]


def fill(repository: Path) -> None:
    (repository / "data").mkdir(parents=True)
    (repository / "README.md").write_text("# A table\n")
    for number in range(FILES):
        ids = list(range(number * ROWS_IN_A_FILE, (number + 1) * ROWS_IN_A_FILE))
        table = pyarrow.table({"id": ids, "text": [texts()[i] for i in ids]})
        path = repository / "data" / f"train-{number:05}-of-{FILES:05}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=100)


@pytest.fixture(scope="module")
def everyone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Spoken]:
    """What the clients of all stacks did, all at a time: most of it is waiting before they try again."""
    tests = [item for item in request.session.items if item.path == request.path]
    end_to_end = any(item.get_closest_marker("end_to_end") for item in tests)
    stacks = [stack for stack in STACKS if end_to_end or stack not in SPARED]
    for stack in stacks:
        interpreter(stack)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(stacks)) as pool:
        patch.setattr(sending, "SLOW_BODY_S", 0.3)
        works = [tmp_path_factory.mktemp(stack) for stack in stacks]
        return dict(zip(stacks, pool.map(speak, stacks, works), strict=True))


@pytest.fixture(params=[pytest.param(one, marks=[pytest.mark.end_to_end] if one in SPARED else []) for one in STACKS])
def spoken(request: pytest.FixtureRequest, everyone: dict[str, Spoken]) -> Spoken:
    return everyone[request.param]


def met_by(stack: str) -> list[str]:
    """The conditions that a stack's clients meet."""
    return [name for name in CONDITIONS if name not in SPARED.get(stack, ())]


def speak(stack: str, work: Path) -> Spoken:
    """Every step of one stack's clients, in one process."""
    for name in met_by(stack):
        fill(work / "root" / "datasets" / "org" / name)
    python = interpreter(stack)
    steps = [f"{step}:org/{name}" for name in met_by(stack) for step in READING]
    steps += ["push:org/pushed", "push:org/by-xet"]
    with Hub(work / "root", page_size=2) as hub:
        environment = environment_of(hub.url, work / "home")
        command = [str(python), str(Path(__file__).with_name("client.py")), str(work), *steps]
        with (work / "errors").open("w") as errors:
            client = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
            )
            try:
                assert client.stdin and client.stdout
                assert "versions" in client.stdout.readline()
                conversation = Spoken(stack, work / "root")
                for step in steps:
                    hub.change(CONDITIONS.get(step.rpartition("/")[2], Conditions()))
                    hub.requests.clear()
                    client.stdin.write("\n")
                    client.stdin.flush()
                    conversation.results[step] = json.loads(client.stdout.readline() or '{"error": "it ended"}')
                    conversation.requests[step] = list(hub.requests)
                client.wait(timeout=20)
            finally:
                client.kill()
                client.wait()
        return conversation


def environment_of(url: str, home: Path, token: str = "local") -> dict[str, str]:
    """What a client is given so that it asks the endpoint at `url`, and nobody else."""
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


def repository(name: str, under: Path) -> dict[str, str]:
    """The files of a repository and their hashes."""
    folder = under / "datasets" / "org" / name
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def expected(step: str, condition: str, root: Path) -> Any:
    """What a client has to get."""
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


def test_every_client_reads_what_is_there_or_says_that_it_cannot(spoken: Spoken) -> None:
    """Rows and files are right under every condition. How many failing answers a client puts up with is its own choice:
    where it gives up it raises, and takes nothing less for the whole."""
    wrong = []
    for condition in met_by(spoken.stack):
        for step in READING:
            answer = spoken.results[f"{step}:org/{condition}"]
            gives_up = condition in FAILING and "error" in answer and "result" not in answer
            if not gives_up and answer.get("result") != expected(step, condition, spoken.root):
                wrong.append(f"{step} under {condition}: {str(answer)[:200]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("condition", FAILING)
def test_who_asks_again_after_a_failing_answer_is_served(everyone: dict[str, Spoken], condition: str) -> None:
    """One failing answer is all that the endpoint gives: some client gets through."""
    results = [spoken.results.get(f"{step}:org/{condition}", {}) for spoken in everyone.values() for step in READING]
    assert any("result" in answer for answer in results), results


def test_every_fault_was_met(spoken: Spoken) -> None:
    """A fault that hits nothing shows nothing."""
    for condition in [name for name in met_by(spoken.stack) if CONDITIONS[name].faults]:
        met = {r.fault for step in READING for r in spoken.requests[f"{step}:org/{condition}"]}
        assert CONDITIONS[condition].faults[0].kind in met, condition


def test_every_client_pushes(spoken: Spoken) -> None:
    """What is pushed is in the folder, and comes back."""
    answer = spoken.results["push:org/pushed"]
    assert answer.get("result") == [[number, f"pushed {number}"] for number in range(50)], answer
    files = repository("pushed", spoken.root)
    assert files.pop("a/b.txt") == hashlib.sha256(b"by hand\n" * 9).hexdigest()
    tables = [path for path in files if path.endswith(".parquet")]
    rows = [pyarrow.parquet.read_table(spoken.root / "datasets/org/pushed" / path).num_rows for path in tables]
    assert sum(rows) == 50
    assert not list((spoken.root / ".objects").iterdir()), "what was uploaded stands in the commit"


def test_every_client_that_knows_xet_pushes_through_it(spoken: Spoken) -> None:
    """Storage is written by the client itself; what is committed is in the folder all the same."""
    answer = spoken.results["push:org/by-xet"]
    assert answer.get("result") == [[number, f"pushed {number}"] for number in range(50)], answer
    endpoints = {request.endpoint for request in spoken.requests["push:org/by-xet"]}
    assert ("xet-write-token" in endpoints) == ("lfs-put" not in endpoints) == (spoken.stack != NO_XET)
    assert [path for path in repository("by-xet", spoken.root) if path.endswith(".parquet")]


def test_downloads_use_xet_and_streams_do_not(spoken: Spoken) -> None:
    """Both read the whole repository from a Hub that offers Xet."""
    if "xet" not in met_by(spoken.stack):
        return
    read = {step: {request.endpoint for request in spoken.requests[f"{step}:org/xet"]} for step in READING}
    by_xet = {"xet-read-token", "reconstruction", "xorb"}
    assert read["snapshot"] & (by_xet | {"cdn"}) == ({"cdn"} if spoken.stack == NO_XET else by_xet)
    for step in ("stream", "filesystem"):
        assert "cdn" in read[step]
        assert not read[step] & by_xet


def test_every_request_is_served(spoken: Spoken) -> None:
    """No client of any version asks for something that is not there on purpose."""
    asked = [r for requests in spoken.requests.values() for r in requests if r.endpoint == "unknown"]
    assert not {f"{request.method} {request.path}" for request in asked}


def test_every_request_has_a_process(spoken: Spoken) -> None:
    """Found for every connection; one of a client that is gone at once may be missed."""
    pids = [request.pid for requests in spoken.requests.values() for request in requests]
    assert sum(pid is None for pid in pids) <= 0.02 * len(pids)
