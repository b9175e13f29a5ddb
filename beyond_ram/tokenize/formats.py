"""The tokenizer file to read, and for other formats the command that makes it."""

import json
import re
import shlex
from pathlib import Path

FILE = "tokenizer.json"
_SLOW = (".model", ".spm", ".vocab", ".bpe", ".tiktoken")
_OF_SLOW = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt", "merges.txt")
_HUB = re.compile(r"(?:[\w.-]+/)?[\w.-]+")
# Encodings of tiktoken, by name.
_TIKTOKEN = ("cl100k_base", "o200k_base", "o200k_harmony", "p50k_base", "p50k_edit", "r50k_base")


def tokenizer_file(name: str) -> Path:
    """The tokenizer.json of a file or folder. Raises ValueError with the command that converts another kind."""
    path = Path(name).expanduser()
    file = path / FILE if path.is_dir() else path
    if file.is_file() and file.suffix not in _SLOW:
        return file
    raise ValueError(f"--tokenizer {name}: no {FILE} there{_instead(name, path)}")


def _instead(name: str, path: Path) -> str:
    encoding = name.removeprefix("tiktoken:")
    if path.is_file() or (path.is_dir() and any((path / one).is_file() for one in _OF_SLOW)):
        kind = "a file of tiktoken" if path.suffix == ".tiktoken" else "a slow tokenizer"
        made = f"AutoTokenizer.from_pretrained({json.dumps(str(path.parent if path.is_file() else path))})"
        # No quote that a shell has to escape.
        code = f'import transformers as t; t.{made}.save_pretrained("tokenizer")'
        return f", but {kind}; convert its folder: python -c {shlex.quote(code)}, then --tokenizer tokenizer"
    if encoding in _TIKTOKEN and not path.is_dir():
        code = (
            "from transformers.integrations.tiktoken import convert_tiktoken_to_fast as to; import tiktoken; "
            f'to(tiktoken.get_encoding("{encoding}"), "tokenizer")'
        )
        return f"; convert this encoding of tiktoken: python -c {shlex.quote(code)}, then --tokenizer tokenizer"
    if _HUB.fullmatch(name) and path.suffix != ".json" and not path.is_dir():
        fetch = f"hf download {name} {FILE} --local-dir tokenizer"
        return f"; if it is one of the Hub: {fetch}, then --tokenizer tokenizer"
    return ""
