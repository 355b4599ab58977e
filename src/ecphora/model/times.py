"""Times that a caller passes, as aware datetimes, the clock, and the time zone. Prose: ``language.dates``.

A time without an offset is local time of a zone. Every time that is parsed keeps only its offset, a fixed one of whole
minutes: two times are then equal exactly if they are the same instant, and the text of a time has all of it.
"""

import os
import re
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from ..errors import InvalidInput, InvalidTime, UnknownName
from .reprs import show

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
"""The first and the last moment of the calendar; a time must lie between them in UTC too."""
MINUTE = timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)
_CLOCK = re.compile(
    r"\d\d(?P<minute>:?\d\d(?P<second>:?\d\d(?:[.,](?P<fraction>\d+))?)?)?(?:z|[+-][\d:.,]+)?\Z", re.IGNORECASE
)
"""The clock at the end of an ISO 8601 time."""


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock


def from_epoch_seconds(seconds: float, zone: tzinfo = UTC) -> datetime:
    """Return the time of seconds since 1970, or the end of the calendar that is nearest, as it is in a zone."""
    if seconds >= LAST.timestamp():  # a float has no digits for the last microseconds and rounds them up
        return LAST
    return in_zone(EPOCH + timedelta(seconds=max(float(seconds), FIRST.timestamp())), zone)


def offset_minutes(time: datetime) -> int:
    """Return the offset of an aware time from UTC, in minutes; 0 for a time without one."""
    return round((time.utcoffset() or timedelta(0)) / MINUTE)


def zone_of_minutes(minutes: int, name: str | None = None) -> timezone:
    """Return the zone that is always so many minutes ahead of UTC."""
    offset = timedelta(minutes=minutes)
    return UTC if not offset and name is None else timezone(offset) if name is None else timezone(offset, name)


def local_seconds(time: datetime) -> float:
    """Return what the calendar and the clock on the wall show at a time, as seconds since they showed 1970."""
    return time.timestamp() + 60 * offset_minutes(time)


def in_zone(time: datetime, zone: tzinfo) -> datetime:
    """Return an aware time with the offset, and the name, that a zone has then; the instant is the same.

    At the ends of the calendar, where the zone's clock would leave it, the time keeps its own offset.
    """
    try:
        local = time.astimezone(zone)
    except (OverflowError, ValueError):
        return time
    return _with_fixed_offset(local, zone_name(zone))


def zone_name(zone: tzinfo) -> str | None:
    """Return the name of a zone in the tz database, such as "Europe/Berlin"; None for a zone without one."""
    name = getattr(zone, "key", None)
    return name if isinstance(name, str) else None


def _with_fixed_offset(time: datetime, name: str | None = None) -> datetime:
    fixed = zone_of_minutes(offset_minutes(time), name)
    if time.utcoffset() == fixed.utcoffset(None):
        return time.replace(tzinfo=fixed, fold=0)
    try:  # an offset with seconds, as before the zones of today; ISO 8601 has none
        return time.astimezone(fixed)
    except OverflowError:
        return time.replace(tzinfo=fixed, fold=0)


def read_time(value: object, *, end_of_period: bool = False) -> datetime:
    """Read an ISO 8601 string, a date or a datetime, with the offset that it names, or none.

    A date stands for its first instant, as does a string that names an hour, a minute, a second or a fraction of a
    second; with ``end_of_period`` both stand for the last instant, so that "as of 1 June" includes that day. A datetime
    is an instant. Raises ``InvalidTime`` for anything else.
    """
    if isinstance(value, datetime):
        if value != value:  # noqa: PLR0124  # the missing time of pandas is a datetime that equals nothing
            raise InvalidTime("a missing time is not a date; give 'YYYY-MM-DD', or leave it out")
        return value if value.utcoffset() is None else _in_calendar(value)
    if isinstance(value, date):
        day = datetime(value.year, value.month, value.day)  # noqa: DTZ001  # the caller knows the zone
        return day.replace(hour=23, minute=59, second=59, microsecond=999_999) if end_of_period else day
    if isinstance(value, str):
        text = value.strip()
        try:
            if len(text) <= len("2026-05-03"):
                return read_time(date.fromisoformat(text), end_of_period=end_of_period)
            time = datetime.fromisoformat(text)
        except ValueError as error:
            raise InvalidTime(f"{value[:60]!r} is not a date; write 2026-05-03 or 2026-05-03T14:30") from error
        time = time + (_period(text) - MICROSECOND) if end_of_period else time
        return time if time.utcoffset() is None else _in_calendar(time)
    kind = type(value).__name__
    raise InvalidTime(
        f"an object of type {kind} is not a date; give 'YYYY-MM-DD', an ISO 8601 time, a date or a datetime"
    )


def _period(text: str) -> timedelta:
    """The period that the clock of an ISO 8601 time names: "14:30" is a minute, "14:30:05.25" ten milliseconds."""
    clock = _CLOCK.search(text)
    if clock is None:
        return MICROSECOND
    if clock["fraction"]:
        return max(timedelta(seconds=10.0 ** -len(clock["fraction"])), MICROSECOND)
    return timedelta(seconds=1) if clock["second"] else MINUTE if clock["minute"] else timedelta(hours=1)


def parse_time(value: object, zone: tzinfo = UTC, *, end_of_period: bool = False) -> datetime:
    """Parse what :func:`read_time` reads; without an offset it is local time of ``zone``.

    A local time that comes twice means the first time, unless ``fold`` of the datetime is 1. A local time that the
    zone's clock leaves out has the offset from before the change. Raises ``InvalidTime`` also for a time that is before
    the year 1 or after 9999 in UTC.
    """
    time = read_time(value, end_of_period=end_of_period)
    if time.utcoffset() is None:
        local = time.replace(tzinfo=zone)
        time = time.replace(tzinfo=zone_of_minutes(offset_minutes(local)), fold=0)
    else:
        time = _with_fixed_offset(time)
    return _in_calendar(time)


def _in_calendar(time: datetime) -> datetime:
    """Return an aware time; raises ``InvalidTime`` for one before the year 1 or after 9999 in UTC."""
    if time < FIRST or time > LAST:
        raise InvalidTime(f"{time.isoformat()} is not a date of the years 1 to 9999 in UTC; give one of these years")
    return time


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
    """The zone of this machine, or the zone that the environment variable TZ names.

    The zone comes from the tz database if its name is known, else from the rules of the operating system.
    """
    try:
        return ZoneInfo(_local_zone_name())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return SystemZone()


def _local_zone_name() -> str:
    """The name of the zone in TZ or of the link; if neither names a zone, empty or the name of no zone."""
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
