"""Telephone numbers in any notation: an international and a national notation of one number share a value.

Plain rules over the digits. The country codes follow ITU-T E.164: one digit for 1 and 7, two for the listed codes, else
three. No number is checked against a plan of numbers.
"""

import re
from dataclasses import dataclass

from ...model.lazy import lazy_pattern

_TWO_DIGIT_CODES = frozenset(
    """
    20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84
    86 90 91 92 93 94 95 98
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
MIN_DIGITS, MAX_DIGITS = 7, 15
"""How many digits a number has; E.164 allows 15."""
_GAP = r"[ \u00a0\u202f]?[-./()\u2013]?[ \u00a0\u202f]?\(?"
_GROUPS = rf"\d(?:{_GAP}\d){{6,16}}"
PHONE = (
    rf"(?:\+|00(?=[1-9]))[ ]?\(?[1-9](?:{_GAP}\d){{5,17}}"  # international
    rf"|\(0?\d{{2,5}}\)(?:{_GAP}\d){{4,12}}"  # (030) 5550-1847, (555) 123-4567
    rf"|0\d{{1,5}}[ \u00a0/.-](?:{_GAP}\d){{4,12}}"  # 030 5550 1847, 0171/1234567
    r"|0\d{8,11}"
    r"|(?:1[-. ])?\d{3}(?P<gap>[-. ])\d{3}(?P=gap)\d{4}"  # 555-123-4567
    r"|8[- ]\(?\d{3}\)?[- ]\d{3}[- ]\d{2}[- ]\d{2}"  # 8 (495) 123-45-67
    r"|1[3-9]\d[ -]\d{4}[ -]\d{4}"  # 138 1234 5678
    r"|0\d(?: \d{2}){4}"  # 01 23 45 67 89
    r"|\d{3}-\d{4}(?!-)"
)
"""The pattern of numbers that look like telephone numbers without a word that says so, where a number begins."""
GROUPED = lazy_pattern(_GROUPS)
"""Groups of digits that are a telephone number if a word before them says so."""
_TRUNK_IN_BRACKETS = lazy_pattern(r"\(\s*0\s*\)")


@dataclass(frozen=True, slots=True)
class PhoneNumber:
    """The value of a number: ``value`` with the country code if it has one, else ``national``, without a leading 0."""

    value: str
    national: str


def parse_phone_number(text: str) -> PhoneNumber | None:
    """The value of a telephone number as it is written; None if it has too few or too many digits."""
    is_international = text.startswith(("+", "00"))
    digits = re.sub(r"\D", "", _TRUNK_IN_BRACKETS.sub("", text) if is_international else text)
    if text.startswith("00"):
        digits = digits[2:]
    elif not is_international and len(digits) == 11 and digits[0] == "1" and digits[1] in "23456789":
        is_international = re.match(r"1[-. (]", text) is not None  # 1-555-123-4567
    if not MIN_DIGITS <= len(digits) <= MAX_DIGITS:
        return None
    if is_international:
        code = digits[:1] if digits[0] in "17" else digits[:2] if digits[:2] in _TWO_DIGIT_CODES else digits[:3]
        national = digits[len(code) :].lstrip("0")
        return PhoneNumber(f"tel:+{code}{national}", f"tel:{national}")
    if len(digits) == 11 and digits[0] == "8" and re.match(r"8[- (]", text):  # the trunk prefix of Russia
        digits = digits[1:]
    national = f"tel:{digits.lstrip('0')}"
    return PhoneNumber(national, national)
