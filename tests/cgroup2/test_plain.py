"""cgroup v2 as root without systemd: run every case of `cases/` with place `plain` in a guest."""

import pytest

from . import guest


@pytest.mark.slow
@pytest.mark.guest
@pytest.mark.timeout(1800)  # the first one builds and boots the guest
@pytest.mark.parametrize("case", guest.cases("plain"))
@pytest.mark.parametrize("place", ["plain"])
def test_case(place, case, check):
    check(place, case)
