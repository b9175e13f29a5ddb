"""Documents in pieces have the ids of the whole: assumptions and coverage of the proof, and random attacks on it."""

import itertools
import json
import subprocess
import sys
import unicodedata

import pytest

from tests.conftest import interpreter
from tests.tokenize.conftest import ENGINE, HERE, MANY_SCRIPTS
from tests.tokenize.engine.fuzzing import DOCUMENTS, SEED, released

sys.path.append(str(ENGINE))
import cutting

NFD = {"type": "NFD"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


# By family, as its tokenizer.json has it.
PATTERNS = json.loads((HERE / "engine" / "split_patterns.json").read_text(encoding="utf-8"))


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": PATTERNS[pattern]}, "behavior": "Isolated", "invert": False}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def added(text, **flags):
    return {"id": 0, "content": text, "normalized": False, "special": False, **flags}


def spec(**parts):
    """Return the parts of a tokenizer file that proofs are about: BPE behind the split of Llama 3."""
    model = {"type": "BPE", "vocab": {one: at for at, one in enumerate("ab\u2581")}, "merges": []}
    return {"model": model, "pre_tokenizer": sequence(split("Llama 3"), BYTES), **parts}


@pytest.mark.slow
def test_nfc_does_not_change_letters_beyond_ascii():
    """Check the proof's assumptions in two versions of Unicode; its policy keeps NFC stable in later ones."""
    import re

    older = unicodedata.ucd_3_2_0
    letters = re.findall(f"[{cutting.LETTERS}]", "".join(map(chr, range(0x110000))))
    assert len(letters) > 30_000
    fixed = cutting.undecomposed()
    assert set("azЯж中あ") < set(fixed) and not set("éйが가") & set(fixed)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert unicodedata.normalize(form, fixed) == fixed and older.normalize(form, fixed) == fixed
    seconds = {older.decomposition(chr(code)).split()[-1] for code in range(0x110000) if older.decomposition(chr(code))}
    for letter in letters:
        assert older.category(letter)[0] == unicodedata.category(letter)[0] == "L", letter
        assert unicodedata.normalize("NFC", letter) == letter and unicodedata.combining(letter) == 0
        assert f"{ord(letter):04X}" not in seconds or unicodedata.normalize("NFC", f"e{letter}") == f"e{letter}"
    for text in ("a \u0301", "e\n\u0301", "가 \u11a8", "か\n\u3099"):
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            at = 1
            parts = unicodedata.normalize(form, text[:at]) + unicodedata.normalize(form, text[at:])
            assert parts == unicodedata.normalize(form, text)


CUT = {
    "GPT-2": spec(pre_tokenizer={**BYTES, "use_regex": True}),
    **{f"the split of {name}": spec(pre_tokenizer=sequence(split(name), BYTES)) for name in PATTERNS},
    "Qwen 2 with NFC": spec(normalizer={"type": "NFC"}, pre_tokenizer=sequence(split("Qwen 2"), BYTES)),
    "digits before": spec(pre_tokenizer=sequence({"type": "Digits"}, {**BYTES, "use_regex": True})),
    "Metaspace": spec(pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "split": True}),
    "Metaspace without splitting": spec(pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "split": False}),
    "NFD, behind letters that it leaves": spec(normalizer=NFD),
    "BERT": spec(normalizer={"type": "BertNormalizer"}, pre_tokenizer={"type": "BertPreTokenizer"}),
    "tokens in brackets, every flag": spec(added_tokens=[added("<X>", lstrip=True, rstrip=True, single_word=True)]),
}


@pytest.mark.parametrize("name", CUT)
def test_pipelines_that_the_proof_covers_are_cut(name):
    rules = cutting.rules(CUT[name])
    normalizer = CUT[name].get("normalizer", {"type": None})["type"]
    ascii_only = normalizer not in (None, "NFC")
    if "splitting" not in name:
        assert bool(rules.pattern.search("ж x")) is (normalizer != "BertNormalizer")
    assert rules.pattern.search("xb bx" if "splitting" in name else "x x")
    assert bool(rules.pattern.search("é x")) is not (ascii_only or "splitting" in name)
    assert not rules.pattern.search("1 x. x! \u0301 x")


# Pipelines that once gave wrong ids, and others with the same steps.
NOT_CUT = {
    "bytes before the split": spec(pre_tokenizer=sequence(BYTES, split("Llama 3"))),
    "bytes before Metaspace": spec(pre_tokenizer=sequence(BYTES, {"type": "Metaspace", "replacement": "\u2581"})),
    "a pattern without a proof": spec(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": r"\w+ \w+"}, "behavior": "Isolated", "invert": False}
    ),
    "another behavior": spec(pre_tokenizer={**split("Llama 3"), "behavior": "MergedWithNext"}),
    "inverted": spec(pre_tokenizer={**split("Llama 3"), "invert": True}),
    "words of another kind": spec(pre_tokenizer={"type": "UnicodeScripts"}),
    "by length": spec(pre_tokenizer={"type": "FixedLength", "length": 5}),
    "dropout": spec(model={"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1}),
    "an added token over a blank": spec(added_tokens=[added("New York")]),
    "an added token over a replaced blank": spec(added_tokens=[added("a\u2581b")]),
    "an added token of which the normal form has a blank": spec(
        normalizer={"type": "NFKC"}, added_tokens=[added("a\u00a8b", normalized=True)]
    ),
    "an added token that ends in a letter and takes blanks": spec(added_tokens=[added("mask", rstrip=True)]),
    "a normalized mark that takes blanks": spec(normalizer=NFD, added_tokens=[added("\u0301", rstrip=True)]),
    "an added token that begins with a blank and looks before it": spec(added_tokens=[added(" x", single_word=True)]),
    "a blank is dropped where an added token may begin": spec(
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ]}, pre_tokenizer=None, added_tokens=[added(" x")],
    ),
    "two blanks are put in front": spec(
        normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ]}, pre_tokenizer=None,
    ),
    "blanks replaced before the split": spec(
        normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    ),
    "stripped": spec(normalizer={"type": "Strip", "strip_left": True, "strip_right": True}),
    "replaced": spec(normalizer={"type": "Replace", "pattern": {"String": "e "}, "content": "x"}),
    "a map of characters": spec(normalizer={"type": "Precompiled", "precompiled_charsmap": ""}),
    "no words, an entry over a blank": spec(
        pre_tokenizer=None, normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        model={"type": "BPE", "vocab": {"a": 0, "\u2581": 1, "a\u2581b": 2}, "merges": []},
    ),
    "no words, ends of words": spec(
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "split": False},
        model={"type": "BPE", "vocab": {"a": 0, "\u2581": 1}, "merges": [], "end_of_word_suffix": "</w>"},
    ),
    "no words, letters that change": spec(
        normalizer={"type": "Lowercase"}, pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "split": False},
        model={"type": "BPE", "vocab": {"<unk>": 0, "\u2581": 1, "A": 2, "<unk>\u2581": 3}, "merges": []},
    ),
    "no words, an id for two entries": spec(
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "split": False},
        model={"type": "BPE", "vocab": {"\u2581": 0, "a": 1, "-": 1, "-\u2581": 2}, "merges": []},
    ),
    "no words, another model": spec(pre_tokenizer=None, model={"type": "Unigram", "vocab": [["a", 0.0]]}),
    "the text twice": spec(post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {}}] * 2}),
    "an unknown shape": spec(normalizer={"kind": "NFC"}),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CUT)
def test_pipelines_without_a_proof_are_not_cut(name):
    with pytest.raises(cutting.NoCuts):
        cutting.rules(NOT_CUT[name])


LONG = {
    "a run of one letter": "a" * 3000,
    "a run of blanks": "x" + " " * 3000 + "y",
    "a run of marks": "e" + "\u0301" * 3000 + " x",
    "line breaks of two characters": "one line\r\nanother line\r\n" * 300,
    "many scripts": MANY_SCRIPTS * 30,
    "nothing": "",
    "one blank": " ",
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("part", [1, 64, 1 << 20])
def test_joined_pieces_are_the_text(name, part):
    rules, text = cutting.rules(spec()), LONG[name]
    cutter = cutting.Cutter(rules, 100)
    pieces = [piece for at in range(0, len(text), part) for piece in cutter.feed(text[at : at + part])]
    pieces.append(cutter.rest())
    assert "".join(pieces) == text
    for before, after in itertools.pairwise(pieces):
        assert before[-1].isalpha() and after[0] in " \n"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["in pieces", "through files"])
@pytest.mark.parametrize("stack", ["encoder", "encoder-0.23"])
def test_random_pipelines_and_texts_keep_their_ids(stack, how, families, shared, tmp_path):
    """Every document has the ids of the plain library. `BEYOND_RAM_FUZZ` sets the number of documents."""
    wanted = DOCUMENTS if how == "in pieces" else max(DOCUMENTS // 100, 60)
    flags = [] if how == "in pieces" else ["--through-files"]
    files = [*families.values(), *(released(shared) if how == "through files" else ())]
    command = [interpreter(stack), HERE / "pipelines.py", ENGINE, tmp_path, str(SEED), str(wanted), *flags, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    assert counts["wrong"] == [], f"seed {SEED}: {counts['wrong']}"
    assert counts["documents"] >= wanted and counts["cut"] > 0
