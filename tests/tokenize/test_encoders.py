"""The choice of a stack for a tokenizer, and the message if none can take it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.tokenize import encoders
from tests.conftest import ROOT


@pytest.mark.slow
def test_newest_encoder_that_takes_a_tokenizer_is_chosen(families: dict[str, Path]) -> None:
    first = encoders.choose(families["gpt2"])
    assert (first.stack, first.why) == ("encoder", "")
    assert first.version.startswith("1.") and first.cuts
    older = encoders.choose(families["roberta"])
    assert older.stack == "encoder-0.23" and older.version.startswith("0.23")
    assert "cannot take" in older.why and "roberta.json" in older.why
    assert older.need_per_byte > first.need_per_byte


def test_release_is_found_by_its_beginning() -> None:
    assert encoders.of_release("0.23") == encoders.of_release(encoders.release("encoder-0.23")) == "encoder-0.23"
    assert encoders.of_release("1.0") == "encoder"
    for wrong in ("0.2", "2", "0.23.", "x"):
        with pytest.raises(ValueError, match=f"--tokenizers {wrong}: the releases are"):
            encoders.of_release(wrong)


@pytest.mark.slow
def test_tokenizer_that_no_encoder_takes_is_refused(families: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text('{"no": "tokenizer"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"no tokenizer\.json \(KeyError") as refused:
        encoders.choose(file)
    assert "\n" not in str(refused.value)
    file.write_text(families["gpt2"].read_text(encoding="utf-8").replace('"ByteLevel"', '"New"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizers 1\..*cannot take.*; tokenizers 0\.23.*cannot take") as refused:
        encoders.choose(file)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_tokenizer_with_a_repeated_id_goes_to_the_older_encoder(families: dict[str, Path], tmp_path: Path) -> None:
    """If two entries have the same id, tokenizers 1.0 merges into one of them, not the same in each process."""
    spec = json.loads(families["mistral"].read_text(encoding="utf-8"))
    spec["model"]["vocab"] |= {"twice": 7}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    chosen = encoders.choose(tmp_path / "tokenizer.json")
    assert chosen.stack == "encoder-0.23" and "id 7" in chosen.why and not chosen.cuts


@pytest.mark.slow
def test_long_reason_is_cut(families: dict[str, Path], tmp_path: Path) -> None:
    """tokenizers 1.0 lists every byte that a vocabulary lacks."""
    spec = json.loads(families["gpt2"].read_text(encoding="utf-8"))
    spec["model"] |= {"vocab": {letter: number for number, letter in enumerate("abc")}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    chosen = encoders.choose(tmp_path / "tokenizer.json")
    assert chosen.stack == "encoder-0.23"
    assert len(chosen.why.partition("tokenizer.json: ")[2]) <= 200


def test_installed_package_builds_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "IN_CHECKOUT", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert encoders.place("encoder") == tmp_path / "cache" / "beyond-ram" / "stacks" / "encoder"
    with pytest.raises(ValueError, match="there is no stack 'nothing'"):
        encoders.lock("nothing")


def test_command_imports_nothing_heavy() -> None:
    code = "import sys, beyond_ram.cli, beyond_ram.tokenize; "
    code += "heavy = {'pandas', 'pyarrow', 'numpy', 'pydantic', 'snakemake'}; "
    code += "print(sorted({name.split('.')[0] for name in sys.modules} & heavy))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
