"""Quantities: amounts with a unit or a currency, such as 5 kg, 20 euros or $50, in one form for all spellings.

Amounts are compared as they are written: 1 kg and 1000 g are two quantities.
"""

import re
from collections.abc import Mapping

from ...model.lazy import lazy_pattern
from ..lexicon_file import read_lexicon
from ..scripts import UNSPACED_CHARS

UNITS: Mapping[str, str] = {
    spelling: unit for unit, spellings in read_lexicon("identifiers")["units"].items() for spelling in spellings.split()
}
"""The canonical unit of each spelling."""
CURRENCY_SIGNS = "€$£¥₹₽₩"
"""The signs that stand before or after an amount."""
MAX_QUANTITIES = 200
"""How many quantities of a text are read at most."""


def _alternatives() -> str:
    return "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))


_DIGIT = lazy_pattern(r"\d")
_NUMBER = r"\d{1,12}(?:[.,' \u00a0\u202f]\d{3}(?!\d)){0,4}(?:[.,]\d{1,6})?"
_CURRENCY_BEFORE = r"eur|usd|gbp|jpy|cny|inr|chf|rub|krw|us\$|r\$"
_NO_WORD_AFTER = rf"(?!(?![{UNSPACED_CHARS}])[^\W\d_])(?![\d_=])"
_UNIT_AFTER = lazy_pattern(rf"[ \u00a0\u202f-]?(?P<unit>{_alternatives()}){_NO_WORD_AFTER}", re.IGNORECASE)
_BEFORE = rf"(?P<sign>[{CURRENCY_SIGNS}]|(?<![a-z])(?:{_CURRENCY_BEFORE}))\s?"
_QUANTITY = lazy_pattern(rf"(?:{_BEFORE})?(?<![\d.,])(?P<number>{_NUMBER})", re.IGNORECASE)


def quantities(text: str) -> tuple[str, ...]:
    """The distinct quantities of a text in order, each as a number and a canonical unit: "5 kg", "20 eur"."""
    found: dict[str, None] = {}
    if _DIGIT.search(text) is None:  # the usual case
        return ()
    for match in _QUANTITY.finditer(text):
        sign, after = match["sign"], unit_after(text, match.end())
        unit = UNITS[sign.lower()] if sign else after
        if unit:
            found[f"{_normal_number(match['number'])} {unit}"] = None
            if len(found) >= MAX_QUANTITIES:
                break
    return tuple(found)


def unit_after(text: str, end: int) -> str | None:
    """The canonical unit that stands at a place of a text, with or without a space before it; None for none."""
    match = _UNIT_AFTER.match(text, end)
    return None if match is None else UNITS.get(match["unit"]) or UNITS.get(match["unit"].lower())


def is_currency(word: str) -> bool:
    """Whether a word is a unit of money that may stand before an amount, as in EUR 50."""
    return UNITS.get(word.lower(), "") in {"eur", "usd", "gbp", "jpy", "cny", "inr", "chf", "rub", "krw", "sek", "brl"}


def _normal_number(number: str) -> str:
    """A number without separators of thousands, with a decimal point, without zeros at its end."""
    whole, point, decimals = number, "", ""
    if (place := max(number.rfind(","), number.rfind("."))) >= 0 and len(number) - place != 4:
        whole, point, decimals = number[:place], ".", number[place + 1 :]
    whole = re.sub(r"\D", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}{point}{decimals}" if decimals else whole
