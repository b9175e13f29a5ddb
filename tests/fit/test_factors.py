"""Factors on the command line: parsing, and refusals in one line."""

import pytest

from beyond_ram.fit.factors import plan

COMMAND = ["python", "train.py", "--workers", "{workers}", "--rows={rows}"]


def test_values_are_put_into_the_command():
    parsed = plan(COMMAND, ["workers=4,0,2"], ["rows=100k..2.5M"])
    assert parsed.varied == {"workers": (0, 2, 4)}
    assert parsed.growth
    assert (parsed.growth.first, parsed.growth.target) == (100_000, 2_500_000)
    assert parsed.words((2,), 200_000) == ["python", "train.py", "--workers", "2", "--rows=200000"]


def test_other_braces_stay_unchanged():
    script = ["sh", "-c", "for n in 1; do echo ${HOME} {other} {rows}; done"]
    assert plan(script, [], ["rows=1..2"]).words((), 1)[-1] == "for n in 1; do echo ${HOME} {other} 1; done"


@pytest.mark.parametrize(
    ("command", "vary", "grow", "phrase"),
    [
        (["true", "{workers}", "--b={batch}"], ["workers=0"], [], "batch"),
        (["true", "{workers}"], ["workers=1.5"], [], "1.5"),
        (["true", "{rows}"], [], ["rows=5..5"], "rows"),
        (["true", "{rows}"], ["rows=1"], ["rows=1..5"], "rows"),
        (["true", "{rows}", "{more}"], [], ["rows=1..5", "more=1..5"], "more"),
        ([], ["workers=1"], [], "program"),
    ],
)
def test_bad_factors_get_one_line(command, vary, grow, phrase):
    with pytest.raises(ValueError, match=phrase) as error:
        plan(command, vary, grow)
    assert "\n" not in str(error.value)
