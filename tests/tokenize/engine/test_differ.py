"""The code points that two releases of tokenizers take otherwise are found, alone and in pairs."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import interpreter
from tests.tokenize.conftest import ENGINE, Ask

pytestmark = pytest.mark.slow

TEXTS = {
    "gpt2": ("a new letter before an apostrophe", "\U000323b0's"),
    "bert": ("punctuation that one does not know", "a\u2e52b"),
    "t5": ("a compatibility character", "\U0001f16c"),
    "qwen2": ("a pair that one composes", "\U000105d2\u0307"),
}


@pytest.mark.parametrize("family", TEXTS)
def test_they_differ_there_and_it_is_found(family: str, ask: Ask, differing: Callable[[str], set[int]]) -> None:
    _, text = TEXTS[family]
    old, new = (ask(stack, family, text)["whole"] for stack in ("encoder-0.23", "encoder"))
    assert old != new, "they agree now, so nothing is tested"
    assert differing(family).intersection(map(ord, text))
    assert not differing(family).intersection(range(0x250)), "every western text would go to the slower one"


def test_a_release_that_does_not_take_the_file_is_told(families: dict[str, Path]) -> None:
    command = [interpreter("encoder-0.23"), ENGINE / "differ.py", families["roberta"], interpreter("encoder")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot take" in json.loads(done.stdout)["cannot"]
