"""Reads values of JSON that may have any shape: the value in the shape that is needed, or else nothing."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ....errors import InvalidTime
from ....model.ids import content_id
from ....model.text_format import collapse_whitespace, replace_surrogates, strip_invisible, truncate
from ....model.times import read_time
from ....model.validation import MAX_NAME_CHARS

_SLACK = 64
"""Characters of a name that a format may put in front of it."""
_FRACTION = re.compile(r"(\.\d{6})\d+")
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The value if it is a text with a visible character, else an empty one; lone surrogates are replaced."""
    if not isinstance(value, str) or not strip_invisible(value).strip():
        return ""
    return replace_surrogates(value).strip("\n\r \ufeff")


def as_name(value: object) -> str | None:
    """The value as a name, on one line and not too long, if it is a text with a visible character or a number."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= _SLACK:
        return str(value)
    text = collapse_whitespace(strip_invisible(as_text(value)))
    return truncate(text, MAX_NAME_CHARS - _SLACK) or None


def as_id(value: object) -> str | None:
    """The value as a part of an id; a digest of it if it is too long."""
    name = as_name(value)
    is_whole = name is not None and len(str(value)) <= MAX_NAME_CHARS // 4
    return name if name is None or is_whole else content_id(replace_surrogates(str(value)))


def as_epoch(value: object) -> datetime | None:
    """The time of seconds since 1970, a number or a text of digits; milliseconds are recognized by their size."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    seconds = seconds / 1000 if seconds > _LAST_SECOND else seconds
    if not 0 < seconds <= _LAST_SECOND:
        return None
    return datetime.fromtimestamp(round(seconds, 6), UTC)


def as_time(value: object) -> datetime | None:
    """The time of an ISO 8601 text, with its offset if it has one."""
    if not isinstance(value, str):
        return None
    try:
        return read_time(_FRACTION.sub(r"\1", value))
    except (InvalidTime, ValueError, OverflowError):
        return None


def in_utc(time: datetime | None) -> datetime | None:
    """A time of which the format says that it is in UTC, where it has no offset."""
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)
