"""The stacks that encode, and whose ids are given."""

import json
import subprocess
import sys

import pytest

from beyond_ram.tokenize import encoders
from tests.conftest import ROOT
from tests.tokenize.conftest import forks_of, words
from tests.tokenize.documents import json_lines

FAST, NAMED = (f"tokenizers {release}" for release in ("1.0.0-rc.3", "0.23.3"))
STABLE = ("--stack", "encoder-0.23")
NEWER = "\u0c15\u0c4d\u0c3c \u0c15\u0c3c\u0c4d"  # tokenizers 0.23 does not know the class of the last mark


def test_release_is_found_by_its_beginning():
    assert encoders.of_release("0.23") == encoders.of_release(encoders.release("encoder-0.23")) == "encoder-0.23"
    assert encoders.of_release("1.0") == "encoder"
    for wrong in ("0.2", "2", "0.23.", "x"):
        with pytest.raises(ValueError, match=f"--tokenizers {wrong}: the releases are"):
            encoders.of_release(wrong)


@pytest.fixture
def source(tmp_path):
    texts = ["some words", NEWER, f"a line of {NEWER}", "größer ¡中文! 😀 “quoted”", "", "word " * 20_000 + NEWER]
    return json_lines(tmp_path / "texts.jsonl", texts)


@pytest.fixture
def summary(source, tmp_path):
    """Return a function that runs the command over some texts, and returns its summary."""

    def run(tokenizer, *flags, status=0):
        out = tmp_path / f"out-{len([*tmp_path.glob('out-*')])}"
        command = [sys.executable, "-m", "beyond_ram", "tokenize", source, "--out", out, *flags]
        done = subprocess.run(
            [*command, "--tokenizer", tokenizer, "--verify-share", "100"], capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        if status:
            return {"refused": done.stderr}
        content = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        return content | {"messages": done.stderr}

    return run


@pytest.mark.slow
def test_ids_are_those_of_the_stable_release(families, summary):
    """Qwen 2 has NFC, to which the two releases know different marks: three documents have one."""
    both, stable, newest = (summary(families["qwen2"], *flags) for flags in ((), STABLE, ("--tokenizers", "1.0")))
    assert both["encoded_by"] == {FAST: 3, NAMED: 3} and both["encoder"] == NAMED
    assert stable["encoded_by"] == {NAMED: 6}
    assert both["digest"] == stable["digest"] != newest["digest"]
    assert newest["encoder"] == FAST and newest["encoded_by"] == {FAST: 6}
    assert all(one["verified"]["documents"] == 6 for one in (both, stable, newest))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["llama3", "llama2", "mistral", "bert", "characters", "whisper", "t5", "roberta"])
def test_family_has_the_ids_of_the_stable_release(family, families, source, tmp_path):
    """Without a proof (Unigram), or where the fast release refuses the file, the stable one encodes alone.

    The engine as the command starts it, in forks."""

    def summary(stack, **flags):
        flags |= {"tokenizer": families[family], "out": tmp_path / stack, "format": "datasets", "verify_share": 100}
        done = forks_of(stack).run(encoders.ENGINE / "run.py", *words(source, **flags, json=True))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    both, stable = summary(encoders.FAST, named=encoders.packages(encoders.NAMED)), summary(encoders.NAMED)
    assert both["digest"] == stable["digest"]
    assert (FAST in both["encoded_by"]) == (family not in ("t5", "roberta"))


@pytest.mark.slow
def test_tokenizer_that_no_encoder_takes_is_refused(families, summary, tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text('{"no": "tokenizer"}', encoding="utf-8")
    assert "no tokenizer.json (KeyError" in summary(file, status=2)["refused"]
    file.write_text(families["gpt2"].read_text(encoding="utf-8").replace('"ByteLevel"', '"New"'), encoding="utf-8")
    refused = summary(file, status=2)["refused"]
    assert "cannot take" in refused and refused.count("\n") == 1


@pytest.mark.slow
def test_tokenizer_with_a_repeated_id_goes_to_the_stable_encoder(families, summary, tmp_path):
    """If two entries have the same id, tokenizers 1.0 merges into one of them, not the same in each process."""
    spec = json.loads(families["mistral"].read_text(encoding="utf-8"))
    spec["model"]["vocab"] |= {"twice": 7}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    alone = summary(tmp_path / "tokenizer.json")
    assert alone["encoded_by"] == {NAMED: 6} and "id 7" in alone["messages"]


def test_installed_package_builds_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(encoders, "IN_CHECKOUT", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert encoders.place("encoder") == tmp_path / "cache" / "beyond-ram" / "stacks" / "encoder"
    with pytest.raises(ValueError, match="there is no stack 'nothing'"):
        encoders.lock("nothing")


def test_command_imports_nothing_heavy():
    code = "import sys, beyond_ram.cli, beyond_ram.tokenize; "
    code += "heavy = {'pandas', 'pyarrow', 'numpy', 'pydantic', 'snakemake'}; "
    code += "print(sorted({name.split('.')[0] for name in sys.modules} & heavy))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
