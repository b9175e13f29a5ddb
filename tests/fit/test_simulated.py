"""Numbers and intervals of the policy as shipped, on a few simulated programs of each family."""

import pytest

from .simulated import BENT, FAMILIES, LINEAR, judged

PROGRAMS = 2


def of(growth):
    return [family for family in FAMILIES if family.growth == growth]


@pytest.mark.parametrize("family", of(BENT), ids=lambda family: family.name)
def test_bent_growth_has_no_number_or_a_right_one(family):
    line = judged(family, PROGRAMS)
    # Docs: at most one in twenty lies outside; all settings of one program may.
    assert line["numbers"] - line["inside"] <= line["settings"] / PROGRAMS
    assert line["at_least_holds"] == line["at_least"]


def test_linear_growth_has_numbers():
    lines = [judged(family, PROGRAMS) for family in of(LINEAR)]
    settings, numbers, inside = (sum(line[key] for line in lines) for key in ("settings", "numbers", "inside"))
    assert numbers >= 0.7 * settings
    assert inside >= 0.9 * numbers
