"""Tokenizers: training gives the same bytes every time, and every stack reads them alike."""

import json
import runpy
import subprocess

import pytest

from beyond_ram.hub import Hub

from ..conftest import interpreter
from .conftest import PROGRAMS, Programs

pytestmark = pytest.mark.slow

CHARACTERS = {"train": "characters", "entries": 4102}
STACKS = ["june-2023", "current"]

ENCODE = """
import hashlib, json, logging, sys
logging.disable(logging.WARNING)
from transformers import AutoTokenizer
tokenizers = [AutoTokenizer.from_pretrained(sys.argv[at]) for at in (1, 3)]
texts = ["", " ", "a b", "  two  blanks ", "ﬁ ⨌ é", "line\\nnext\\ttab", "<s> x </s>", "⨀" * 40, "x<mask>y <pad> z"]
for tokenizer, name in zip(tokenizers, sys.argv[2::2]):
    ids = [list(tokenizer(text)["input_ids"]) for text in texts]
    with open(name, encoding="utf-8") as lines:
        ids += [list(tokenizer(json.loads(line)["text"][:60_000])["input_ids"]) for line in lines]
    print(json.dumps({
        "ids": hashlib.sha256(json.dumps(ids).encode()).hexdigest(), "tokens": sum(map(len, ids)),
        "model_max_length": tokenizer.model_max_length, "entries": len(tokenizer),
        "special": tokenizer.special_tokens_map, "fast": tokenizer.is_fast,
        "unknown": sum(id == tokenizer.unk_token_id for line in ids[len(texts):] for id in line),
    }))
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("tokenizers")


@pytest.fixture(scope="module")
def tokenizers(python, work):
    """Make two small corpora with a tokenizer each, and return the tokenizers' folders by name."""
    programs = Programs(python, work)
    programs.prepare({"source": "binaries", "documents": 1}, "binaries")
    programs.prepare({"source": "python", "documents": 100}, "python")
    for name, spec in (("binaries", CHARACTERS), ("python", {"train": "byte-level", "entries": 8192})):
        programs.tokenizer(spec, work / name, work / name / "tokenizer")
    return {name: work / name / "tokenizer" for name in ("binaries", "python")}


def parsed(folder):
    return dict(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))


def test_trained_tokenizer_has_the_recorded_profile(tokenizers):
    tokenizer = parsed(tokenizers["binaries"])
    assert tokenizer["normalizer"] == {"type": "NFKC"}
    assert tokenizer["pre_tokenizer"] == {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}
    assert tokenizer["truncation"] is None
    assert len(tokenizer["model"]["vocab"]) == 4102
    assert len(tokenizer["model"]["merges"]) == 3840
    assert len(tokenizer["added_tokens"]) == 6


def test_sample_is_of_files_from_all_of_the_corpus(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(PROGRAMS)
    pieces = runpy.run_path(str(PROGRAMS / "tokenizer.py"))["pieces"]
    for number in range(128):
        (tmp_path / f"{number}").write_text(json.dumps({"text": f"{number}"}))
    files = [{"path": f"{number}"} for number in range(128)]
    assert [*map(int, pieces(tmp_path, {"files": files}))] == [*range(0, 128, 2)]


@pytest.mark.parametrize("name", [pytest.param("binaries", marks=pytest.mark.end_to_end), "python"])
def test_same_corpus_gives_the_same_bytes(programs, tokenizers, name):
    spec = json.loads((tokenizers[name] / "manifest.json").read_text())["spec"]
    out = programs.work / "again"
    programs.tokenizer(spec, tokenizers[name].parent, out, TOKENIZERS_PARALLELISM="true", RAYON_NUM_THREADS="4")
    for path in tokenizers[name].iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes()


def test_oldest_and_newest_stack_give_equal_ids(tokenizers):
    words = [str(path) for folder in tokenizers.values() for path in (folder, folder.parent / "files" / "000000.jsonl")]
    facts_by_stack = {}
    for stack in STACKS:
        command = [str(interpreter(stack)), "-W", "ignore", "-c", ENCODE, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        facts_by_stack[stack] = dict(zip(tokenizers, map(json.loads, done.stdout.splitlines()), strict=True))
    assert facts_by_stack["june-2023"] == facts_by_stack["current"]
    for name, entries in (("binaries", 4102), ("python", 8192)):
        facts = facts_by_stack["current"][name]
        assert (facts["model_max_length"], facts["entries"], facts["unknown"]) == (4096, entries, 0)
        assert facts["tokens"] > 10_000
        assert set(facts["special"]) == {f"{kind}_token" for kind in ("unk", "pad", "mask", "bos", "eos", "cls")}


def test_local_tokenizer_is_copied(programs, tokenizers):
    out = programs.work / "copy"
    programs.tokenizer({"path": str(tokenizers["binaries"])}, programs.work, out)
    assert parsed(out) == parsed(tokenizers["binaries"])


def test_bare_tokenizer_json_gets_a_config_for_transformers(programs, tokenizers):
    alone, out = programs.work / "alone", programs.work / "from alone"
    alone.mkdir()
    (alone / "tokenizer.json").write_bytes((tokenizers["binaries"] / "tokenizer.json").read_bytes())
    programs.tokenizer({"path": str(alone)}, programs.work, out)
    assert json.loads((out / "tokenizer_config.json").read_text()) == {"tokenizer_class": "PreTrainedTokenizerFast"}


def test_only_the_tokenizer_of_a_model_is_downloaded(programs, tokenizers):
    model = programs.work / "root" / "models" / "org" / "model"
    model.mkdir(parents=True)
    for path in tokenizers["python"].iterdir():
        if path.name != "manifest.json":
            (model / path.name).write_bytes(path.read_bytes())
    (model / "model.safetensors").write_bytes(b"0" * 1000)
    out = programs.work / "fetched"
    with Hub(programs.work / "root") as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(programs.work / "hf")}
        programs.tokenizer({"hub": "org/model"}, programs.work, out, **env)
        refused = programs.tokenizer({"hub": "org/none"}, programs.work, programs.work / "none", status=2, **env)
        assert (
            "model 'org/none' cannot be read from http://127.0.0.1" in refused.stderr
            and refused.stderr.count("\n") == 1
        )
        assert not [request.path for request in hub.requests if "safetensors" in request.path]
    assert parsed(out) == parsed(tokenizers["python"])
    assert len(json.loads((out / "manifest.json").read_text())["notes"]["commit"]) == 40


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"train": "characters", "entries": 4102}, "is not a finished corpus"),
        ({"path": "nowhere"}, "it has to be a folder with a tokenizer.json"),
        ({"path": "."}, "has no tokenizer.json"),
    ],
)
def test_mistakes_get_one_line(programs, spec, message):
    done = programs.tokenizer(spec, programs.work / "corpus", programs.work / "tokenizer", status=2)
    assert message in done.stderr and done.stderr.count("\n") == 1
