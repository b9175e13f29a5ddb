"""cgroup v2 as root without systemd: every case of `cases/` whose place is `plain`, run in a guest."""

import pytest

from . import guest
from .conftest import Check


@pytest.mark.slow
@pytest.mark.guest
@pytest.mark.timeout(1800)  # the first of them makes and boots the guest
@pytest.mark.parametrize("case", guest.cases("plain"))
@pytest.mark.parametrize("place", ["plain"])
def test_case(place: str, case: str, check: Check) -> None:
    check(place, case)
