"""What else turns text into files of ids: real libraries give the ids of mode `engine`, or say why they cannot."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from beyond_ram.experiment import tokens

from ..conftest import ROOT, interpreter
from .encoding import WORKLOADS, make, ran, reason

pytestmark = pytest.mark.slow

# Those of stacks that take seconds to build and to import; config/tokenizers.yaml runs all.
SMALL = ("encode_batch", "polars", "duckdb", "datatrove")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("peers"), "byte-level")


def checked(stack: str, work: Path, corpus: Path) -> dict[str, object]:
    """What the program says of its finished run, by the stack that has made it."""
    command = [interpreter(stack), WORKLOADS / "tokenize_corpus.py", "--corpus", corpus, "--work-dir", work, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_every_peer_has_what_the_program_asks_of_it() -> None:
    assert set(SMALL) < set(tokens.peers(ROOT))
    for name in tokens.peers(ROOT):
        source = (ROOT / tokens.PEERS / f"{name}.py").read_text()
        assert "\ndef tokenize(how):" in source
        assert "\ndef documents(how):" in source
        assert "\nLIBRARIES = (" in source


def test_peers_give_the_ids_of_the_engine(words: Path, tmp_path: Path) -> None:
    flags = ("--num-proc", "2", "--batch-size", "4")
    ran("encoder", "tokenize_corpus.py", tmp_path / "engine", words, "--mode", "engine", *flags)
    wanted = checked("encoder", tmp_path / "engine", words)
    for stack, modes in (("peers", (*SMALL, "gigatoken")), ("peers-next", SMALL)):
        for mode in modes:
            work = tmp_path / f"{stack}-{mode}"
            events = ran(stack, "tokenize_corpus.py", work, words, "--mode", mode, *flags)
            if why := reason(events):
                assert (stack, mode) == ("peers-next", "datatrove"), why
                continue
            found = checked(stack, work, words)
            left_out = mode == "datatrove"  # the empty document
            assert found == wanted | {"rows": int(str(wanted["rows"])) - left_out}, (stack, mode)
            (shard,) = (event for event in events if event["event"] == "shard")
            assert shard["cache_bytes_written"] > 2 * int(str(found["tokens"])) * (mode not in ("polars", "duckdb"))


def test_what_a_stack_lacks_or_a_tokenizer_cannot_is_a_reason(words: Path, tmp_path: Path) -> None:
    events = ran("peers", "tokenize_corpus.py", tmp_path / "none", words, "--mode", "dolma")
    assert reason(events) == "this stack has no dolma"
    metaspace = make(tmp_path / "corpus", "characters") if (tmp_path / "corpus").mkdir() is None else words
    events = ran("peers", "tokenize_corpus.py", tmp_path / "panics", metaspace, "--mode", "gigatoken")
    why = reason(events)  # 0.10 panics; a release that takes it gives ids
    assert why is None or why.startswith("gigatoken does not take this tokenizer: ")
