"""The system's clock; everything else gets its time from a ``Clock`` that is handed in."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock
