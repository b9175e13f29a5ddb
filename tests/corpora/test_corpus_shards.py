"""What holds for every corpus: the manifest tells the truth, and a corpus is there whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Programs

SMALL = {"source": "synthetic", "documents": 7, "document_characters": [50, 500], "documents_per_file": 3, "seed": 1}
# Hours of work: whoever starts it has to end it.
ENDLESS = {"source": "synthetic", "documents": 10**9, "document_characters": 10**6}


def test_the_manifest_counts_what_is_in_the_files(programs: Programs) -> None:
    corpus = programs.prepare(SMALL)
    manifest = corpus.manifest
    assert (manifest["name"], manifest["source"], manifest["spec"]) == ("corpus", "synthetic", SMALL)
    assert [file["documents"] for file in manifest["files"]] == [3, 3, 1]
    for file in manifest["files"]:
        content = (corpus.folder / file["path"]).read_bytes()
        rows = [json.loads(line) for line in content.splitlines()]
        assert all(set(row) == {"text", "label"} for row in rows)
        assert file["file_bytes"] == len(content)
        assert file["text_bytes"] == sum(len(row["text"].encode()) for row in rows)
        assert file["characters"] == sum(len(row["text"]) for row in rows)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    for key in ("documents", "text_bytes", "characters"):
        assert manifest[key] == sum(file[key] for file in manifest["files"])
    listing = "".join(f"{digest}\n" for digest in corpus.digests())
    assert manifest["sha256"] == hashlib.sha256(listing.encode()).hexdigest()
    names = sorted(path.relative_to(corpus.folder).as_posix() for path in corpus.folder.rglob("*") if path.is_file())
    assert names == ["files/000000.jsonl", "files/000001.jsonl", "files/000002.jsonl", "manifest.json"]


def test_a_second_run_replaces_the_first(programs: Programs) -> None:
    first = programs.prepare(SMALL).manifest
    second = programs.prepare({**SMALL, "documents": 2}).manifest
    assert len(first["files"]) == 3
    assert len(second["files"]) == 1
    assert not (programs.work / "corpus" / "files" / "000001.jsonl").exists()


def test_a_refused_run_leaves_the_old_corpus(programs: Programs) -> None:
    before = programs.prepare(SMALL).manifest
    done = programs.run(programs.command({**SMALL, "documents": 0}, programs.work / "corpus"))
    assert done.returncode == 2
    assert json.loads((programs.work / "corpus" / "manifest.json").read_text()) == before


def wait_for_output(process: subprocess.Popen[str], work: Path) -> None:
    """Returns once the program has written a file of its corpus."""
    while not list(work.glob(".corpus.partial-*/files/*.jsonl")):
        assert process.poll() is None, process.communicate()[1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_nothing_that_looks_finished(programs: Programs, number: signal.Signals) -> None:
    out = programs.work / "corpus"
    # A shell that starts pytest in the background has it ignore SIGINT, and what it starts inherits that.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(programs.command(ENDLESS, out), stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    try:
        wait_for_output(process, programs.work)
        process.send_signal(number)
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert not out.exists()
    # Only KILL gives no chance to clean up; the next run does.
    assert bool(programs.leftovers(out)) == (number == signal.SIGKILL)
    assert programs.prepare(SMALL).manifest["documents"] == 7


def test_the_folder_of_a_run_that_still_lives_is_left_alone(programs: Programs) -> None:
    alive = programs.work / f".corpus.partial-{os.getpid()}"
    alive.mkdir()
    done = programs.run(programs.command(SMALL, programs.work / "corpus"))
    assert done.returncode == 0
    assert alive.exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"documents": 0}, '"documents" is 0; it has to be a whole number of at least 1'),
        ({"documents": None}, '"documents" is missing'),
        ({"dokuments": 3}, '"dokuments" is not known here; known: source, documents'),
        ({"document_characters": [9, 3]}, "it has to be a number or [low, high]"),
        ({"white_space": "no"}, "\"white_space\" is 'no'; it has to be true or false"),
    ],
)
def test_a_wrong_key_gets_one_line(programs: Programs, change: dict[str, object], told: str) -> None:
    assert told in programs.refused({**SMALL, **change})


def test_other_mistakes_of_the_command_line_get_one_line(programs: Programs) -> None:
    out = programs.work / "refused"
    command = programs.command(SMALL, out)
    command[command.index("--spec") + 1] = "{'source': 1}"
    assert "--spec is not JSON" in programs.one_line(programs.run(command), out)
    command = programs.command(SMALL, out)
    command[2] = str(programs.folder / "python.py")
    assert "this program prepares 'python'" in programs.one_line(programs.run(command), out)
    (programs.work / "file").write_text("here")
    done = programs.run(programs.command(SMALL, programs.work / "file"))
    assert done.returncode == 2
    assert "--out has to name a folder" in done.stderr
