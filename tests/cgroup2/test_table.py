"""The table of places in docs/watch.md names existing cases and tests."""

import re

from . import guest


def test_table_of_places_names_existing_cases_and_tests():
    text = (guest.PROJECT / "docs" / "watch.md").read_text()
    tables = text.partition("<!-- tested places -->")[2].partition("<!-- end of tested places -->")[0]
    named = set(re.findall(r"`([\w./]+)`", tables))
    cases = {case for place in guest.PLACES for case in guest.cases(place)}
    files = {name for name in named if name.endswith(".py")}
    assert len(named - files) > 15
    assert named - files <= cases, named - files - cases
    assert not [name for name in files if not (guest.HERE.parent / name).is_file()]
