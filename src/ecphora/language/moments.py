"""What callers give as a time, as a datetime with a zone. Not a reader of prose: that is :mod:`.dates`."""

from datetime import UTC, date, datetime, timedelta

from ..errors import InvalidTime


def moment(value: object, *, end: bool = False) -> datetime:
    """Read an ISO 8601 text, a date or a datetime; without a zone it is UTC.

    A bare day is its first instant, with ``end`` its last (so that "as of 1 June" includes that day). Raises
    ``InvalidTime`` for anything else.
    """
    if isinstance(value, datetime):
        return value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        day = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return day + (timedelta(days=1) - timedelta(microseconds=1)) if end else day
    if isinstance(value, str):
        text = value.strip()
        try:
            if len(text) <= len("2026-05-03"):
                return moment(date.fromisoformat(text), end=end)
            return moment(datetime.fromisoformat(text))
        except ValueError as error:
            raise InvalidTime(f"{value[:60]!r} is no date ({error}); write 2026-05-03 or 2026-05-03T14:30") from error
    raise InvalidTime(f"{value!r} is no date; give 'YYYY-MM-DD', an ISO 8601 time, a date or a datetime")
