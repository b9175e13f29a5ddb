"""Tokenisation with real stacks: the same ids from each, by whatever its tokenizers has; what it has not is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .encoding import WORKLOADS, checked, ran, reason

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


def test_the_engine_gives_the_same_ids_and_says_how_far_it_is(corpus: Path, tmp_path: Path) -> None:
    ran("current", "tokenize_corpus.py", tmp_path / "map", corpus, "--mode", "basic")
    for stack in ("encoder", "encoder-0.23", "june-2023"):
        for workers in (1, 2):
            work = tmp_path / f"{stack}-{workers}".replace(".", "-")
            flags = ("--mode", "engine", "--num-proc", str(workers))
            events = ran(stack, "tokenize_corpus.py", work, corpus, *flags)
            assert reason(events) is None
            assert checked(work, corpus) == checked(tmp_path / "map", corpus)
            assert json.loads((work / "result.json").read_text())
            (base,) = (event for event in events if event["event"] == "baseline")
            done = [event for event in events if event["event"] == "progress"]
            assert [one["bytes_in"] for one in done] == sorted({one["bytes_in"] for one in done}) and done
            # The tokenizer is in it: more than an interpreter has.
            assert base["anon_bytes"] > 10e6 and done[-1]["anon_bytes"] > 10e6


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


def test_a_corpus_without_a_tokenizer_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    command = [sys.executable, WORKLOADS / "tokenize_corpus.py", "--corpus", tmp_path, "--work-dir", tmp_path / "work"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path}/tokenizer: no folder with a tokenizer")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "work").exists()
