"""A corpus of hard texts, and the programs that tokenise it, by the stacks' own interpreters."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from beyond_ram.experiment.events import faults

from ..conftest import ROOT, interpreter

WORKLOADS = ROOT / "scripts/workloads"
SPECS = {"characters": {"train": "characters", "entries": 700}, "byte-level": {"train": "byte-level", "entries": 700}}


def texts(kind: str) -> list[str]:
    """What is hard: white space, what a normalizer changes, special entries, an empty text, a long run, a long text."""
    letters, chance = "".join(chr(0x2A00 + at) for at in range(256)), random.Random(1)
    words = ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(300)]
    if kind == "byte-level":
        words = [word.lower() for path in sorted(WORKLOADS.glob("s*.py")) for word in path.read_text().split()]
    hard = ["", " ", "a b", "  two  blanks ", "ﬁ é e\u0301", "line\nnext\ttab \u2028", "⨀" * 3000]
    return [*hard, *(" ".join(chance.choices(words, k=200)) for _ in range(6)), "".join(chance.choices(words, k=9000))]


def make(folder: Path, kind: str) -> Path:
    """A corpus with its tokenizer."""
    (folder / "files").mkdir()
    files = []
    for number, text in enumerate(texts(kind)):
        path = folder / f"files/{number:06}.jsonl"
        path.write_text(json.dumps({"text": text, "label": "a"}) + "\n")
        files.append(
            {"path": f"files/{path.name}", "documents": 1, "text_bytes": len(text.encode())} | {"characters": len(text)}
        )
    (folder / "manifest.json").write_text(
        json.dumps({"name": "hard", "source": "files", "spec": {}, "sha256": "", "files": files})
    )
    (folder / "spec.json").write_text(json.dumps(SPECS[kind]))
    command = [interpreter("corpora"), ROOT / "scripts/corpora/tokenizer.py", "--spec", folder / "spec.json"]
    subprocess.run([*command, "--corpus", folder, "--out", folder / "tokenizer"], check=True, capture_output=True)
    return folder


def ran(stack: str, program: str, work: Path, corpus: Path, *words: str) -> list[dict[str, Any]]:
    """The events of a run, which ends well."""
    events = work.with_suffix(".events")
    command = [interpreter(stack), WORKLOADS / program, "--corpus", corpus, "--work-dir", work, *words]
    environment = {**os.environ, "BEYOND_RAM_EVENTS": str(events)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    found = [json.loads(line) for line in events.read_text().splitlines()]
    assert not [fault for event in found for fault in faults(event)]
    return found


def checked(work: Path, corpus: Path) -> dict[str, Any]:
    """What the program says of its finished run; reading ids takes no stack."""
    command = [sys.executable, WORKLOADS / "tokenize_corpus.py", "--corpus", corpus, "--work-dir", work, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def reason(events: list[dict[str, Any]]) -> str | None:
    return next((event["reason"] for event in events if event["event"] == "not_applicable"), None)
