"""Locks of the releases of a package."""

from datetime import UTC, datetime

import pytest

from beyond_ram.stacks import index, release_locks
from beyond_ram.stacks.inline import Inline
from beyond_ram.stacks.release_locks import ReleaseLocks
from tests.bisect import served


@pytest.mark.slow
def test_yanked_release_may_pin_a_yanked_package(tmp_path, monkeypatch):
    versions = ("1.0", "1.1", "1.2")
    whole = [served.wheel(tmp_path, "whole", version, "", metadata=f"Requires-Dist: core=={version}")
             for version in versions]  # fmt: skip
    core = [served.wheel(tmp_path, "core", version, "") for version in versions]
    pages = {"whole": served.page("whole", whole, ["1.1"]), "core": served.page("core", core, ["1.1"])}
    with served.index(pages, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        releases = index.releases("whole")
        locks = ReleaseLocks("whole", Inline(("whole",)), tmp_path / "locks")
        locks.begin(releases)
        assert locks.lock(releases[1]).pins == {"whole": "1.1", "core": "1.1"}


def test_other_packages_are_as_of_the_day_after_the_newest_release():
    times = datetime(2024, 1, 1, tzinfo=UTC), None, datetime(2024, 6, 1, tzinfo=UTC)
    assert release_locks._day_after(*times) == "2024-06-02T00:00:00Z"
    assert not release_locks._day_after(None)
