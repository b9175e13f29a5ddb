"""A corpus of difficult texts, and the programs that tokenise it, run by the stacks' own interpreters."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

from ..conftest import ROOT, forking, interpreter
from .tokens import WORKLOADS, read_events

SPECS = {"characters": {"train": "characters", "entries": 700}, "byte-level": {"train": "byte-level", "entries": 700}}


def texts(kind):
    """Return difficult texts: white space, characters that a normalizer changes, an empty text, a run, a long text."""
    letters, chance = "".join(chr(0x2A00 + at) for at in range(256)), random.Random(1)
    words = ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(300)]
    if kind == "byte-level":
        words = [word.lower() for path in sorted(WORKLOADS.glob("s*.py")) for word in path.read_text().split()]
    hard = ["", " ", "a b", "  two  blanks ", "ﬁ é e\u0301", "line\nnext\ttab \u2028", "⨀" * 3000]
    return [*hard, *(" ".join(chance.choices(words, k=200)) for _ in range(6)), "".join(chance.choices(words, k=9000))]


def make(folder, kind):
    """Make a corpus with its tokenizer."""
    (folder / "files").mkdir()
    files = []
    for number, text in enumerate(texts(kind)):
        path = folder / f"files/{number:06}.jsonl"
        path.write_text(json.dumps({"text": text, "label": "a"}) + "\n")
        files.append(
            {"path": f"files/{path.name}", "documents": 1, "text_bytes": len(text.encode())}
            | {"characters": len(text), "words": len(text.split())}
        )
    (folder / "manifest.json").write_text(
        json.dumps({"name": "hard", "source": "files", "spec": {}, "sha256": "", "files": files})
    )
    (folder / "spec.json").write_text(json.dumps(SPECS[kind]))
    command = [interpreter("corpora"), ROOT / "scripts/corpora/tokenizer.py", "--spec", folder / "spec.json"]
    subprocess.run([*command, "--corpus", folder, "--out", folder / "tokenizer"], check=True, capture_output=True)
    return folder


def run(stack, program, work, corpus, *words):
    """Run a program, which must succeed, and return its events."""
    if stack in SHARED:
        return run_each(stack, program, corpus, {work: list(words)})[0]
    events = work.with_suffix(".events")
    command = [interpreter(stack), WORKLOADS / program, "--corpus", corpus, "--work-dir", work, *words]
    environment = os.environ | {"BEYOND_RAM_EVENTS": str(events)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    return read_events(events)


# The stacks of most runs. A run of another stack has a process of its own.
SHARED = ("current", "next", "peers")
LIBRARIES = ("datasets", "transformers.models.auto.tokenization_auto", "tokenizers")


def run_forks(python, program, works, *words, first=()):
    """Run a program for each of these folders, as forks of an interpreter that has done the slow imports. Events and
    output are beside the folder."""
    stack, running = forking(python, *first), []
    for work, more in zip(works, words, strict=True):
        environment = os.environ | {"BEYOND_RAM_EVENTS": str(work.with_suffix(".events"))}
        running.append(stack.start(WORKLOADS / program, *more, "--work-dir", work, env=environment))
    for work, run in zip(works, running, strict=True):
        assert not run.wait(), run.stderr[-2000:]
        work.with_suffix(".out").write_text(run.stdout)


def run_each(stack, program, corpus, runs):
    """Run a program several times, by work folder with arguments, as forks of one interpreter; return the events."""
    words = [["--corpus", corpus, *more] for more in runs.values()]
    run_forks(interpreter(stack), program, list(runs), *words, first=LIBRARIES)
    return [read_events(work.with_suffix(".events")) for work in runs]


def check(*works, corpus, python=Path(sys.executable)):
    """Check finished runs, and return the program's results. Reading ids of most runs needs no stack."""
    words = ["--corpus", corpus, "--check"]
    libraries = ("pyarrow", "numpy")
    run_forks(python, "tokenize_corpus.py", list(works), *[words] * len(works), first=libraries)
    return [json.loads(work.with_suffix(".out").read_text().splitlines()[-1]) for work in works]


def reason(events):
    return next((event["reason"] for event in events if event["event"] == "not_applicable"), None)
