"""The releases of the atlas, by a rule: of every minor series of the last months, its newest patch and its first."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stacks.index import Release

MONTHS = 24
_MONTH_DAYS = 365.25 / 12


def chosen(listed: "Iterable[Release]", months: float = MONTHS, until: datetime | None = None) -> "list[list[Release]]":
    """The releases to run: the newest patch of each minor series first, then the first of each where it is another.

    Each list is oldest first. Of final releases that are not yanked, can be installed here, and were uploaded in the
    months before `until`, by default now. Where an index knows no times, all count.
    """
    until = until or datetime.now(UTC)
    since = until - timedelta(days=months * _MONTH_DAYS)
    series: dict[tuple[int, ...], list[Release]] = {}
    for release in sorted(listed, key=lambda one: one.version):
        in_time = release.uploaded is None or since <= release.uploaded <= until
        if in_time and not (release.missing or release.yanked or release.version.is_prerelease):
            series.setdefault((release.version.epoch, *release.version.release[:2]), []).append(release)
    newest = [releases[-1] for releases in series.values()]
    first = [releases[0] for releases in series.values() if len(releases) > 1]
    return [newest, first]
