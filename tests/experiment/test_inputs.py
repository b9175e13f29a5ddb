"""Files that a config names are checked before anything runs; a fault gives the config's file and key."""

import numpy
import pyarrow as pa
import pytest
import yaml

from beyond_ram.experiment import ConfigError, load

from ..conftest import ROOT

MODULE = "SHUFFLE = 'rows'\ndef make(folder, how): ...\n"


def message_of(tmp_path, **config):
    """The fault of a config, or nothing if it can run."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(config))
    try:
        load({"folder": str(tmp_path), "corpora": {}, **config}, [mine], ROOT)
    except ConfigError as error:
        return str(error).removeprefix(f"{mine}, ")
    return ""


def tokens(tmp_path, **dataset):
    experiment = {"workload": "load", "matrix": {"stack": ["loaders"], "tokens": ["mine"], "loader": ["threads"]}}
    return message_of(tmp_path, tokens={"mine": dataset}, experiments={"x": experiment})


def cells_of(tmp_path, loaders, tokens, matrix):
    """The cells of an experiment with loaders."""
    experiments = {"x": {"workload": "load", "matrix": {"stack": ["loaders"], **matrix}}}
    config = {"folder": str(tmp_path), "loaders": loaders, "tokens": tokens, "experiments": experiments}
    return load(config, [], ROOT).cells("x")


def own(tmp_path, tokens=None, more=None, **loader):
    matrix = {"stack": ["loaders"], "loader": ["mine"], "tokens": tokens or ["none"]} | (more or {})
    return message_of(
        tmp_path,
        loaders={"mine": loader},
        tokens={"few": {"rows": 10}},
        experiments={"x": {"workload": "load", "matrix": matrix}},
    )


def corpus(tmp_path, num_files=1, **keys):
    spec = {"source": "files", "tokenizer": {"train": "byte-level"}, **keys}
    matrix = {"stack": ["current"], "corpus": ["mine"], "num_files": [num_files]}
    return message_of(tmp_path, corpora={"mine": spec}, experiments={"x": {"workload": "tokenize", "matrix": matrix}})


def test_a_token_file_has_rows_of_whole_numbers(tmp_path):
    ids = numpy.arange(120, dtype="i4").reshape(10, 12)
    for name, array in {
        "good": ids, "flat": ids.ravel(), "floats": ids.astype("f4"), "columns": numpy.asfortranarray(ids),
        "cube": ids.reshape(2, 5, 12), "empty": ids[:0],
    }.items():  # fmt: skip
        numpy.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-1])
    ids.astype("u2").tofile(tmp_path / "ids.bin")

    assert tokens(tmp_path, path="good.npy") == ""
    assert tokens(tmp_path, path="good.npy", rows=10) == ""
    assert tokens(tmp_path, path="ids.bin", dtype="uint16", width=12) == ""
    for keys, words in (
        ({"path": "god.npy"}, "tokens.mine.path: there is no file "),
        ({"path": "good.npy", "rows": 11}, "good.npy has 10 rows, and 11 are asked for"),
        ({"path": "good.npy", "width": 6}, "an .npy file neither"),
        ({"path": "flat.npy"}, "holds int32 of shape (120,); it has to"),
        ({"path": "floats.npy"}, "holds float32 of shape (10, 12); it has to"),
        ({"path": "columns.npy"}, "holds int32 of shape (10, 12), column after column; it has to"),
        ({"path": "cube.npy"}, "holds int32 of shape (2, 5, 12); it has to"),
        ({"path": "empty.npy"}, "tokens.mine.path: "),
        ({"path": "cut.npy"}, "is no .npy file that can be mapped"),
        ({"path": "ids.bin"}, "of a file without a header give `dtype` and `width`"),
        ({"path": "ids.bin", "dtype": "uint16"}, "needs `dtype` and `width`"),
        ({"path": "ids.bin", "dtype": "uint16", "width": 500}, "holds no whole row"),
        ({"rows": 3, "dtype": "uint16"}, "dtype goes with `path`"),
        ({"rows": 3, "width": 7}, "generated rows have an even number of ids"),
        ({}, "key 'rows' is missing"),
    ):
        message = tokens(tmp_path, **keys)
        assert words in message, (keys, message)
        assert "\n" not in message


def test_own_loader_must_be_readable(tmp_path):
    numpy.save(tmp_path / "good.npy", numpy.zeros((10, 12)))
    (tmp_path / "good.py").write_text(MODULE)
    (tmp_path / "good.txt").write_text(MODULE)
    (tmp_path / "half.py").write_text("def make(folder, how): ...")
    (tmp_path / "bad.py").write_text("def make(:")
    assert own(tmp_path, module="good.py", data="good.npy", rows=10) == ""
    assert own(tmp_path, ["few"], module="good.py") == ""
    for tokens, keys, words in (
        (None, {"module": "god.py", "data": "good.npy"}, "loaders.mine.module: there is no file "),
        (None, {"module": "half.py", "data": "good.npy"}, "half.py has no SHUFFLE"),
        (None, {"module": "good.txt", "data": "good.npy"}, "good.txt: a module has to end in .py"),
        (None, {"module": "bad.py", "data": "good.npy"}, "bad.py is not Python: "),
        (None, {"module": "good.py", "data": "god.npy"}, "loaders.mine.data: there is no "),
        (None, {"module": "good.py"}, "experiments.x.matrix.tokens: loader 'mine' reads a token dataset, and none"),
        (["few"], {"module": "good.py", "rows": 11}, "rows goes with `data`"),
        (["few"], {"module": "good.py", "format": "nyp"}, "no format 'nyp'; did you mean 'npy'?"),
    ):
        assert words in own(tmp_path, tokens, **keys), (keys, own(tmp_path, tokens, **keys))


def test_loader_with_its_own_data_gets_no_token_dataset(tmp_path):
    numpy.save(tmp_path / "mine.npy", numpy.zeros((10, 12)))
    (tmp_path / "mine.py").write_text(MODULE)
    loaders = {"mine": {"module": "mine.py", "data": "mine.npy"}, "other": {"module": "mine.py"}}
    matrix = {"loader": [*loaders, "threads"], "tokens": ["few", "more"]}
    cells = cells_of(tmp_path, loaders, {"few": {"rows": 10}, "more": {"rows": 20}}, matrix)
    assert sorted((cell["loader"], cell["tokens"]) for cell in cells) == [
        ("mine", "none"), ("other", "few"), ("other", "more"), ("threads", "few"), ("threads", "more"),
    ]  # fmt: skip


def test_corpus_must_have_readable_files(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n\n' * 3)
    (tmp_path / "b.csv").write_text("text\na\nb\n")
    (tmp_path / "c.txt").write_text("a")
    (tmp_path / "d.txt").write_text("a")
    (tmp_path / "e.log").write_text("a")
    (tmp_path / "f.tsv.zst").write_bytes(pa.compress(b"text\na\nb\n", codec="zstd", asbytes=True))
    (tmp_path / "g.parquet.gz").write_text("a")
    (tmp_path / "tokenizer").mkdir()
    assert corpus(tmp_path, 3, glob="*.jsonl") == ""
    assert corpus(tmp_path, 2, glob="*.zst") == ""
    assert corpus(tmp_path, 2, glob="*.jsonl", documents_per_file=2) == ""
    assert corpus(tmp_path, 2, glob=["c.*", "d.*"]) == ""
    for num_files, keys, words in (
        (1, {"glob": "*.json"}, "corpora.mine.glob: "),
        (1, {"glob": ["*.jsonl", "*.parquet"]}, "matches no file"),
        (1, {"glob": "e.*"}, "e.log ends in none of "),
        (1, {"glob": "g.*"}, "g.parquet.gz ends in none of "),
        (1, {"glob": "*.txt", "tokenizer": {"path": "tokenizer"}}, "corpora.mine.tokenizer.path: there is no file "),
    ):
        assert words in corpus(tmp_path, num_files, **keys), (keys, corpus(tmp_path, num_files, **keys))


def test_corpus_of_a_script_is_checked(tmp_path):
    (tmp_path / "own.py").touch()
    matrix = {"stack": ["current"], "script": ["own"]}
    fault = message_of(
        tmp_path,
        corpora={"mine": {"source": "files", "glob": "not there", "tokenizer": {"train": "byte-level"}}},
        scripts={"own": {"file": "own.py", "corpus": "mine"}},
        experiments={"x": {"workload": "script", "matrix": matrix}},
    )
    assert fault.startswith("corpora.mine.glob: ")


def test_inputs_that_no_run_needs_are_not_checked(tmp_path):
    matrix = {"stack": ["loaders"], "tokens": ["few"], "loader": ["threads"]}
    assert not message_of(
        tmp_path,
        tokens={"few": {"rows": 2}, "mine": {"path": "not there.npy"}},
        loaders={"mine": {"module": "not there.py", "data": "not there"}},
        corpora={"mine": {"source": "files", "glob": "not there", "tokenizer": {"path": "not there"}}},
        experiments={"x": {"workload": "load", "matrix": matrix}},
    )


@pytest.mark.parametrize("role", ["baselines", "candidates"])
def test_comparison_must_name_existing_stacks(tmp_path, role):
    comparison = {"baselines": ["current"], "candidates": ["current"], role: ["curent"]}
    message = message_of(tmp_path, comparisons={"mine": comparison}, experiments={"x": None})
    assert message.startswith(f"comparisons.mine.{role}: no stack 'curent' in envs/; did you mean 'current'?")
