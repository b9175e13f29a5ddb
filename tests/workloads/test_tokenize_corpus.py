"""Tokenisation with real stacks: the same ids from each, by whatever its tokenizers has; what it has not is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .encoding import checked, ran, reason

pytestmark = pytest.mark.slow

# Today's, and a prerelease of tokenizers, which has no transformers beside it.
STACKS = ("current", "next")
MODES = ["--mode basic", "--mode shard --shards 3", "--mode flat", "--mode basic --reader load_dataset --batch-size 3"]


def test_every_stack_gives_the_same_ids_in_every_mode(corpus: Path, tmp_path: Path) -> None:
    found, told, encoders = {}, {}, {}
    for stack in STACKS:
        for number, mode in enumerate(MODES):
            work = tmp_path / f"{stack}-{number}"
            events = ran(stack, "tokenize_corpus.py", work, corpus, *mode.split())
            if why := reason(events):
                told[stack, mode] = why
                continue
            found[stack, mode] = checked(work, corpus)
            (encoders[stack, mode],) = (event["encoder"] for event in events if event["event"] == "baseline")
    assert len({json.dumps(one) for one in found.values()}) == 1, found
    assert next(iter(found.values()))["tokens"] > 5000
    assert {mode for _, mode in told} <= {"--mode flat"}, told
    assert encoders["current", "--mode basic"] == "transformers"
    assert all(encoders[one, MODES[0]] for one in STACKS)


def test_a_reader_of_files_calls_no_generator(corpus: Path, tmp_path: Path) -> None:
    ran("current", "tokenize_corpus.py", tmp_path / "w", corpus, "--mode", "basic", "--reader", "load_dataset")
    assert list((tmp_path / "w/cache").glob("json/*"))
    assert not list((tmp_path / "w/cache").glob("generator*"))


@pytest.mark.parametrize(
    "remedy", ["no-tokenizer-cache", "clear-tokenizer-cache", "ids-int16", "keep-in-memory", "process-per-shard"]
)
def test_a_remedy_works_with_a_tokenizer_alone_or_says_why_it_cannot(corpus: Path, tmp_path: Path, remedy: str) -> None:
    flags = ["--mode", "shard", "--shards", "2", "--num-files", "9", "--remedy", remedy]
    wanted = ran("current", "tokenize_corpus.py", tmp_path / "current", corpus, *flags)
    found = ran("next", "tokenize_corpus.py", tmp_path / "next", corpus, *flags)
    assert reason(wanted) is None
    if why := reason(found):
        assert why.startswith("this release of tokenizers")
        assert "tokenizer-cache" in remedy
    else:
        assert checked(tmp_path / "next", corpus) == checked(tmp_path / "current", corpus)


def test_a_second_run_finds_what_a_tokenizer_alone_had_mapped(corpus: Path, tmp_path: Path) -> None:
    flags = ["--mode", "shard", "--shards", "2", "--num-files", "9"]
    ran("next", "tokenize_corpus.py", tmp_path / "w", corpus, *flags)
    both = ran("next", "tokenize_corpus.py", tmp_path / "w", corpus, *flags)
    shards = [event["from_cache"] for event in both if event["event"] == "shard"]
    assert shards == [False, False, True, True]
