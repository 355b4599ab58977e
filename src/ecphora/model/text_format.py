"""How days, counts and texts are shown: in words, on one line, shortened, without invisible characters."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from .lazy import lazy_pattern


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


REPLACEMENT = "\ufffd"
"""Replaces a character that would control a terminal."""

_PICTOGRAPH = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
"""A pictograph, or a character that can be shown as one: roughly Unicode's ``Extended_Pictographic``."""
_EMOJI = f"{_PICTOGRAPH}(?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"


def _flag_sequence(region: str) -> str:
    """The flag of a region: a black flag, the region's letters as tags, and the cancel tag."""
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"


_MEANINGFUL = "|".join(
    (
        *map(_flag_sequence, ("gbeng", "gbsct", "gbwls")),  # the only ones recommended for interchange
        f"{_EMOJI}(?:\u200d{_EMOJI})*",
        "[0-9#*]\ufe0f?\u20e3",
        "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\U000e0100-\U000e01ef]",
        "[\u1820-\u18aa][\u180b-\u180d\u180f]",
        "(?<=[\u0600-\u08ff\u0900-\u109f\u1780-\u17ff\u1807-\u18aa\ua840-\uaaff])[\u200c\u200d]",
    )
)
"""Visible characters with the invisible ones that belong to them."""
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
_DEFAULT_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LINE_END = lazy_pattern("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ANY_INVISIBLE = lazy_pattern(f"[{_CONTROLS}{_DEFAULT_IGNORABLE}]")
_INVISIBLE = lazy_pattern(f"(?P<spelled>{_MEANINGFUL})|(?P<control>[{_CONTROLS}])|[{_DEFAULT_IGNORABLE}]")


def strip_invisible(text: str, *, replacement: str = "") -> str:
    """The text without invisible characters. ``replacement`` replaces each control; every line end becomes ``\\n``.

    Removed are the control characters (C0 and C1, without line end and tab) and the characters that Unicode calls
    default ignorable (``Default_Ignorable_Code_Point``, https://www.unicode.org/reports/tr44/), which include the tags
    U+E0000-E007F. Invisible characters that spell something are kept: the joiners, selectors and tags of an emoji
    (Unicode Technical Standard 51), one selector after an ideograph or a Mongolian letter, and joiners in the scripts
    that need them.
    """
    return _substitute(_LINE_END.sub("\n", text), lambda found: replacement if found["control"] else "")


def single_line(text: str, *, replacement: str = REPLACEMENT) -> str:
    """Like :func:`strip_invisible`, as one line: line ends and tabs become spaces."""
    return strip_invisible(text, replacement=replacement).replace("\n", " ").replace("\t", " ")


def escape_invisible(text: str) -> str:
    """The text with invisible characters written as ``\\uXXXX``; JSON text keeps its value."""
    return _substitute(text, lambda found: _escape(found[0]))


def replace_surrogates(text: str) -> str:
    """The text with question marks for lone surrogates, which cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _substitute(text: str, replace_match: Callable[[re.Match[str]], str]) -> str:
    if not _ANY_INVISIBLE.search(text):  # the usual case
        return text
    return _INVISIBLE.sub(lambda found: found[0] if found["spelled"] else replace_match(found), text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
