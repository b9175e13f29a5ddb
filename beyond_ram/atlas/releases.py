"""The releases of the atlas: the newest and the first patch of every minor series of the last months."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stacks.index import Release

MONTHS = 24
_MONTH_DAYS = 365.25 / 12


def chosen(listed: "Iterable[Release]", months: float = MONTHS, until: datetime | None = None) -> "list[list[Release]]":
    """The releases to run: first the newest patch of each minor series, then the first patch of each, if it is another
    one.

    Each list is oldest first. Only final releases count that are not yanked, can be installed here, and were uploaded
    in the months before `until` (default: now). If an index has no times, all count.
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
