"""The releases of the atlas: the newest and the first patch of every minor series of the last months."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stacks.index import Release

MONTHS = 24
_MONTH_DAYS = 365.25 / 12


def chosen(listed: "Iterable[Release]", months: float = MONTHS, until: datetime | None = None) -> "list[Release]":
    """The first and the newest patch of each minor series, oldest first.

    Only final releases count that are not yanked, can be installed here, and were uploaded in the months before `until`
    (default: now). If an index has no times, all count.
    """
    until = until or datetime.now(UTC)
    since = until - timedelta(days=months * _MONTH_DAYS)
    series: dict[tuple[int, ...], list[Release]] = {}
    for release in sorted(listed, key=lambda one: one.version):
        in_time = release.uploaded is None or since <= release.uploaded <= until
        if in_time and not (release.missing or release.yanked or release.version.is_prerelease):
            series.setdefault((release.version.epoch, *release.version.release[:2]), []).append(release)
    return [one for releases in series.values() for one in dict.fromkeys([releases[0], releases[-1]])]
