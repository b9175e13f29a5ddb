"""cgroup v2 with systemd as the first process: run every case of `cases/` with place `systemd` in a guest."""

import pytest

from . import guest


@pytest.mark.slow
@pytest.mark.guest
@pytest.mark.release
@pytest.mark.timeout(1800)  # the first one builds and boots the guest
@pytest.mark.parametrize("case", guest.cases("systemd"))
@pytest.mark.parametrize("place", ["systemd"])
def test_case(place, case, check):
    check(place, case)
