"""No sentence survives that the data does not carry, whichever source says it: the same report from the opposite data.

A sentence compares where it names two values of an axis, or says in words that one is more than another. Where nothing
differs, of one run, and of wild noise it may not be said; of what is reversed it may not be said as it was. Names are
only names: exchanged in the data they are exchanged in the sentences. A repeat that fails leaves only its count.
Every number of a finding stands in the tables that it reads.

Sources are found (`opposite.sources`): a finding, a column of words in a table, or a caption that is added is in it.
That takes a whole report, which is why no test has the name of one: what collects the tests would have to make it.
"""

import re
from collections import Counter

import pytest

from .opposite import carried, exchange, heard, names_two, numbers, reads, sources

pytestmark = pytest.mark.slow

# How far a gigabyte lies beyond the largest input is arithmetic on sizes, and holds nothing measured against another.
WORDS = re.compile(
    r"\btimes the (?!time|largest input)|times smaller"
    r"|(?<!up to )(?<![\d.,])[\d.,]+(?: times|%) (?:slower|faster|fewer|more)\b|[:,] (?:slower|faster)\b"
    r"|\b(?:fell|rose) from\b|\d without\b|\bno gain\b"
    r"|\), (?:slower|faster)\b"
    r"|: (?:True|better|worse|yes|partly)$"
)
# What says that nothing is known to differ.
SILENT = re.compile(
    r"no confirmed|too few repeats|no effect on|undecided for"
    r"|: (?:\d+ (?:same|undecided),? ?)+(?:; likely worse: .*)?\.",
    re.IGNORECASE,
)
# What works or does not, in one run too, and is held against nothing.
CAPABLE = re.compile(r"serves custom pipelines|Spark data source")
# Of these the order is known, and the data is reversed too.
ORDERED = re.compile(r"0\.13\.3|5,120 KiB")
# What is said of failures themselves, and of metrics that count them.
FAILURES = re.compile(r"\d+ runs? failed\.|With this noise, .*? (?:runs|comparison|undecided)\.")


def findings() -> list[str]:
    return [source for source in sources() if source.startswith("finding ")]


def compares(sentence: str, way: str) -> bool:
    """Whether a sentence says that one thing is more than another."""
    return not SILENT.search(sentence) and bool(WORDS.search(sentence) or names_two(sentence, way))


def comparing(source: str, way: str) -> list[str]:
    """What compares of all that a source says. A line of a table names its sides before it says what of them."""
    sentences = heard(source, way)
    sentences = tuple(sentence for sentence in sentences if not CAPABLE.search(sentence))
    return [
        sentence
        for sentence in sentences
        if (WORDS.search(sentence) if source.startswith("table ") else compares(sentence, way))
    ]


def test_the_study_carries_what_is_compared() -> None:
    """Else nothing of this could fail."""
    telling = {source for source in sources() if comparing(source, "original")}
    assert len(telling) >= 10
    assert {"finding compared.differences", "finding loading.read_ceiling", "table claims.holds"} <= telling
    assert {"table verdicts.sentence", "finding explaining.owners"} <= {*sources()}
    assert not SILENT.search(" ".join(heard("finding compared.differences", "original")))


@pytest.mark.parametrize("way", ["absent", "one run", "wild"])
def test_what_does_not_differ_is_not_said_to(way: str) -> None:
    assert not [(source, sentence) for source in sources() for sentence in comparing(source, way)]


def test_growth_of_one_stack_is_said_where_it_is_and_not_of_wild_noise() -> None:
    assert any(" grows" in sentence for sentence in heard("finding explaining.growth", "absent"))
    wild = heard("finding explaining.growth", "wild")
    assert wild
    assert not [
        sentence for sentence in wild if " grows" in sentence or re.search(r"MB per MB of text(?! \(95 %)", sentence)
    ]


def test_what_is_reversed_is_not_said_as_it_was() -> None:
    for source in sources():
        before = [sentence for sentence in comparing(source, "original") if not sentence.endswith(": True")]
        named = [sentence for sentence in before if exchange(sentence) != sentence or ORDERED.search(sentence)]
        assert not {*named} & {*heard(source, "reversed")}, source


def test_names_are_only_names() -> None:
    for source in sources():
        before, after = Counter(map(exchange, heard(source, "original"))), Counter(heard(source, "renamed"))
        assert before == after, source


def test_a_repeat_that_fails_leaves_no_trace_but_its_count() -> None:
    assert not [(source, sentence) for source in sources() for sentence in traces(source)]


def traces(source: str) -> list[str]:
    """What a source says that it would not say without the repeat that failed."""
    sentences = [FAILURES.sub("", sentence) for sentence in heard(source, "one fails")]
    other_numbers = {number for sentence in heard(source, "the others") for number in numbers(sentence)}
    added = {
        sentence: {*numbers(sentence)} - other_numbers - {str(number) for number in range(20)} for sentence in sentences
    }
    # With one comparison more, of what failed, less may be shown, and of another cell be told.
    tables = reads(source) if source in findings() else ()
    added = {sentence: [n for n in new if not carried(n, "the others", tables)] for sentence, new in added.items()}
    third = [sentence for sentence in sentences if re.search(r"\bn = 3\b", sentence)]
    return third + [sentence for sentence, new in added.items() if new]


def test_every_number_stands_in_the_tables_that_are_read() -> None:
    for source in findings():
        # Wall clock stands beside what was compared.
        tables = (*reads(source), *["runs"][: source == "finding compared.differences"])
        text = " ".join(heard(source, "original"))
        assert not [n for n in numbers(text) if len(n) > 2 and not carried(n, "original", tables)], source


def test_a_number_that_stands_nowhere_is_noticed() -> None:
    unnoticed = []
    for source in findings():
        for sentence in heard(source, "original"):
            unnoticed += [
                carried(f"{1.37 * float(number):.{len(number.partition('.')[2])}f}", "original", reads(source))
                for number in numbers(sentence)
                if len(number) > 3
            ]
    assert len(unnoticed) > 50
    assert sum(unnoticed) < len(unnoticed) / 2, f"{sum(unnoticed)} of {len(unnoticed)}"
