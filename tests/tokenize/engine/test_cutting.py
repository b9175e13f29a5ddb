"""Ids of documents in pieces are those of the whole, and those of tokenizers 0.23, on text that tries to break it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tokenize.conftest import MANY_SCRIPTS, Ask

pytestmark = pytest.mark.slow

# Families that may be cut today, and what the proof rests on.
SHOWN = ("bert", "characters", "gpt2", "llama2", "llama3", "mistral", "qwen2", "roberta", "t5", "whisper", "xlnet")
# Others have all of its steps that know Unicode, so they are asked for the code points that are taken otherwise: that
# takes some 12 s for each. Those of the Llamas have none, and so no such code point.
STEPS_OF = {"whisper": ("gpt2",), "llama3": ("qwen2",), "characters": ("t5",), "xlnet": ("bert", "t5")}
STEPS_OF |= {"llama2": (), "mistral": ()}
NOT_IN_NEWEST = ("roberta",)  # tokenizers 1.0.0rc3 refuses a space put in front by ByteLevel

FRAGMENTS = (
    " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", "\u2028", "\u200b", "\u0085", "\x1c", "\x00",
    "a", "b", "Z", "one two three four ", "def ",
    "import ", " the", "it's", "I'LL", "'s", "'S ", "don't ", "0", "12", "1234567 ", "x1 ", "1x",
    "aaaaaaaaaaaaaaaaaaaaaaaa", "                        ", "bbbb bbbb bbbb bbbb", "``", "''", "``x ''", '"', "<", ">",
    "\u0301", "e\u0301", "e\u0301 ", "a\u0308\u0323 b", " \u0301", "\u1161", "\u1100\u1161\u11a8 ",
    "가 ", "한국어 문장 ",
    "Σ ", "ΟΔΥΣΣΕΥΣ ", "İ ", "ǆ ", "ẞ ", "ﬁ ", "½ ", "㎏ ", "²", "ＡＢＣ ",
    "中 ", "中文，", "日本語テ ", "が ", "か\u3099 ",
    "русский ", "ё ", "и\u0306 ", "العربية ", "हिन्दी ", "😀",
    "👩\u200d👩\u200d👧 ", "❤\ufe0f ", "\u0600", "x\u0600 ", "\ufeff",
    "▁", "▁▁", "x▁ ", " ▁x", "Ġ", "Ċ ", "\ue000", "\U0001f9ff", "\U000e0001", "\ufffd", "\ufffe",
    "<s>", "</s> ", " <s> ", "<mask>", " <mask> ", "x <mask> y ", "<|endoftext|>",
    " <|endoftext|> x ", "[SEP]", " [MASK] ",
    "<unk>", "<0x41>", "<0x0A> ", "<|0.00|>", "<extra_id_0>", "<|im_start|> ", "<|eot_id|>", "<cls> <sep> ", "<pad>",
)  # fmt: skip
# Any that Unicode may ever name, and more often those that a release may be too old to know.
ANY = st.characters(exclude_categories=("Cs",))
LATE_BLOCKS = (0x870, 0xC5D, 0x10D40, 0x10EC0, 0x11380, 0x11BC0, 0x16100, 0x16D40, 0x1C89, 0x1ACF, 0x1CC00, 0x1E5D0)
LATE_BLOCKS += (0x1F774, 0x1FA89, 0x31350, 0x323B0)
NEWER = st.sampled_from([chr(code) for first in LATE_BLOCKS for code in range(first, first + 64)])
PLAIN = st.sampled_from(("one two three ", "some words here and there ", "a b c ", "мир и труд ", "x"))
CLEAN = st.lists(st.one_of(st.sampled_from(FRAGMENTS), PLAIN, st.text(ANY | NEWER, max_size=4)), max_size=40)
CLEAN = CLEAN.map("".join)
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("family", SHOWN)
def test_ids_in_pieces_are_those_of_the_whole(ask: Ask, differing: Callable[[str], set[int]], family: str) -> None:
    """Also: both releases give the same ids of every text without the code points that they take otherwise."""
    stacks = ("encoder-0.23",) if family in NOT_IN_NEWEST else ("encoder-0.23", "encoder")
    apart: set[int] = set().union(*map(differing, STEPS_OF.get(family, (family,))))
    cuts = 0

    @SETTINGS
    @given(text=CLEAN, piece=st.integers(1, 12), chunk=st.integers(1, 30))
    def check(text: str, piece: int, chunk: int) -> None:
        nonlocal cuts
        found = [ask(stack, family, text, piece, chunk) for stack in stacks]
        assert all("error" not in one for one in found), found
        for stack, one in zip(stacks, found, strict=True):
            if not apart.intersection(map(ord, text)):
                assert one["whole"] == found[0]["whole"], f"{stack} gives other ids than tokenizers 0.23"
            assert one["cut"] == one["whole"], f"{stack}: the pieces of {text!r} have other ids"
        cuts += found[0]["pieces"] - 1

    check()
    assert cuts > 20, "hardly anything was cut, so hardly anything was tested"


LONG = {
    "a run of one letter": "a" * 3000,
    "a run of blanks": "x" + " " * 3000 + "y",
    "a run of marks": "e" + "\u0301" * 3000 + " x",
    "a run of what no vocabulary has": "\U0001f9ff" * 1000 + " x \U0001f9ff",
    "line breaks of two characters": "one line\r\nanother line\r\n" * 300,
    "many scripts": MANY_SCRIPTS * 30,
    "nothing": "",
    "one blank": " ",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_texts(ask: Ask, families: dict[str, Path], text: str) -> None:
    for family in families:
        stacks = ("encoder-0.23",) if family in NOT_IN_NEWEST else ("encoder-0.23", "encoder")
        found = [ask(stack, family, text, 100, 64) for stack in stacks]
        assert all(one["cut"] == one["whole"] == found[0]["whole"] for one in found), family


def test_the_proof_says_no(ask: Ask, families: dict[str, Path], tmp_path: Path) -> None:
    """Each change to a tokenizer takes away what the proof rests on, and with it the cuts."""
    import subprocess

    from beyond_ram.tokenize.encoders import ENGINE
    from tests.conftest import interpreter

    def changed(family: str, **parts: object) -> Path:
        spec = json.loads(families[family].read_text(encoding="utf-8"))
        for place, value in parts.items():
            inner, *last = place.split("__")
            if last:
                spec[inner][last[0]] = value
            else:
                spec[inner] = value
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(spec), encoding="utf-8")
        return path

    def vocabulary(family: str, entry: str) -> dict[str, int]:
        known = json.loads(families[family].read_text(encoding="utf-8"))["model"]["vocab"]
        return {**known, entry: len(known)}

    def added(text: str, **flags: bool) -> list[dict[str, object]]:
        plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        return [{"id": 0, "content": text, **plain, **flags}]

    split = {"type": "Split", "pattern": {"Regex": r"\w+ \w+"}, "behavior": "Isolated", "invert": False}
    cases = {
        "pattern": changed("llama3", pre_tokenizer=split),
        "dropout": changed("gpt2", model__dropout=0.1),
        "entry over a blank": changed("mistral", model__vocab=vocabulary("mistral", "a▁b")),
        "ends of words": changed("mistral", model__end_of_word_suffix="</w>"),
        "whole words first": changed("mistral", model__ignore_merges=True),
        "no words": changed("xlnet", pre_tokenizer=None),
        "added with a blank": changed("gpt2", added_tokens=added("New York")),
        "added that takes blanks": changed("gpt2", added_tokens=added("mask", rstrip=True)),
        "added where a blank is put": changed("llama2", added_tokens=added("mask")),
        "both put a blank": changed(
            "llama2", pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
        ),
        "stripped": changed("bert", normalizer={"type": "Strip", "strip_left": True, "strip_right": True}),
        "replaced": changed("bert", normalizer={"type": "Replace", "pattern": {"String": "e "}, "content": "x"}),
        "unknown step": changed("bert", pre_tokenizer={"type": "UnicodeScripts"}),
    }
    code = "import sys, json; sys.path.insert(0, sys.argv[1]); import cutting\n"
    code += "for path in sys.argv[2:]:\n try: print('cut', cutting.rules(json.load(open(path))).why)\n"
    code += " except cutting.NotShown as reason: print('no', reason)\n"
    done = subprocess.run(
        [interpreter("encoder"), "-c", code, ENGINE, *cases.values()], capture_output=True, text=True, check=True
    )
    said = dict(zip(cases, done.stdout.splitlines(), strict=True))
    assert [name for name, line in said.items() if not line.startswith("no ")] == [], said
