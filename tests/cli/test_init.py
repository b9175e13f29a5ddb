"""`beyond-ram init` writes a config for a folder of text, which the workflow accepts."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from beyond_ram.cli import main
from beyond_ram.experiment import Config, inputs
from beyond_ram.experiment.corpora import FORMATS

from ..conftest import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def init(*words):
    assert main(["init", "data", *words]) == 0
    return Config.model_validate(yaml.safe_load(Path("beyond-ram.yaml").read_text()))


def test_rows_are_counted_and_the_longest_column_is_the_text(folder):
    rows = [{"id": str(n), "body": "a long text " * 9} for n in range(41)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "a.jsonl.zst").write_bytes(pa.compress(lines.encode(), codec="zstd", asbytes=True))
    pq.write_table(pa.Table.from_pylist(rows), folder / "b.parquet")
    (folder / "empty.txt").touch()
    (folder / "other.pdf").write_text("x")
    config = init()
    corpus = config.corpora["mine"]
    assert [Path(file).name for file in corpus.glob] == ["a.jsonl.zst", "b.parquet"]
    assert corpus.text_column == "body"
    assert inputs.corpus(corpus) is None, "the workflow refuses the corpus"
    assert corpus.documents_per_file == 82 // 16
    assert max(config.experiments["growth"].matrix.num_files) == 17, "the last file has the last two documents"
    assert corpus.tokenizer.train == "byte-level"


@pytest.mark.parametrize(("tokenizer", "attribute"), [("tok", "path"), ("org/name", "hub")])
def test_tokenizer_is_a_folder_or_a_name(tokenizer, attribute, folder):
    (folder / "a.txt").write_text("one text")
    (folder.parent / "tok").mkdir()
    (folder.parent / "tok" / "tokenizer.json").write_text("{}")
    config = init("--tokenizer", tokenizer)
    assert getattr(config.corpora["mine"].tokenizer, attribute)
    (experiment,) = config.experiments.values()
    assert list(experiment.matrix.num_files) == [1]


def test_mistakes_get_one_line_and_write_nothing(folder, capsys):
    (folder / "a.pdf").write_text("x")
    assert main(["init", "data"]) == 2
    assert main(["init", "data/a.pdf"]) == 2
    (folder / "a.jsonl").write_text("{")
    assert main(["init", "data"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 and "its folder" in lines[1]
    assert not Path("beyond-ram.yaml").exists()
    Path("beyond-ram.yaml").write_text("mine")
    (folder / "a.jsonl").write_text('{"text": "x"}\n')
    assert main(["init", "data"]) == 2
    assert Path("beyond-ram.yaml").read_text() == "mine"


def test_tokenize_and_init_read_the_same_files():
    text = (ROOT / "beyond_ram/tokenize/engine/inventory.py").read_text()
    endings = text[text.index("\nENDS = {") :].partition("}")[0]
    assert {*FORMATS} == {part.split('"')[1] for part in endings.splitlines() if '": "' in part}
