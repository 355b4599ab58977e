"""Time zones: the one that a caller names, and that of this machine."""

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from .errors import InvalidInput, UnknownName
from .reprs import show
from .timeparse import EPOCH

ZONE_LINK = Path("/etc/localtime")
"""The file of the machine's zone; usually a link into the tz database, whose path ends with the zone's name."""


def check_zone(value: object) -> tzinfo:
    """Check a time zone: a name of the tz database, or a ``tzinfo``; None is the zone of this machine."""
    if value is None:
        return local_zone()
    if hasattr(value, "localize"):  # a zone of pytz, which as a tzinfo would give the local mean time of old
        value = getattr(value, "zone", None) or UTC
    if isinstance(value, tzinfo):
        if value.utcoffset(EPOCH.replace(tzinfo=None)) is None:
            raise InvalidInput(f"zone is {show(value)}, which has no offset; give a name such as 'Europe/Berlin'")
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"zone is {show(value)}; give a name such as 'Europe/Berlin', or a tzinfo")
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = "" if available_timezones() else "; this machine has no tz database: pip install tzdata"
        raise UnknownName(
            f"no time zone is called {show(value)}; give a name of the tz database, such as 'Europe/Berlin' or "
            f"'UTC'{hint}"
        ) from error


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
