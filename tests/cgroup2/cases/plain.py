"""Root without systemd."""

import os
from pathlib import Path

PLACE = "plain"


def case_the_kernel_has_cgroup_v2() -> dict[str, object]:
    assert "memory" in Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    assert Path("/proc/pressure/memory").exists()
    assert not Path("/run/systemd/system").exists()
    return {"kernel": os.uname().release}
