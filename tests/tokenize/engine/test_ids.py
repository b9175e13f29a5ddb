"""Ids come from the loaded tokenizer, and are never narrowed into a type that they do not fit."""

import json

import pytest

from tests.tokenize.conftest import ENGINE, FLAT, forks_of, in_stack, words
from tests.tokenize.documents import json_lines

pytestmark = pytest.mark.slow

PLAIN = "import sys, json, tokenizers; t = tokenizers.Tokenizer.from_file(sys.argv[1]); "
PLAIN += "print(json.dumps([t.encode(text).ids for text in json.loads(sys.argv[2])]))"
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


def large(spec, entries):
    """Fill a tokenizer file's vocabulary up to a number of entries."""
    vocabulary = spec["model"]["vocab"]
    vocabulary |= {f"zz{number}": number for number in range(len(vocabulary), entries)}
    return spec


def token_outside(spec, id=5):
    """Add a token that the vocabulary lacks, with a taken id: the library gives it another."""
    spec["added_tokens"].append({"id": id, "content": "<X>", **FLAGS})
    return spec


def template(spec):
    token = {"SpecialToken": {"id": "<b>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    spec["post_processor"] = {
        "type": "TemplateProcessing", "single": [token, text], "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<b>": {"id": "<b>", "ids": [70_000], "tokens": ["<b>"]}},
    }  # fmt: skip
    return spec


CASES = {
    "65,536 entries": (lambda spec: large(spec, 65_536), "uint16"),
    "a token beyond 65,536 entries": (lambda spec: token_outside(large(spec, 65_536)), "uint32"),
    "a token with an id of its own": (lambda spec: token_outside(spec, 900_000), "uint16"),
    "a large id of the post-processor": (template, "uint32"),
}


@pytest.mark.parametrize("stack", ["encoder", "encoder-0.23"])
@pytest.mark.parametrize("case", CASES)
def test_ids_have_the_width_they_need(case, stack, families, tmp_path):
    change, dtype = CASES[case]
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text(json.dumps(change(json.loads(families["gpt2"].read_text(encoding="utf-8")))), encoding="utf-8")
    texts = ["a<X>b", "", "zz65535 <X>"]
    source = json_lines(tmp_path / "a.jsonl", texts)
    command = [ENGINE / "run.py", *words(source, tokenizer=tokenizer, out=tmp_path / "out")]
    assert forks_of(stack).run(*command).returncode == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["dtype"] == dtype
    assert in_stack(stack, FLAT, tmp_path / "out" / "tokens") == in_stack(stack, PLAIN, tokenizer, json.dumps(texts))


def test_id_that_does_not_fit_is_refused():
    """Each array is checked before it is narrowed."""
    code = "import sys, json; sys.path.insert(0, sys.argv[1]); import numpy as np, outputs, trouble\n"
    code += "refused = []\n"
    code += "for dtype, id in ((np.uint16, 65535), (np.uint16, 65536), (np.int32, 2**31 - 1), (np.int32, 2**31)):\n"
    code += "    try: refused.append(outputs.narrowed(np.array([1, id], np.uint32), dtype).tolist() != [1, id])\n"
    code += "    except trouble.Refused: refused.append(True)\n"
    code += "print(json.dumps(refused))"
    assert in_stack("encoder", code, ENGINE) == [False, True, False, True]


@pytest.mark.parametrize("stack", ["encoder", "encoder-0.23"])
def test_appended_id_comes_from_the_loaded_tokenizer(stack, families, tmp_path):
    tokenizer = tmp_path / "tokenizer.json"
    spec = token_outside(json.loads(families["gpt2"].read_text(encoding="utf-8")))
    tokenizer.write_text(json.dumps(spec), encoding="utf-8")
    code = "import sys, json; sys.path.insert(0, sys.argv[1]); import encoder\n"
    code += "spec = encoder.read_spec(sys.argv[2]); one = encoder.LoadedRelease(sys.argv[2], spec)\n"
    code += "print(json.dumps([one.id_of(spec, name) for name in sys.argv[3:]]))"
    entry, id = list(spec["model"]["vocab"].items())[-1]
    result = in_stack(stack, code, ENGINE, tokenizer, "<X>", "<|endoftext|>", entry)
    assert result == [len(spec["model"]["vocab"]), 0, id]


def test_model_with_dropout_is_refused(families, tmp_path):
    spec = json.loads(families["gpt2"].read_text(encoding="utf-8"))
    spec["model"]["dropout"] = 0.1
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    (tmp_path / "a.txt").write_text("some words", encoding="utf-8")
    flags = {"tokenizer": tmp_path / "tokenizer.json", "out": tmp_path / "out"}
    done = forks_of("encoder-0.23").run(ENGINE / "run.py", *words(tmp_path / "a.txt", **flags))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "dropout 0.1" in done.stderr


# An engine whose encoder adds an id at the end of some documents, or takes their last one.
WRONG = """
import sys
sys.path.insert(0, sys.argv[1])
import encoder, numpy, run
real = encoder.Encoder.plain
def plain(self, texts, *more):
    arrays = real(self, texts, *more)
    wrong = {"more": lambda one: numpy.append(one, one[:1]), "fewer": lambda one: one[:-1]}[sys.argv[2]]
    return [wrong(one) if text.endswith("the end") else one for text, one in zip(texts, arrays)]
encoder.Encoder.plain = plain
sys.exit(run.main(sys.argv[3:]))
"""


@pytest.mark.parametrize(
    ("format", "wrong"), [("bin", "more"), ("bin", "fewer"), ("datasets", "more"), ("parquet", "fewer")]
)
def test_wrong_ids_of_the_largest_cut_document_are_found(format, wrong, families, engine, tmp_path):
    """One of 400 documents is cut; with --verify it is compared, whichever others are drawn."""
    texts = ["some words"] * 200 + ["some words " * 7000 + "the end"] + ["and more"] * 199
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out", "format": format, "verify": True}
    command = words(json_lines(tmp_path / "a.jsonl", texts), **flags)
    for attempt in range(2):  # the same command fails again
        done = engine.run("-c", WRONG, ENGINE, wrong, *command)
        assert done.returncode == 2, (attempt, done.stderr)
        assert "line 201: wrong ids" in done.stderr.splitlines()[-1], done.stderr
        assert not (tmp_path / "out/summary.json").exists()


def test_verify_share_sets_the_number_of_verified_documents(families, tokenize, tmp_path):
    source = json_lines(tmp_path / "a.jsonl", [f"document {at} " * 20 for at in range(5000)])
    flags = {"tokenizer": families["gpt2"]}
    counts = []
    for out, more in (("a", {}), ("a", {"verify_share": 20}), ("a", {"verify_share": 100}), ("b", {"verify_share": 0})):
        done = tokenize(source, out=tmp_path / out, **flags, **more)
        counts.append(json.loads(done.stdout)["verified"]["documents"])
    assert 0 < counts[0] < 1000 <= counts[1] < 1500 and counts[2:] == [5000, 0], counts
