"""Rules for every corpus: its manifest is right, and it appears whole or not at all."""

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .conftest import PROGRAMS

pytestmark = pytest.mark.slow

SMALL = {"source": "synthetic", "documents": 7, "document_characters": [50, 500], "documents_per_file": 3, "seed": 1}
# Hours of work: a test must end it.
ENDLESS = {"source": "synthetic", "documents": 10**9, "document_characters": 10**6}


def test_manifest_counts_the_content_of_the_files(programs):
    corpus = programs.by_rule(SMALL)
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
        assert file["words"] == sum(len(row["text"].split()) for row in rows)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    for key in ("documents", "text_bytes", "characters", "words"):
        assert manifest[key] == sum(file[key] for file in manifest["files"])
    listing = "".join(f"{digest}\n" for digest in corpus.digests())
    assert manifest["sha256"] == hashlib.sha256(listing.encode()).hexdigest()
    names = sorted(path.relative_to(corpus.folder).as_posix() for path in corpus.folder.rglob("*") if path.is_file())
    assert names == [
        ".beyond-ram-made",
        "files/000000.jsonl",
        "files/000001.jsonl",
        "files/000002.jsonl",
        "manifest.json",
    ]


def wait_for_output(process, work):
    """Wait until the program has written a file of its corpus."""
    while not list(work.glob(".corpus.making-*/corpus/files/*.jsonl")):
        assert process.poll() is None


def wait_until(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.end_to_end) for one in (signal.SIGTERM, signal.SIGINT))],
)
def test_killed_run_leaves_no_corpus(programs, number):
    out = programs.work / "corpus"
    # If a shell starts pytest in the background, pytest and its children ignore SIGINT.
    reset_sigint = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(programs.command(ENDLESS, out), preexec_fn=reset_sigint, start_new_session=True)
    try:
        wait_for_output(process, programs.work)
        process.send_signal(number)
        process.wait(timeout=60)
        assert not out.exists()
        # Only SIGKILL prevents cleaning up. The program goes on, and its folder stays.
        assert bool(programs.leftovers(out)) == (number == signal.SIGKILL)
        assert programs.run(programs.command(SMALL, out)).returncode == 0
        assert bool(programs.leftovers(out)) == (number == signal.SIGKILL)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    wait_until(lambda: not alive(process.pid))
    assert programs.by_rule(SMALL).manifest["documents"] == 7, "the next run failed"


def test_lost_spec_gets_one_line(programs):
    out = programs.work / "refused"
    command = programs.command(SMALL, out)
    command[command.index("--spec") + 1] = str(programs.work / "none.json")
    assert "--spec is no file with JSON" in programs.one_line(programs.run(command), out)


def test_program_alone_writes_only_into_an_empty_folder(programs):
    folder = programs.work / "mine"
    folder.mkdir()
    (folder / "precious.txt").write_text("here")
    done = programs.run([*programs.program(SMALL, "mine"), "--out", str(folder)])
    assert done.returncode == 2
    assert "mine is not empty" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["precious.txt"]


# A library that aborts after all files are closed, as threads of Arrow do.
LATE = """
import atexit, os, sys
sys.path.insert(0, sys.argv[1])
import shards
atexit.register(os.abort)
def work():
    if sys.argv[2] == "refused":
        raise shards.SourceError("two words")
shards.exit_with(work, "corpus")
"""


@pytest.mark.parametrize(("end", "status", "line"), [("whole", 0, ""), ("refused", 2, "corpus: two words\n")])
def test_library_that_aborts_at_exit_does_not_fail_the_corpus(end, status, line):
    done = subprocess.run([sys.executable, "-c", LATE, str(PROGRAMS), end], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, line)
