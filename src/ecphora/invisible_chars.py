"""Removes invisible characters from texts: controls, direction overrides, invisible letters, hidden tags.

Removed are the control characters (C0 and C1, without line end and tab) and the characters that Unicode calls default
ignorable (``Default_Ignorable_Code_Point``, https://www.unicode.org/reports/tr44/), which include the tags
U+E0000-E007F. Kept are those that spell something: the joiners, selectors and tags of an emoji (Unicode Technical
Standard 51), one selector after an ideograph or a Mongolian letter, and joiners in the scripts that need them.
"""

import re
from collections.abc import Callable

from .lazy_pattern import lazy_pattern

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
    """The text without invisible characters. ``replacement`` replaces each control; every line end becomes ``\\n``."""
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
