"""The source `hub` with the real clients and the local endpoint."""

import json
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beyond_ram.hub import Hub

from ..forks.stacks import Stack
from .conftest import Programs

pytestmark = pytest.mark.slow

README = """---
configs:
- config_name: en
  data_files: en/*.parquet
---
"""
SECRET = "hf_" + "s" * 34


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    lines = root / "datasets" / "org" / "lines" / "data"
    tables = root / "datasets" / "org" / "tables"
    lines.mkdir(parents=True)
    (tables / "en").mkdir(parents=True)
    for i in range(3):
        rows = "".join(json.dumps({"text": f"line {i} {j} ä"}) + "\n" for j in range(5))
        (lines / f"train-{i}.jsonl").write_text(rows, encoding="utf-8")
        pq.write_table(pa.table({"body": [f"text {i} {j} ä" for j in range(5)]}), tables / f"en/{i}.parquet")
    (tables / "README.md").write_text(README, encoding="utf-8")
    with Hub(root) as running:
        yield running


@pytest.fixture(scope="module")
def stack(python, hub):
    """Start an interpreter with the clients, which read the Hub's address when they are imported."""
    environment = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    return Stack(python, "datasets", environment=environment)


@pytest.fixture
def programs(python, stack, tmp_path):
    return Programs(python, tmp_path, stack)


@pytest.fixture
def env(hub, tmp_path):
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": SECRET}


def test_rows_of_a_streamed_dataset_become_documents(programs, env):
    spec = {"source": "hub", "id": "org/lines", "documents": 7, "documents_per_file": 3}
    corpus = programs.prepare(spec, **env)
    assert [row["text"] for row in corpus.rows()] == [f"line {i // 5} {i % 5} ä" for i in range(7)]
    assert {row["label"] for row in corpus.rows()} == {"org/lines"}
    assert [file["documents"] for file in corpus.manifest["files"]] == [3, 3, 1]
    assert len(corpus.manifest["notes"]["commit"]) == 40
    for path in corpus.folder.rglob("*.*"):
        assert SECRET not in path.read_text(encoding="utf-8")


def test_config_column_and_revision_are_used(programs, hub, env):
    spec = {"source": "hub", "id": "org/tables", "config": "en", "text_column": "body"}
    with urlopen(f"{hub.url}/api/datasets/org/tables") as answer:
        commit = json.load(answer)["sha"]
    corpus = programs.prepare({**spec, "revision": commit}, "pinned", **env)
    assert [row["text"] for row in corpus.rows()] == [f"text {i} {j} ä" for i in range(3) for j in range(5)]
    assert corpus.manifest["notes"]["commit"] == commit


MISTAKES = {
    "dataset 'org/nothing' cannot be read from http://127.0.0.1": {"id": "org/nothing"},
    "HFValidationError": {"id": "a/b/c"},
    "at revision 'v2' (RevisionNotFoundError": {"revision": "v2"},
    "Bad split: test. Available splits: ['train']": {"split": "test"},
    "has no column 'body' (text_column); it has: text": {"text_column": "body"},
    '"documents" is 99; org/lines (train) has 15': {"documents": 99},
}


def test_mistakes_get_one_line(programs, env):
    for message, change in MISTAKES.items():
        line = programs.refused({"source": "hub", "id": "org/lines", **change}, **env)
        assert message in line
        assert SECRET not in line


def test_unreachable_hub_gets_one_line(programs, env):
    # Port 9 (discard): nothing listens there.
    command = [*programs.program({"source": "hub", "id": "org/lines"}, "refused"), "--out", programs.work / "refused"]
    done = programs.run(command, **{**env, "HF_ENDPOINT": "http://127.0.0.1:9"})
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "dataset 'org/lines' cannot be read from http://127.0.0.1:9 (" in done.stderr
