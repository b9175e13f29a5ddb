"""Environments are those of their locks, whatever the times of both."""

import pytest


@pytest.mark.slow
def test_environment_of_another_lock_is_planned_although_it_is_newer(project, snakemake):
    marker = project / ".stacks/corpora/beyond-ram.lock"
    lock = marker.read_text()
    marker.write_text("click==8.1.0\n")
    try:
        done = snakemake("-n", ".stacks/corpora/beyond-ram.lock")
    finally:
        marker.write_text(lock)
    assert done.returncode == 0 and "rule stack:" in done.stdout + done.stderr, done.stderr[-3000:]
