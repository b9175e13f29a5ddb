"""Ids by two releases: files and characters for which both give the same, and random attacks on that."""

import json
import subprocess
import sys

import pytest

from beyond_ram.tokenize import encoders
from tests.tokenize.conftest import ENGINE, HERE, interpreter
from tests.tokenize.engine.fuzzing import DOCUMENTS, SEED, released
from tests.tokenize.engine.test_cutting import BYTES, NFD, PATTERNS, added, sequence, spec, split

sys.path.append(str(ENGINE))
import same_ids

RELEASES = json.loads(same_ids.TABLES.read_text(encoding="utf-8"))["releases"]


def bpe(**flags):
    return {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], **flags}


def replaced(pattern, content="x"):
    return {"type": "Replace", "pattern": pattern, "content": content}


# Where the releases give other ids; each was tried with both.
DIFFERENT = {
    "ends of words": spec(model=bpe(end_of_word_suffix="</w>")),
    "parts of words": spec(model=bpe(continuing_subword_prefix="##")),
    "an entry of no byte": spec(model=bpe(vocab={"a": 0, "中x": 1}, ignore_merges=True)),
    "scores": spec(model={"type": "Unigram", "vocab": [["a", 0.0]]}),
    "another pattern": spec(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": r"\w+"}, "behavior": "Isolated", "invert": False}
    ),
    "more digits": spec(
        pre_tokenizer=sequence(
            {**split("Llama 3"), "pattern": {"Regex": PATTERNS["Llama 3"].replace("{1,3}", "{1,2}")}}, BYTES
        )
    ),
    "another behavior": spec(pre_tokenizer={**split("Llama 3"), "behavior": "MergedWithNext"}),
    "DeepSeek's splits, and digits": spec(
        pre_tokenizer=sequence(
            *({**split("Llama 3"), "pattern": {"Regex": one}} for one in same_ids.DEEPSEEK),
            {"type": "Digits", "individual_digits": True},
        )
    ),
    "nothing replaced": spec(normalizer=replaced({"String": ""})),
    "the start of a line replaced": spec(normalizer=replaced({"Regex": "^a"})),
    "nothing in front": spec(normalizer={"type": "Prepend", "prepend": ""}),
    "a character of the tables put in": spec(normalizer=replaced({"String": "a"}, "\u017f")),
    "a whole word": spec(added_tokens=[added("a", single_word=True)]),
    "blanks behind": spec(added_tokens=[added("A", rstrip=True), added(" B")]),
    "a start that overlaps itself": spec(added_tokens=[added("aab")]),
    "not in the order of ids": spec(added_tokens=[{**added("x"), "id": 3}, {**added("y"), "id": 2}]),
    "searched in the normal form": spec(normalizer=NFD, added_tokens=[added("x", normalized=True)]),
    "Metaspace and searched in the normal form": spec(
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581"}, added_tokens=[added("x", normalized=True)]
    ),
    "the first word behind a normalizer": spec(
        normalizer=NFD, pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}
    ),
    "a blank as an entry": spec(model=bpe(vocab={"a": 0, " ": 1})),
    "two blanks as an entry": spec(model=bpe(vocab={"a": 0, "  ": 1})),
    "U+0000 in WordPiece": spec(model={"type": "WordPiece", "vocab": {"a": 0}}, pre_tokenizer=None),
    "something in front of bytes": spec(normalizer={"type": "Prepend", "prepend": "x"}),
    "an added token twice": spec(added_tokens=[added("<x>"), added("<x>", lstrip=True)]),
    "an unknown shape": spec(normalizer={"kind": "NFC"}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_pipelines_without_a_proof_go_to_the_named_release(name):
    with pytest.raises(same_ids.NoProof):
        same_ids.characters(DIFFERENT[name], *RELEASES)


def test_proof_is_of_two_releases_alone():
    assert (0x17F, 0x17F) in same_ids.characters(spec(), *RELEASES)
    with pytest.raises(same_ids.NoProof, match="were compared"):
        same_ids.characters(spec(), RELEASES[0], "0.23.2")
    assert encoders.release("encoder-0.23") == RELEASES[1], "tests/tokenize/characters.py --write compares new releases"


def test_character_that_a_merge_uses_too_early_is_found():
    """The fast release takes the character at once; the named one has not made it when the merge comes."""
    e_acute, late = "\u00c3\u00a9", [["a", "\u00c3\u00a9"], ["b", "a"], ["\u00c3", "\u00a9"]]

    def early(merges: list[list[str]], entry: str = e_acute) -> set[str]:
        ranks = same_ids._ranks(merges)
        last = same_ids._last(tuple(entry), ranks)
        taken: set[str] = same_ids._taken_early(merges, {} if last == same_ids.NEVER else {entry: last})
        return taken

    assert early(late) == {e_acute}
    assert early([late[2], *late[:2]]) == set()
    assert early([late[2], *late]) == {e_acute}  # the last one of two counts
    assert early(late[:2]) == set()  # its merges do not lead to it
    assert early([["XY", "Z"], ["a", "XYZ"], ["b", "a"], ["X", "Y"]], "XYZ") == {"XYZ"}  # of a part that comes later


def test_entries_of_one_character_are_found_as_bytes_and_as_themselves():
    entries = {"\u00c3\u00a9": "\u00e9", "\u00e4\u00b8\u0143": "\u4e2d", "\u00f0\u0141\u013a\u0122": "\U0001f600"}
    assert same_ids._single([*entries, "\u4e2d", "a", "\u00c3", "\u00a9", "\u00c3\u00a9a"]) == {
        **entries,
        "\u4e2d": "\u4e2d",
    }
    assert same_ids._single(["\u00e0\u0122\u0122", "\u00ed\u0142\u0122"]) == {}  # too long for U+0000, half a pair
    assert same_ids._single(["a", "b"]) == {}


RANGES = [(0x17F, 0x17F), (0x7FD, 0x800), (0xA7CE, 0xA82C), (0xFFFD, 0xFFFF), (0x10000, 0x10001), (0x10FFFF, 0x10FFFF)]


def test_other_characters_are_found_anywhere_in_a_text():
    """Those at the ends of the ranges and beside them, in each size of UTF-8, alone and in one of several texts."""
    alike, step = same_ids.Alike(RANGES), same_ids.Alike.STEP
    for first, last in RANGES:
        for code in {first - 1, first, last, min(last + 1, 0x10FFFF)}:
            before = [*"\u00e9\u0e01\u1ebf\ua000\U0001f600"]  # their first bytes are those of the others too
            same_head = ["".join(before) * size + chr(code) for size in (1, 2, 3, 1000)]
            long = "\u00e9" * (step - 1) + chr(code), chr(code) + "z" * step
            for text in (chr(code), f"a{chr(code)}\u4e2d", *long, *same_head):
                is_other = any(first <= code <= last for first, last in RANGES)
                assert alike.others([text]) == [0] * is_other, hex(code)
                assert alike.others(["ascii", "\u00e9\u4e2d", text, "\U0001f600"]) == [2] * is_other, hex(code)
    assert alike.others(["\ud800"]) == []
    first_look = same_ids.Alike(RANGES, suspects=[])  # no ids to look at
    assert first_look.others(["\u0e01", "\U0001f600 a " * 2], [None, None]) == [] and first_look.answered == 2
    assert same_ids.Alike([]).others(["\u017f", "a"]) == []


def tried(script, *arguments):
    command = [interpreter(encoders.FAST), HERE / script, ENGINE, encoders.packages(encoders.NAMED), *arguments]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("only", [False, True], ids=["random pipelines", "files of packages"])
def test_texts_have_the_ids_of_the_named_release(only, families, shared, tmp_path):
    """`BEYOND_RAM_FUZZ` sets the number of documents."""
    files = released(shared) if only else [*families.values()]
    if not files:
        pytest.skip("no package index")
    counts = tried("alike.py", tmp_path, SEED, DOCUMENTS, *(["--only"] if only else []), *files)
    assert counts["wrong texts"] == [], f"seed {SEED}: {counts}"
    assert counts["documents"] > DOCUMENTS / 2 and 0 < counts["by named"] < counts["documents"]
    assert counts["shown by ids"] and not counts["not shown by ids"] and not counts["missed"]


@pytest.mark.slow
@pytest.mark.end_to_end  # the test above has texts with these characters
def test_characters_of_the_tables_are_those_that_differ():
    """Those beside the listed ranges, all that normalizers change, and one in nine and in 4,999 of the others."""
    assert not any(tried("characters.py", "--every", 4999).values())
