"""A user's files as a corpus: invalid ones get one line with their name and leave no folder; odd ones are read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.cli import main
from beyond_ram.experiment import inputs
from beyond_ram.experiment.corpora import FilesCorpus

from ..corpora.conftest import Programs

ROW = b'{"text": "words"}\n'


def sparse(size):
    """A file of one long line that takes no disk space."""

    def write(path):
        path.touch()
        os.truncate(path, size)

    return write


def link(to):
    return lambda path: path.symlink_to(to)


# File, content, changes of the spec, and expected message. tokenize/engine/test_inputs.py has what its readers refuse.
REFUSED = {
    "empty text": ("a.txt", b"", {}, "the source holds no document"),
    "only rows without text": ("a.jsonl", b'{"text": ""}\n', {}, "the source holds no document"),
    "a directory": ("a.txt", Path.mkdir, {}, "'a.txt' matches no file"),
    "a link to nowhere": ("a.txt", link("gone"), {}, "a.txt: a link that leads nowhere"),
    "a pipe": ("a.txt", os.mkfifo, {}, "'a.txt' matches no file"),
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
    assert "a.txt: not UTF-8 (0xff)" in programs.one_line(done, out)
    assert {path.name for path in programs.work.iterdir() if not path.name.startswith("spec-")} == {"a.txt"}


@pytest.mark.slow
@pytest.mark.end_to_end
def test_line_that_does_not_fit_into_memory_is_reported(programs):
    """A text of a gigabyte, under a smaller limit."""
    write(programs.work, "a.txt", sparse(1 << 30))
    out = programs.work / "refused"
    command = programs.command({"source": "files", "glob": "a.txt"}, out)
    done = programs.run(["prlimit", f"--as={500 << 20}", *command])
    assert "a.txt does not fit into memory" in programs.one_line(done, out)


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


def test_file_under_many_names_is_read_once(programs):
    """And a dataset that `datasets` saved is read if it is whole."""
    (programs.work / "in").mkdir()
    (programs.work / "in" / "a.jsonl").write_bytes(ROW)
    (programs.work / "in" / "b.json").symlink_to("a.jsonl")
    (programs.work / "far").symlink_to("in")
    spec = {"source": "files", "glob": ["*/a.jsonl", "in/**/*.json*"]}
    assert [row["label"] for row in programs.prepare(spec).rows()] == ["a.jsonl"]
    (programs.work / "in" / "state.json").write_text('{"_data_files": [{"filename": "a.jsonl"}]}')
    assert len(programs.prepare(spec, "saved").rows()) == 1
    (programs.work / "in" / "state.json").write_text('{"_data_files": [{"filename": "gone.arrow"}]}')
    assert "state.json names gone.arrow, which does not exist" in programs.refused(spec)
    (programs.work / "in" / "state.json").unlink()
    (programs.work / "in" / "c.txt").symlink_to("a.jsonl")
    assert "are one file, and their endings mean two kinds" in programs.refused(spec | {"glob": "in/*.*"})


def test_odd_text_is_kept_as_it_is(programs):
    texts = ["\0", "\u2028", "\ufeffx", "</script>", "\U0010ffff", " ", "\r\n", '"' * 9]
    lines = [json.dumps({"text": text, "other": 1}) + "\n" for text in texts]
    lines += ['{"text": "the first of two counts", "text": 1}\n']
    (programs.work / "a.jsonl").write_text("".join(lines), encoding="utf-8")
    corpus = programs.prepare({"source": "files", "glob": "a.jsonl", "documents_per_file": 99})
    assert [row["text"] for row in corpus.rows()] == [*texts, "the first of two counts"]


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
