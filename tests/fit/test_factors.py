"""Factors on the command line: parsing, and refusals in one line."""

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
