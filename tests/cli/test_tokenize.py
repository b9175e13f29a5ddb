"""`beyond-ram tokenize`: its outputs, its messages, and refusals in one line."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.tokenize.conftest import families

__all__ = ["families"]  # a session fixture

TEXTS = ["one", "", "two\nlines", "three " * 500]


def beyond_ram(*arguments, cwd):
    command = [sys.executable, "-m", "beyond_ram", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


@pytest.fixture(scope="module")
def tokenizer(families, tmp_path_factory):
    """Create a folder with a byte-level tokenizer, as in a model's folder."""
    folder = tmp_path_factory.mktemp("tokenizer")
    shutil.copyfile(families["gpt2"], folder / "tokenizer.json")
    return folder


@pytest.mark.slow
def test_options_reach_the_engine_and_its_summary_is_printed(tokenizer, tmp_path):
    lines = "".join(json.dumps({"body": text}) + "\n" for text in TEXTS)
    (tmp_path / "data.jsonl").write_text(lines, encoding="utf-8")
    flags = ["--tokenizer", tokenizer, "--out", "out", "--text-column", "body", "--workers", 1, "--memory-limit", "1G"]
    done = beyond_ram("tokenize", "data.jsonl", *flags, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("ids of tokenizers 0.23") and "large documents are cut: ByteLevel" in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["documents"], summary["format"]) == (4, "datasets")


@pytest.mark.slow
def test_older_encoder_can_be_chosen(tokenizer, tmp_path):
    (tmp_path / "a.txt").write_text("one two", encoding="utf-8")
    flags = ("--tokenizer", tokenizer, "--out", "out", "--json", "--stack", "encoder-0.23", "--format", "bin")
    done = beyond_ram("tokenize", "a.txt", *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["encoder"].startswith("tokenizers 0.23")
    again = beyond_ram(
        "tokenize", "a.txt", *flags[:5], "--tokenizers", "0.23", "--format", "bin", "--verify", cwd=tmp_path
    )
    assert again.returncode == 0 and json.loads(again.stdout)["verified"]["documents"] == 1, again.stderr
    assert (tmp_path / "out" / "tokens.bin").stat().st_size == 2 * json.loads(done.stdout)["tokens"]


def test_too_few_addresses_are_refused_before_the_libraries_crash(tmp_path):
    for name in ("a.txt", "tokenizer.json"):
        (tmp_path / name).touch()
    command = [sys.executable, "-m", "beyond_ram", "tokenize", "a.txt", "--tokenizer", ".", "--out", "o"]
    limited = ["sh", "-c", 'ulimit -v 200000; exec "$@"', "sh", *command]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(limited, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    assert done.returncode == 2 and "ulimit -v" in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
def test_empty_and_skipped_files_are_counted(tokenizer, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("one two", encoding="utf-8")
    (data / "b.jsonl").touch()
    for name in ("c.pdf", "d.pdf", "e.md", ".hidden.pdf"):
        (data / name).write_text("x")
    done = beyond_ram("tokenize", data, "--tokenizer", tokenizer, "--out", "out", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["files_read"], summary["files_empty"]) == (2, 1)
    assert summary["files_skipped"] == {".md": 1, ".pdf": 2, "hidden": 1}
    (line,) = done.stdout.splitlines()
    assert all(part in line for part in ("1 document,", "2 files", "1 of them empty", "1 hidden", "2 .pdf")), line
