"""Tokenisation with real stacks: each gives the same ids, or a reason."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .encoding import WORKLOADS, check, reason, run, run_each

pytestmark = pytest.mark.slow

# Today's stack, and one with a prerelease of tokenizers and without transformers.
STACKS = ("current", "next")
# Remedies and the cache of files do not depend on the tokenizer. The tests above compare ids.
ONE_KIND = pytest.mark.parametrize("corpus", ["byte-level"], indirect=True)
MODES = ["--mode basic", "--mode shard --shards 3", "--mode basic --reader load_dataset --batch-size 3"]
REMEDIES = ["no-tokenizer-cache", "ids-int16", "keep-in-memory", "process-per-shard"]
Runs = dict[tuple[str, str], tuple[Path, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def mapped(corpus, tmp_path_factory):
    """Return the folder and the events of every mode in every stack."""
    results, folder = {}, tmp_path_factory.mktemp("mapped")
    for stack in STACKS:
        runs = {folder / f"{stack}-{number}": mode.split() for number, mode in enumerate(MODES)}
        events = run_each(stack, "tokenize_corpus.py", corpus, runs)
        results |= {(stack, mode): (work, one) for mode, work, one in zip(MODES, runs, events, strict=True)}
    return results


def test_every_stack_gives_the_same_ids_in_every_mode(corpus, mapped):
    assert [why for _, events in mapped.values() if (why := reason(events))] == []
    first, *others = check(*(work for work, _ in mapped.values()), corpus=corpus)
    assert others == [first] * len(others)
    assert first["tokens"] > 5000
    baselines = {
        one: [event for event in events if event["event"] == "baseline"] for one, (_, events) in mapped.items()
    }
    assert [event["encoder"] for event in baselines["current", MODES[0]]] == ["transformers"]
    assert all(len(baseline) == 1 and baseline[0]["encoder"] for baseline in baselines.values())


def test_mode_that_reads_files_calls_no_generator(mapped):
    work, _ = mapped["current", MODES[-1]]
    assert list((work / "cache").glob("json/*"))
    assert not list((work / "cache").glob("generator*"))


def test_engine_gives_the_same_ids_and_emits_progress(corpus, mapped, tmp_path):
    works = [mapped["current", MODES[0]][0]]
    for stack, workers in (("encoder", 1), ("encoder-0.23", 2), ("june-2023", 1)):
        work = tmp_path / stack.replace(".", "-")
        works.append(work)
        flags = ("--mode", "engine", "--num-proc", str(workers))
        events = run(stack, "tokenize_corpus.py", work, corpus, *flags)
        assert reason(events) is None
        assert json.loads((work / "result.json").read_text())
        (base,) = (event for event in events if event["event"] == "baseline")
        done = [event for event in events if event["event"] == "progress"]
        assert [event["bytes_in"] for event in done] == sorted({event["bytes_in"] for event in done}) and done
        # The tokenizer is loaded: this is more than an interpreter has.
        assert base["anon_bytes"] > 10e6 and done[-1]["anon_bytes"] > 10e6
    wanted, *engine_ids = check(*works, corpus=corpus)
    assert engine_ids == [wanted] * 3


@ONE_KIND
def test_remedies_work_without_transformers_or_give_a_reason(corpus, tmp_path):
    flags = ["--mode", "shard", "--shards", "2", "--num-files", "9", "--remedy"]
    events = {
        stack: run_each(
            stack, "tokenize_corpus.py", corpus, {tmp_path / f"{stack}-{one}": [*flags, one] for one in REMEDIES}
        )
        for stack in ("current", "next")
    }
    works = []
    for remedy, wanted, next_events in zip(REMEDIES, events["current"], events["next"], strict=True):
        assert reason(wanted) is None, remedy
        if why := reason(next_events):
            assert why.startswith("this release of tokenizers")
            assert "tokenizer-cache" in remedy
        else:
            works += [tmp_path / f"next-{remedy}", tmp_path / f"current-{remedy}"]
    done = check(*works, corpus=corpus)
    assert done[::2] == done[1::2], works
    assert len(works) >= 2


@ONE_KIND
def test_second_run_without_transformers_uses_the_cache(corpus, tmp_path):
    flags = ["--mode", "shard", "--shards", "2", "--num-files", "9"]
    run("next", "tokenize_corpus.py", tmp_path / "w", corpus, *flags)
    both = run("next", "tokenize_corpus.py", tmp_path / "w", corpus, *flags)
    shards = [event["from_cache"] for event in both if event["event"] == "shard"]
    assert shards == [False, False, True, True]


def test_corpus_without_a_tokenizer_gets_one_line(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    command = [sys.executable, WORKLOADS / "tokenize_corpus.py", "--corpus", tmp_path, "--work-dir", tmp_path / "work"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path}/tokenizer: no folder with a tokenizer")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "work").exists()
