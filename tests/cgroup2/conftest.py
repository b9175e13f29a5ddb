"""The guests. Each place is booted once, with its selected cases."""

import pytest

from . import guest


@pytest.fixture(scope="session")
def _booted():
    return {}


@pytest.fixture
def check(request, _booted):
    """Return a function that checks the result of a case, which ran in the guest of its place."""

    def check_case(place, case):
        if reason := guest.missing():
            pytest.skip(reason)
        if place not in _booted:
            selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
            names = [params["case"] for params in selected if params.get("place") == place]
            _booted[place] = guest.boot(place, names)
        result = _booted[place][case]
        print(f"{place}: {case}: {result.duration_s} s in the guest {result.numbers or ''}\n{result.text}")
        if result.outcome == "skipped":
            pytest.skip(result.text)
        assert result.outcome == "passed", result.text

    return check_case
