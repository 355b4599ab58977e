"""Parses a time that a caller passes into an aware datetime. Dates in prose are :mod:`.language.dates`."""

from datetime import UTC, date, datetime, timedelta

from .errors import InvalidTime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
"""The first and the last moment of the calendar; a time must lie between them in UTC too."""


def from_epoch_seconds(seconds: float) -> datetime:
    """Return the time of seconds since 1970, or the end of the calendar that is nearest."""
    if seconds >= LAST.timestamp():  # a float has no digits for the last microseconds and rounds them up
        return LAST
    return EPOCH + timedelta(seconds=max(float(seconds), FIRST.timestamp()))


def parse_time(value: object, *, end_of_day: bool = False) -> datetime:
    """Parse an ISO 8601 string, a date or a datetime; without a time zone it is UTC.

    A date without a time is its first instant; with ``end_of_day`` its last, so that "as of 1 June" includes that day.
    Raises ``InvalidTime`` for anything else, and for a time that is before the year 1 or after 9999 in UTC.
    """
    if isinstance(value, datetime):
        time = value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
        if time < FIRST or time > LAST:
            raise InvalidTime(
                f"{time.isoformat()} is not a date of the years 1 to 9999 in UTC; give one of these years"
            )
        return time
    if isinstance(value, date):
        day = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return day + (timedelta(days=1) - timedelta(microseconds=1)) if end_of_day else day
    if isinstance(value, str):
        text = value.strip()
        try:
            if len(text) <= len("2026-05-03"):
                return parse_time(date.fromisoformat(text), end_of_day=end_of_day)
            time = datetime.fromisoformat(text)
        except ValueError as error:
            raise InvalidTime(
                f"{value[:60]!r} is not a date ({error}); write 2026-05-03 or 2026-05-03T14:30"
            ) from error
        return parse_time(time)
    kind = type(value).__name__
    raise InvalidTime(
        f"an object of type {kind} is not a date; give 'YYYY-MM-DD', an ISO 8601 time, a date or a datetime"
    )
