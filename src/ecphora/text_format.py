"""How days, counts and texts are shown: in words, on one line, shortened."""

from collections.abc import Sequence
from datetime import datetime


def long_day(time: datetime) -> str:
    """A time as a day: 3 September 2026."""
    return f"{time.day} {time:%B} {time.year:04}"


def short_day(time: datetime) -> str:
    """A time as a day: 3 Sep 2026."""
    return f"{time.day} {time:%b} {time.year:04}"


def short_minute(time: datetime) -> str:
    """A time to the minute: 3 Sep 2026 14:30."""
    return f"{short_day(time)} {time:%H:%M}"


def iso_minute(time: datetime) -> str:
    """A time as a day, with hour and minute unless it is midnight: 2026-09-03 14:30."""
    clock = "" if (time.hour, time.minute) == (0, 0) else f" {time:%H:%M}"
    return f"{time.year:04}-{time:%m-%d}{clock}"


def describe_now(time: datetime) -> str:
    """The present, with its day of the week and its zone: 2026-11-28 14:30, Saturday (Pacific/Auckland, UTC+13:00)."""
    minute = time.isoformat(timespec="minutes")
    name, offset = time.tzname(), f"UTC{minute[len('2026-11-28T14:30') :]}".removesuffix("+00:00")
    zone = offset if name is None or name.startswith("UTC") else f"{name}, {offset}"
    return f"{iso_minute(time)}, {time:%A} ({zone})"


def iso_day(time: str) -> str:
    """The day of an ISO 8601 time."""
    return time[: len("2026-09-03")]


def count_noun(count: int, singular: str, plural: str) -> str:
    """A count with its noun: 1 memory, 1,200 memories."""
    return f"{count:,} {singular if count == 1 else plural}"


def as_message(text: str, speaker: str | None) -> str:
    """A text as a message, after the name of its speaker, or "user" if that is unknown."""
    return f"{speaker or 'user'}: {text}"


def collapse_whitespace(text: str) -> str:
    """A text with single spaces for its white space, and none around it."""
    return " ".join(text.split())


def truncate(text: str, max_chars: int) -> str:
    """A text cut to at most ``max_chars`` characters, with an ellipsis where it is cut."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1].rstrip()}…"


def describe_validity(
    *, is_valid: bool, valid_to: str | None, superseded_by: Sequence[str], contradicted_by: Sequence[str]
) -> str:
    """The validity of a memory, from texts that show its end and the memories concerned; empty where nothing bounds it.

    Example: held until 3 Sep 2026; superseded by 4f2a.
    """
    parts = [] if valid_to is None else [f"{'holds' if is_valid else 'held'} until {valid_to}"]
    parts += [f"superseded by {', '.join(superseded_by)}"] if superseded_by else []
    parts += [f"contradicted by {', '.join(contradicted_by)}"] if contradicted_by else []
    return "; ".join(parts)
