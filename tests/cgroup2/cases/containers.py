"""Groups laid out as each runtime lays them out, on cgroup v2."""

import tempfile
from pathlib import Path
from unittest import mock

from ...watch import test_containers as layouts
from . import Skip

PLACE = "plain"


def case_group_of_each_runtime():
    if reason := layouts._no_groups_reason():
        raise Skip(reason)
    # Some of those that tests/watch lays out on this machine: what differs is how the kernel names groups.
    chosen = list(layouts.LAYOUTS)[::4]
    with mock.patch.object(layouts, "HOLDS", layouts.HOLDS.replace("60_000_000", "0")):  # not measured here
        for layout in chosen:
            print(layout)
            layouts.test_group_of_each_runtime_is_found(layout, Path(tempfile.mkdtemp()))
    return {"layouts": len(chosen)}


def case_summary_of_a_container():
    layouts.test_summary_has_memory_that_is_evicted_killed_and_kept(Path(tempfile.mkdtemp()))
