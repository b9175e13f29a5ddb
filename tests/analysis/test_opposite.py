"""No source states more than the data shows: the same report from opposite data.

A sentence compares if it names two values of an axis, or states in words that one is more than another. No sentence may
compare where nothing differs, after one run, or in wild noise. Reversed data may not leave a comparison as it was.
Names exchanged in the data are exchanged in the sentences.

Sources are discovered (`opposite.sources`), so new findings, text columns and captions are tested too. Discovery takes
a whole report, so tests are not parametrized by source: collecting them would make it.
"""

import re
from collections import Counter

import pytest

from .opposite import exchange, names_two, sentences_of, sources

pytestmark = pytest.mark.slow

WORDS = re.compile(
    r"\btimes the (?!time)|times smaller"
    r"|(?<!up to )(?<![\d.,])[\d.,]+(?: times|%) (?:slower|faster|fewer|more)\b|[:,] (?:slower|faster)\b"
    r"|\b(?:fell|rose) from\b|\bwas longer: |\d without\b|\bno gain\b"
    r"|\), (?:slower|faster)\b"
    r"|: (?:True|better|worse|yes|partly)$"
)
# Values with an order: reversed data reverses them too.
ORDERED = re.compile(r"0\.13\.3")


def comparing(source, transform):
    """The sentences of a source that state that one thing is more than another. Lines of tables always name their
    sides, so only their words count."""
    return [
        sentence
        for sentence in sentences_of(source, transform)
        if WORDS.search(sentence) or (not source.startswith("table ") and names_two(sentence, transform))
    ]


def test_original_study_has_comparing_sentences():
    """Otherwise no test here could fail."""
    comparing_sources = {source for source in sources() if comparing(source, "original")}
    assert len(comparing_sources) >= 6
    assert {"finding comparisons"} <= comparing_sources


@pytest.mark.parametrize(
    "transform", ["wild", *(pytest.param(name, marks=pytest.mark.end_to_end) for name in ("absent", "one run"))]
)
def test_no_sentence_compares_where_nothing_differs(transform):
    assert not [(source, sentence) for source in sources() for sentence in comparing(source, transform)]


def test_growth_is_stated_where_shown_and_not_for_wild_noise():
    assert any("grew by" in sentence for sentence in sentences_of("figure growth_by_input", "absent"))
    wild = sentences_of("figure growth_by_input", "wild")
    assert any("undecided" in sentence for sentence in wild)
    assert not [sentence for sentence in wild if "grew by" in sentence]


def test_reversed_data_keeps_no_comparing_sentence():
    for source in sources():
        before = [sentence for sentence in comparing(source, "original") if not sentence.endswith(": True")]
        named = [sentence for sentence in before if exchange(sentence) != sentence or ORDERED.search(sentence)]
        assert not {*named} & {*sentences_of(source, "reversed")}, source


def test_exchanged_names_change_nothing_else():
    for source in sources():
        before, after = (
            Counter(map(exchange, sentences_of(source, "original"))),
            Counter(sentences_of(source, "renamed")),
        )
        assert before == after, source
