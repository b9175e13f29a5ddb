"""Tokenizers of other kinds: the line that is printed is run, where the libraries for it are there."""

import ast
import shlex
from pathlib import Path

import pytest

from beyond_ram.tokenize.formats import tokenizer_file


def test_a_tokenizer_json_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    assert tokenizer_file(str(tmp_path)) == tokenizer_file(str(tmp_path / "tokenizer.json"))


def refused(name: str) -> str:
    with pytest.raises(ValueError, match="--tokenizer") as error:
        tokenizer_file(name)
    (line,) = str(error.value).splitlines()
    return line


def strings(line: str) -> set[str]:
    """The texts in the Python code that a line gives to a shell."""
    words = shlex.split(line[line.index("python -c") :].rpartition(", then")[0])
    constants = [node.value for node in ast.walk(ast.parse(words[2])) if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str)}


@pytest.mark.parametrize("file_name", ["spiece.model", "tokenizer.model", "vocab.json"])
def test_a_slow_tokenizer_is_named_and_converted(file_name: str, tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "one" $HOME'
    folder.mkdir()
    (folder / file_name).write_text("x")
    for name in [str(folder), *([str(folder / file_name)] if file_name.endswith(".model") else [])]:
        assert str(folder) in strings(refused(name))


@pytest.mark.parametrize("name", ["cl100k_base", "tiktoken:o200k_base"])
def test_an_encoding_of_tiktoken_is_converted(name: str) -> None:
    assert name.removeprefix("tiktoken:") in strings(refused(name))


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2"])
def test_a_name_of_the_hub_is_fetched(name: str) -> None:
    assert f"hf download {name} tokenizer.json" in refused(name)


def test_what_is_no_tokenizer_is_only_that(tmp_path: Path) -> None:
    for name in (str(tmp_path), str(tmp_path / "gone.json"), "a b"):
        assert "convert" not in refused(name) and "hf download" not in refused(name)
