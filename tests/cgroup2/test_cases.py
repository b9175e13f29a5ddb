"""cgroup v2: every case of `cases/` in the guest of its place. The table in docs/watch.md names existing ones."""

import re

import pytest

from . import guest

MARKS = {"plain": [], "systemd": [pytest.mark.release]}
CASES = [pytest.param(place, case, marks=MARKS[place]) for place in guest.PLACES for case in guest.cases(place)]


@pytest.mark.slow
@pytest.mark.end_to_end
@pytest.mark.timeout(1800)  # the first one builds and boots the guest
@pytest.mark.parametrize(("place", "case"), CASES)
def test_case(place, case, check):
    check(place, case)


def test_table_of_places_names_existing_cases_and_tests():
    text = (guest.PROJECT / "docs" / "watch.md").read_text()
    tables = text.partition("<!-- tested places -->")[2].partition("<!-- end of tested places -->")[0]
    named = set(re.findall(r"`([\w./]+)`", tables))
    files = {name for name in named if name.endswith(".py")}
    assert len(named - files) > 15
    assert named - files <= {case.values[1] for case in CASES}
    assert not [name for name in files if not (guest.HERE.parent / name).is_file()]
