"""Environments are those of their locks, whatever the times of both."""

import pytest

from .changes import replaced


@pytest.mark.slow
def test_environment_of_another_lock_is_planned_although_it_is_newer(project, snakemake):
    marker = project / ".stacks/corpora/beyond-ram.lock"
    with replaced(marker, "", "click==8.1.0\n"):
        marker.touch()
        done = snakemake("-n", ".stacks/corpora/beyond-ram.lock")
    assert done.returncode == 0 and "rule stack:" in done.stdout + done.stderr, done.stderr[-3000:]
