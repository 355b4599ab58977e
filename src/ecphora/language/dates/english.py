"""Rewrites English numbers in words into digits in dates: "the third of March", "half a year ago"."""

import re

from ...model.lazy import lazy_pattern
from .phrases import numbered
from .rewriting import RewriteRule

_ORDINALS = numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS |= {f"twenty-{word}": 20 + value for word, value in _ORDINALS.items() if value <= 9}
_ORDINALS |= {"thirtieth": 30, "thirty-first": 31}
ORDINAL_WORDS = frozenset(_ORDINALS) | {"half"}
"""The words without which no rule here applies."""

_ORDINAL = f"(?P<day>{'|'.join(sorted(_ORDINALS, key=len, reverse=True)).replace('-', '[- ]')})"
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|last month|this month|"
    "next month)"
)

ORDINAL_DAY = lazy_pattern(
    r"[a-z] of |\bon the |(?:[ly]|uary|[cm]ber|ust|march|june|month) (?:the )?[fsteno]|half a year", re.IGNORECASE
)
"""Where a rule here may apply."""


def _day(match: re.Match[str]) -> str:
    return f"{_ORDINALS[match['day'].lower().replace(' ', '-')]}th"


ENGLISH_RULES: tuple[RewriteRule, ...] = tuple(
    (lazy_pattern(pattern, re.IGNORECASE), write)
    for pattern, write in (
        (rf"\b{_ORDINAL}(?= (?:(?:day )?of )?{_MONTH}\b)", _day),
        (rf"\b(?P<month>{_MONTH}) (?:the )?{_ORDINAL}\b(?![- ][a-z])", lambda match: f"{match['month']} {_day(match)}"),
        (rf"(?<=\bon the ){_ORDINAL}\b(?! (?:day|floor|page|line))", _day),
        (r"\bhalf a year(?= ago\b)", lambda _match: "6 months"),
    )
)
