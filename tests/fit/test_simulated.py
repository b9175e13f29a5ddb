"""Numbers and intervals of the policy as shipped, on a few simulated programs of each family."""

import pytest

from .simulated import BENT, FAMILIES, FULL, LINEAR, judged

PROGRAMS = 2


def of(growth):
    return [family for family in FAMILIES if family.growth == growth]


@pytest.mark.parametrize("family", of(BENT), ids=lambda family: family.name)
def test_bent_growth_has_no_number_or_a_right_one(family):
    line = judged(family, PROGRAMS)
    # Docs: at most one in twenty lies outside; all settings of one program may.
    assert line["numbers"] - line["inside"] <= line["settings"] / PROGRAMS


def test_linear_growth_has_numbers():
    lines = [judged(family, PROGRAMS) for family in of(LINEAR)]
    settings, numbers, inside = (sum(line[key] for line in lines) for key in ("settings", "numbers", "inside"))
    assert numbers >= 0.7 * settings
    assert inside >= 0.9 * numbers


@pytest.mark.parametrize("family", of(FULL), ids=lambda family: family.name)
def test_interval_of_measured_runs_holds_another_run(family):
    line = judged(family, 20)
    assert line["numbers"] == line["settings"]
    # Two runs that differ by 1 % look as if they differed by 0.2 % in one of four programs.
    assert line["inside"] > (0.75 if family.noise == 0.01 else 0.85) * line["numbers"]
