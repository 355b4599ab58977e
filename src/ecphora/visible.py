"""Texts without characters that are not seen: controls, direction overrides, invisible letters, hidden tags.

What is taken out are the control characters (C0 and C1, without line end and tab) and what Unicode calls default
ignorable (``Default_Ignorable_Code_Point``, https://www.unicode.org/reports/tr44/), which includes the tags
U+E0000-E007F. What stays of these is what spells something: the joiners, selectors and tags of an emoji (Unicode
Technical Standard 51), one selector behind an ideograph or a Mongolian letter, and joiners in the scripts that need
them.
"""

import re
from collections.abc import Callable

from .patterns import lazy_pattern

REPLACEMENT = "\ufffd"
"""What stands for a character that would steer a terminal."""

_PICTURE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
"""A picture, or a sign that can be shown as one: about what Unicode calls ``Extended_Pictographic``."""
_EMOJI = f"{_PICTURE}(?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"


def _tagged(region: str) -> str:
    """The flag of a region: a black flag, the region's letters as tags, and the tag that ends them."""
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"


_SPELLED = "|".join(
    (
        *map(_tagged, ("gbeng", "gbsct", "gbwls")),  # the only ones recommended for interchange
        f"{_EMOJI}(?:\u200d{_EMOJI})*",
        "[0-9#*]\ufe0f?\u20e3",
        "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\U000e0100-\U000e01ef]",
        "[\u1820-\u18aa][\u180b-\u180d\u180f]",
        "(?<=[\u0600-\u08ff\u0900-\u109f\u1780-\u17ff\u1807-\u18aa\ua840-\uaaff])[\u200c\u200d]",
    )
)
"""Characters that are seen, with those unseen that belong to them."""
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_LINE_END = lazy_pattern("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ANY = lazy_pattern(f"[{_CONTROLS}{_IGNORABLE}]")
_UNSEEN = lazy_pattern(f"(?P<spelled>{_SPELLED})|(?P<control>[{_CONTROLS}])|[{_IGNORABLE}]")


def visible(text: str, *, instead: str = "") -> str:
    """A text without what is not seen. ``instead`` stands where a control was; of line ends, only ``\\n`` is left."""
    return _replaced(_LINE_END.sub("\n", text), lambda found: instead if found["control"] else "")


def line(text: str, *, instead: str = REPLACEMENT) -> str:
    """The same as one line, for a name among other words."""
    return visible(text, instead=instead).replace("\n", " ").replace("\t", " ")


def spelled_out(text: str) -> str:
    """A text in which what is not seen is written as ``\\uXXXX``: of JSON, another way to write the same value."""
    return _replaced(text, lambda found: _escape(found[0]))


def _replaced(text: str, instead: Callable[[re.Match[str]], str]) -> str:
    if not _ANY.search(text):  # nearly always
        return text
    return _UNSEEN.sub(lambda found: found[0] if found["spelled"] else instead(found), text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
