"""The system's clock and time zone; everything else gets its time from a ``Clock``, and its zone, handed in."""

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ZONE_LINK = Path("/etc/localtime")
"""The file of the machine's zone; usually a link into the tz database, whose path ends with the zone's name."""


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock


def local_zone() -> tzinfo:
    """The zone of this machine, or the one that the environment variable TZ names.

    It is the one of the tz database if its name is known, else one by the rules of the operating system.
    """
    try:
        return ZoneInfo(_local_zone_name())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return SystemZone()


def _local_zone_name() -> str:
    """The name of the zone in TZ or of the link; empty, or that of no zone, if neither names one."""
    path = os.environ.get("TZ")
    if path is None:
        path = str(ZONE_LINK.resolve()) if ZONE_LINK.is_symlink() else ""
    return path.removeprefix(":").rpartition("zoneinfo/")[2]


class SystemZone(tzinfo):
    """The zone of this machine by the rules of its operating system, which does not tell its name."""

    def __repr__(self) -> str:
        return "SystemZone()"

    def utcoffset(self, local: datetime | None, /) -> timedelta | None:
        """The offset at a local time; ``fold`` says which, if the time comes twice."""
        if local is None:
            return None
        try:
            return local.replace(tzinfo=None).astimezone().utcoffset()
        except (OSError, OverflowError, ValueError):  # a year that the operating system does not know
            return timedelta(seconds=-time.timezone)

    def dst(self, _local: datetime | None, /) -> None:
        """None: not known."""

    def tzname(self, _local: datetime | None, /) -> None:
        """None: not known."""

    def fromutc(self, utc: datetime, /) -> datetime:
        """The local time of a time in UTC that has this zone."""
        try:
            local = utc.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)
        except (OSError, OverflowError, ValueError):
            return utc + timedelta(seconds=-time.timezone)
        return local if local - local.utcoffset() == utc else local.replace(fold=1)  # type: ignore[operator]  # never None
