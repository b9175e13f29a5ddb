"""The time that a command's own group waited for memory."""

import os
from pathlib import Path

from ...watch.test_pressure import READ_AGAIN
from .common import PYTHON, watch

PLACE = "plain"


def case_pressure_of_the_group():
    data = Path("/var/tmp/read-again")
    data.write_bytes(bytes(60_000_000))
    descriptor = os.open(data, os.O_RDWR)
    os.fsync(descriptor)
    limited = watch("--memory-limit", "24M", "--", *PYTHON, READ_AGAIN, str(data))
    free = watch("--", *PYTHON, READ_AGAIN, str(data))
    stalls = limited.record["pressure"]
    assert stalls["of"] == free.record["pressure"]["of"] == "group", stalls
    return {"limited_some_s": stalls["some_s"], "free_some_s": free.record["pressure"]["some_s"]}
