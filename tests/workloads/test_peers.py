"""Other programs that turn text into files of ids: they give the ids of mode `engine`, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from beyond_ram.experiment import tokens

from ..conftest import ROOT, interpreter
from .encoding import check, make, reason, run

pytestmark = pytest.mark.slow

# Peers whose stacks are quick to build and import; config/tokenizers.yaml runs all.
SMALL = ("encode_batch", "polars", "duckdb", "datatrove")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("peers"), "byte-level")


def test_every_peer_defines_the_required_names() -> None:
    assert set(SMALL) < set(tokens.names_in(tokens.PEERS, ROOT))
    for name in tokens.names_in(tokens.PEERS, ROOT):
        source = (ROOT / tokens.PEERS / f"{name}.py").read_text()
        assert "\ndef tokenize(how):" in source
        assert "\ndef documents(how):" in source
        assert "\nLIBRARIES = (" in source


@pytest.mark.end_to_end
@pytest.mark.parametrize(("stack", "modes"), [("peers", (*SMALL, "gigatoken")), ("peers-next", SMALL)])
def test_peers_give_the_ids_of_the_engine(words: Path, tmp_path: Path, stack: str, modes: tuple[str, ...]) -> None:
    flags = ("--num-proc", "2", "--batch-size", "4")
    run("encoder", "tokenize_corpus.py", tmp_path / "engine", words, "--mode", "engine", *flags)
    (wanted,) = check(tmp_path / "engine", corpus=words, python=interpreter("encoder"))
    done = {}
    for mode in modes:
        events = run(stack, "tokenize_corpus.py", tmp_path / f"{stack}-{mode}", words, "--mode", mode, *flags)
        if why := reason(events):
            assert (stack, mode) == ("peers-next", "datatrove"), why
            continue
        done[mode] = events
    works = [tmp_path / f"{stack}-{mode}" for mode in done]
    ids_of_works = check(*works, corpus=words, python=interpreter(stack))
    for (mode, events), ids in zip(done.items(), ids_of_works, strict=True):
        left_out = mode == "datatrove"  # the empty document
        assert ids == wanted | {"rows": wanted["rows"] - left_out}, (stack, mode)
        (shard,) = (event for event in events if event["event"] == "shard")
        assert shard["cache_bytes_written"] > 2 * ids["tokens"] * (mode not in ("polars", "duckdb"))


def test_missing_package_and_unsupported_tokenizer_get_a_reason(words: Path, tmp_path: Path) -> None:
    events = run("peers", "tokenize_corpus.py", tmp_path / "none", words, "--mode", "dolma")
    assert reason(events) == "this stack has no dolma"
    metaspace = make(tmp_path / "corpus", "characters") if (tmp_path / "corpus").mkdir() is None else words
    events = run("peers", "tokenize_corpus.py", tmp_path / "panics", metaspace, "--mode", "gigatoken")
    why = reason(events)  # 0.10 panics; a release that takes it gives ids
    assert why is None or why.startswith("gigatoken does not take this tokenizer: ")
