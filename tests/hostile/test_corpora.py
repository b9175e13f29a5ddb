"""A user's files as a corpus: invalid ones get one line with their name and leave no folder; odd ones are read."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beyond_ram.cli import main
from beyond_ram.experiment import inputs
from beyond_ram.experiment.corpora import FilesCorpus

from ..corpora.conftest import Programs

ROW = b'{"text": "words"}\n'
Content = bytes | Callable[[Path], object]


def parquet(table, cut=None):
    def write(path):
        pq.write_table(table, path)
        path.write_bytes(path.read_bytes()[:cut])

    return write


def sparse(size):
    """A file of one long line that takes no disk space."""

    def write(path):
        path.touch()
        os.truncate(path, size)

    return write


def link(to):
    return lambda path: path.symlink_to(to)


WORDS = pa.table({"text": ["words"]})
# File, content, changes of the spec, and expected message.
REFUSED = {
    "empty text": ("a.txt", b"", {}, "the source holds no document"),
    "only rows without text": ("a.jsonl", b'{"text": ""}\n{"text": null}\n', {}, "the source holds no document"),
    "a directory": ("a.txt", Path.mkdir, {}, "'a.txt' matches no file"),
    "a link to nowhere": ("a.txt", link("gone"), {}, "'a.txt' matches no file"),
    "a pipe": ("a.txt", os.mkfifo, {}, "'a.txt' matches no file"),
    "text not UTF-8": ("a.txt", b"abc\xff", {}, "a.txt is not UTF-8 (byte 3: 0xff)"),
    "a line not UTF-8": ("a.jsonl", ROW + b'{"text": "\xe9"}\n', {}, "a.jsonl, line 2 is not UTF-8"),
    "NUL between rows": ("a.jsonl", ROW + b"\0\n" + ROW, {}, "a.jsonl, line 2 is not JSON"),
    "a byte order mark": ("a.jsonl", b"\xef\xbb\xbf" + ROW, {}, "a.jsonl, line 1 is not JSON"),
    "a list": ("a.jsonl", b"[1]\n", {}, "a.jsonl, line 1 holds list; it has to be an object"),
    "a cut line": ("a.jsonl", ROW + b'{"text": "wor', {}, "a.jsonl, line 2 is not JSON"),
    "a row without the column": ("a.jsonl", ROW + b'{"txt": "a"}\n', {}, "a.jsonl, line 2 has no column 'text'"),
    "a number as text": ("a.jsonl", b'{"text": 5}\n', {}, "a.jsonl, line 1 holds int, not text"),
    "half a pair": ("a.jsonl", b'{"text": "\\ud800"}\n', {}, "half of a surrogate pair"),
    "a number too long": ("a.jsonl", b'{"text": ' + b"9" * 5000 + b"}\n", {}, "a.jsonl, line 1 is not JSON"),
    "CSV of nothing": ("a.csv", b"", {}, "a.csv has no column 'text'"),
    "CSV of a header": ("a.csv", b"text\n", {}, "the source holds no document"),
    "CSV with two of a name": ("a.csv", b"text,text\na,b\n", {}, "a.csv has 2 columns 'text'"),
    "CSV with an open quote": ("a.csv", b'text\n"words\n', {}, "a.csv, line 2 is not CSV"),
    "CSV with a quote inside": ("a.csv", b'text\n"a"b\n', {}, "a.csv, line 2 is not CSV"),
    "CSV not UTF-8": ("a.csv", b"text\nwords\n\xff\n", {}, "a.csv, line 3 is not UTF-8"),
    "CSV of other columns": ("a.csv", b"a;text\n1;b\n", {}, "a.csv has no column 'text' (text_column); it has: a;text"),
    "no gzip": ("a.txt.gz", b"words", {}, "a.txt.gz cannot be read as txt"),
    "a cut gzip": ("a.txt.gz", gzip.compress(b"words" * 999)[:-9], {}, "a.txt.gz cannot be read as txt"),
    "more behind a gzip": ("a.txt.gz", gzip.compress(b"words") + b"x", {}, "a.txt.gz cannot be read as txt"),
    "no Parquet": ("a.parquet", b"words", {}, "a.parquet cannot be read as parquet"),
    "a cut Parquet": ("a.parquet", parquet(WORDS, -9), {}, "a.parquet cannot be read as parquet"),
    "Parquet of no rows": ("a.parquet", parquet(WORDS.slice(0, 0)), {}, "the source holds no document"),
    "Parquet of numbers": ("a.parquet", parquet(pa.table({"text": [1]})), {}, "a.parquet holds int, not text"),
    "Parquet of bytes": ("a.parquet", parquet(pa.table({"text": [b"\xff"]})), {}, "a.parquet holds bytes, not text"),
    "Parquet with two of a name": (
        "a.parquet", parquet(pa.Table.from_arrays([WORDS["text"]] * 2, names=["text"] * 2)), {},
        "a.parquet has 2 columns 'text'",
    ),
    "Parquet as JSON Lines": ("a.jsonl", parquet(WORDS), {}, "a.jsonl, line 1 is not"),
    "no Arrow": ("a.arrow", b"words", {}, "a.arrow cannot be read as arrow"),
    "an ending that says nothing": ("a.doc", b"words", {}, 'a.doc ends in none of'),
    "a name that is no UTF-8": ("\udcff.txt", b"words", {"glob": "*.txt"}, "half of a surrogate pair"),
}  # fmt: skip


@pytest.fixture
def programs(tmp_path):
    """Programs run by this interpreter: reading files needs no library but pyarrow."""
    return Programs(Path(sys.executable), tmp_path)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content) if isinstance(content, bytes) else content(path)


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_invalid_corpus_gets_one_line(programs, case):
    name, content, change, message = REFUSED[case]
    write(programs.work, name, content)
    assert message in programs.refused({"source": "files", "glob": name, **change})


@pytest.mark.slow
def test_invalid_corpus_leaves_no_folder(programs, monkeypatch, capfd):
    write(programs.work, "a.txt", b"abc\xff")
    monkeypatch.chdir(programs.work)
    out = programs.work / "refused"
    program = programs.program({"source": "files", "glob": "a.txt"}, out.name)
    status = main(["make", "--out", str(out), "--", *program])
    done = subprocess.CompletedProcess((), status, "", capfd.readouterr().err)
    assert "a.txt is not UTF-8 (byte 3: 0xff)" in programs.one_line(done, out)
    assert {path.name for path in programs.work.iterdir() if not path.name.startswith("spec-")} == {"a.txt"}


@pytest.mark.slow
@pytest.mark.end_to_end
def test_line_that_does_not_fit_into_memory_is_reported(programs):
    """A line of a gigabyte, under a smaller limit."""
    for name in ("a.jsonl", "a.txt", "a.csv"):
        write(programs.work, name, sparse(1 << 30))
        out = programs.work / "refused"
        command = programs.command({"source": "files", "glob": name}, out)
        done = programs.run(["prlimit", f"--as={500 << 20}", *command])
        assert f"{name} cannot be read as {name[2:]} (it does not fit into memory" in programs.one_line(done, out)


NAMES = [
    "a b",
    "a'b",
    'a"b',
    "a\nb",
    "größe",
    "-x",
    "--out",
    "$(touch PWNED)",
    "a;b",
    "a[b]",
    "*",
    "\u202egnp",
    "a" * 240,
]


@pytest.mark.slow
def test_file_with_any_name_is_read(programs):
    for name in NAMES:
        (programs.work / f"{name}.jsonl").write_bytes(ROW)
    corpus = programs.prepare({"source": "files", "glob": "*.jsonl", "documents_per_file": 99})
    assert {row["label"] for row in corpus.rows()} == {f"{name}.jsonl" for name in NAMES}
    assert not (programs.work / "PWNED").exists()


def test_odd_text_is_kept_as_it_is(programs):
    texts = ["\0", "\u2028", "\ufeffx", "</script>", "\U0010ffff", " ", "\r\n", '"' * 9]
    lines = [json.dumps({"text": text, "other": 1}) + "\n" for text in texts]
    lines += ['{"text": 1, "text": "the last of two counts"}\n']
    (programs.work / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    corpus = programs.prepare({"source": "files", "glob": "a.jsonl", "documents_per_file": 99})
    assert [row["text"] for row in corpus.rows()] == [*texts, "the last of two counts"]


def spec(**change):
    return FilesCorpus.model_validate(
        {"source": "files", "glob": "**/*.txt", "tokenizer": {"train": "byte-level", "entries": 600}} | change
    )


def test_circular_links_are_reported_before_they_are_followed(tmp_path, monkeypatch):
    """Following two of them would give 2^40 paths."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one.txt").write_text("words")
    (tmp_path / "far").symlink_to("a")
    assert inputs.corpus(spec()) is None
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "a" / "b" / "higher").symlink_to("../..")
    message = inputs.corpus(spec())
    assert message
    assert "is a link to a folder above it" in message
    assert inputs.corpus(spec(glob="a/*/*.txt")) is None
    assert inputs.corpus(spec(glob=str(tmp_path / "**" / "*.txt")))
