"""The rule that chooses releases."""

from datetime import UTC, datetime

from packaging.version import Version

from beyond_ram.atlas.releases import chosen
from beyond_ram.stacks.index import Release


def release(text, date="2026-01-01", yanked=False, missing=""):
    uploaded = datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None
    return Release(Version(text), text, uploaded, yanked, missing)


UNTIL = datetime(2026, 6, 1, tzinfo=UTC)


def texts(listed, months=12.0):
    return [release.text for release in chosen(listed, months, UNTIL)]


def test_first_and_newest_patch_of_each_series_are_chosen():
    listed = [release(text) for text in ("1.10.0", "1.9.0", "1.9.2", "1.9.1", "2.0", "1.10.1")]
    assert texts(listed) == ["1.9.0", "1.9.2", "1.10.0", "1.10.1", "2.0"]


def test_only_recent_final_installable_releases_are_chosen():
    listed = [
        release("1.0", "2025-01-01"), release("1.1", "2025-05-01"), release("1.1.1", "2025-07-01"),
        release("1.2", yanked=True), release("1.3", missing="has no wheel"), release("1.4rc1"),
        release("1.5", "2026-06-02"),
    ]  # fmt: skip
    assert texts(listed) == ["1.1.1"]


def test_index_without_times_gives_all_releases():
    assert texts([release("1.0", None), release("1.1", None)]) == ["1.0", "1.1"]
