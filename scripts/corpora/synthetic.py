"""Generated text of any size, written as a stream: 100 GB takes no more memory than 1 MB.

    {"source": "synthetic", "documents": 1000, "document_characters": [2000, 20000], "vocabulary": 20000,
     "white_space": true, "documents_per_file": 50, "seed": 0}

Words are drawn once, with Zipf's frequencies, into one stretch of text. A document consists of runs of words copied
from random places of the stretch, so its word frequencies are those of the stretch, and drawing costs nothing per word.
A document has exactly the requested length, so its last word may be cut short. With `white_space` false there are no
blanks.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Any

from shards import CorpusPlan, Document, run

ONSETS = [*"bcdfghjklmnprstvwz", "bl", "br", "ch", "dr", "fl", "gr", "pl", "pr", "qu", "sh", "st", "th", "tr"]
VOWELS = [*"aeiou", "ai", "ea", "ou"]
CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "nd", "st"]

STRETCH_WORDS = 1 << 18
RUN_WORDS = 64
ZIPF_SHIFT = 2.7  # Mandelbrot's: without it the first word alone would be a tenth of the text


def pick(random: Random, choices: list[str]) -> str:
    """One of `choices`, by `random.random()` only: other methods may change between Python versions."""
    return choices[int(random.random() * len(choices))]


def vocabulary(random: Random, size: int) -> list[str]:
    """`size` different words, most frequent first; frequent words are short."""
    words: dict[str, None] = {}
    syllables = 1
    misses = 0
    while len(words) < size:
        word = "".join(pick(random, ONSETS) + pick(random, VOWELS) + pick(random, CODAS) for _ in range(syllables))
        misses = misses + 1 if word in words else 0
        words[word] = None
        if misses > 3 or len(words) > 30 ** (syllables + 1):
            syllables, misses = syllables + 1, 0
    return list(words)


def stretch(random: Random, words: list[str], blank: str) -> tuple[str, list[int]]:
    """The text that documents are copied from, and the start of each of its words."""
    cumulative = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(1, len(words) + 1)))
    drawn = [words[bisect(cumulative, random.random() * cumulative[-1])] + blank for _ in range(STRETCH_WORDS)]
    return "".join(drawn), [0, *accumulate(map(len, drawn))]


def plan(spec: dict[str, Any]) -> CorpusPlan:
    wanted, characters = spec["documents"], spec["document_characters"]
    low, high = characters if isinstance(characters, list) else (characters, characters)
    random = Random(spec.get("seed", 0))
    words = vocabulary(random, spec.get("vocabulary", 20_000))
    text, starts = stretch(random, words, " " if spec.get("white_space", True) else "")

    def document() -> str:
        missing = low + int(random.random() * (high - low + 1))
        runs = []
        while missing > 0:
            first = int(random.random() * (STRETCH_WORDS - RUN_WORDS))
            run_of_words = text[starts[first] : min(starts[first + RUN_WORDS], starts[first] + missing)]
            runs.append(run_of_words)
            missing -= len(run_of_words)
        return "".join(runs)

    def documents() -> Iterator[Document]:
        for _ in range(wanted):
            yield Document(document(), "synthetic")

    return CorpusPlan(documents(), documents_per_file=spec.get("documents_per_file", 1), expected=wanted)


if __name__ == "__main__":
    run("synthetic", plan)
