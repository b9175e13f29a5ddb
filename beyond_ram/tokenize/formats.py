"""The tokenizer file to read, and for other formats the command that makes it."""

import json
import re
import shlex
from pathlib import Path

FILE = "tokenizer.json"
_SLOW = (".model", ".spm", ".vocab", ".bpe")
_OF_SLOW = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt", "merges.txt")
_HUB = re.compile(r"(?:[\w.-]+/)?[\w.-]+")
# Encodings of tiktoken, by name.
_TIKTOKEN = ("cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "p50k_edit", "r50k_base")


def tokenizer_file(name: str) -> Path:
    """The tokenizer.json of a file or folder. Raises ValueError with the command that converts another kind."""
    path = Path(name).expanduser()
    file = path / FILE if path.is_dir() else path
    if file.is_file() and not _is_slow(file):
        return file
    raise ValueError(f"--tokenizer {name}: no {FILE} there{_instead(name, path)}")


def _is_slow(path: Path) -> bool:
    return path.suffix in (*_SLOW, ".tiktoken")


def _instead(name: str, path: Path) -> str:
    if path.is_dir() and any((path / one).is_file() for one in _OF_SLOW):
        return f", but a slow tokenizer; convert it: {_saved(path)}, then --tokenizer tokenizer"
    if path.is_dir():
        return ""
    if name.removeprefix("tiktoken:") in _TIKTOKEN:
        convert = (
            "from transformers.integrations.tiktoken import convert_tiktoken_to_fast as to; import tiktoken; "
            f'to(tiktoken.get_encoding("{name.removeprefix("tiktoken:")}"), "tokenizer")'
        )
        return f"; convert this encoding of tiktoken: python -c {shlex.quote(convert)}, then --tokenizer tokenizer"
    if path.is_file() and path.suffix == ".tiktoken":
        return f", but a file of tiktoken; convert its folder: {_saved(path.parent)}, then --tokenizer tokenizer"
    if path.is_file():
        return f", but a slow tokenizer; convert its folder: {_saved(path.parent)}, then --tokenizer tokenizer"
    if _HUB.fullmatch(name) and path.suffix != ".json":
        fetch = f"hf download {name} {FILE} --local-dir tokenizer"
        return f"; if it is one of the Hub: {fetch}, then --tokenizer tokenizer"
    return ""


def _saved(folder: Path) -> str:
    made = f"AutoTokenizer.from_pretrained({json.dumps(str(folder))})"
    code = f'import transformers as t; t.{made}.save_pretrained("tokenizer")'  # no quote that a shell has to escape
    return f"python -c {shlex.quote(code)}"
