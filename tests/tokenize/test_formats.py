"""Tokenizers of other kinds: the message has a command that converts or downloads them."""

import ast
import shlex

import pytest

from beyond_ram.tokenize.formats import tokenizer_file


def test_tokenizer_json_is_found_in_its_folder(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    assert tokenizer_file(str(tmp_path)) == tokenizer_file(str(tmp_path / "tokenizer.json"))


def refusal(name):
    with pytest.raises(ValueError, match="--tokenizer") as error:
        tokenizer_file(name)
    (line,) = str(error.value).splitlines()
    return line


def strings(line):
    """Return the strings in the Python code of a printed shell command."""
    words = shlex.split(line[line.index("python -c") :].rpartition(", then")[0])
    constants = [node.value for node in ast.walk(ast.parse(words[2])) if isinstance(node, ast.Constant)]
    return {value for value in constants if isinstance(value, str)}


@pytest.mark.parametrize("file_name", ["spiece.model", "tokenizer.model", "vocab.json"])
def test_slow_tokenizer_gets_a_command_that_converts_it(file_name, tmp_path):
    folder = tmp_path / 'it\'s "one" $HOME'
    folder.mkdir()
    (folder / file_name).write_text("x")
    for name in [str(folder), *([str(folder / file_name)] if file_name.endswith(".model") else [])]:
        assert str(folder) in strings(refusal(name))


@pytest.mark.parametrize("name", ["cl100k_base", "tiktoken:o200k_base"])
def test_tiktoken_encoding_gets_a_command_that_converts_it(name):
    assert name.removeprefix("tiktoken:") in strings(refusal(name))


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2"])
def test_hub_name_gets_a_command_that_downloads_it(name):
    assert f"hf download {name} tokenizer.json" in refusal(name)


def test_other_paths_get_no_command(tmp_path):
    for name in (str(tmp_path), str(tmp_path / "gone.json"), "a b"):
        assert "convert" not in refusal(name) and "hf download" not in refusal(name)
