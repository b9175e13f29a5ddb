"""systemd as the first process: root's service, an ordinary user's session."""

import os
import subprocess
from pathlib import Path

PLACE = "systemd"


def case_systemd_is_the_first_process() -> dict[str, object]:
    assert Path("/proc/1/comm").read_text().strip() == "systemd"
    assert "memory" in Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    said = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout
    return {"kernel": os.uname().release, "systemd": said.splitlines()[0]}
