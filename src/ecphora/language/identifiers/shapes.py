"""The shapes of identifiers as patterns, matched where a word may begin. All repeats are bounded: time is linear."""

from ...model.lazy import lazy_pattern
from ..scripts import UNSPACED_CHARS
from .phone_numbers import PHONE

LETTERS = r"A-Za-z\u00aa-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
"""Latin, Greek and Cyrillic letters, as in a character class."""
_W = rf"{LETTERS}0-9_"
_END = rf"(?![{_W}])"
_TOKEN = rf"[{_W}]{{1,80}}+(?:-[{_W}]{{1,80}}+){{0,12}}"
_URL_CHAR = rf"[^\s\"'<>`{{}}|\\^{UNSPACED_CHARS}\u3000-\u303f\u2018-\u201f]"
_FILE = rf"[{_W}.][{_W}.+@%~=-]{{0,120}}"
_FILE_SPACED = rf"{_FILE}(?: [{_W}.+@%~=()-]{{1,60}}){{0,3}}"
_LINES = r"(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7}(?:,\d{1,7})?\)|#L\d{1,7})?"
_HEX4 = "[0-9A-Fa-f]{1,4}"
_SUFFIX = (
    r"(?:[-.+]?(?i:rc|alpha|beta|dev|post|pre|preview|snapshot|final|b|a)[-.]?\d{0,6}(?:\.\d{1,6})?)?(?:\+[\w.]{1,40})?"
)

RUN = lazy_pattern(rf"[^\s{UNSPACED_CHARS}]+")
"""What stands between spaces or characters of a script without spaces."""
PLAIN_RUN = lazy_pattern(
    rf"[^{_W}#@$/~\\%-]*+(?:[{LETTERS}]?[a-z\u00df-\u00f6\u00f8-\u00ff]*+|[A-Z]{4, 60}+)"
    rf"(?:(?<=[{LETTERS}])[-'’][{LETTERS}]?[a-z\u00df-\u00f6\u00f8-\u00ff]*+)*+[^{_W}#@$/~\\(\[.-]*+[.)]*+"
)
"""A word, with punctuation around it: no identifier begins here."""
WORD = lazy_pattern(rf"[{_W}]+")

_SHAPES = {
    "moment": r"\d{4}-\d\d-\d\d[T_]\d\d(?::?\d\d){0,2}(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?",
    "url": rf"(?:[A-Za-z][A-Za-z0-9+.-]{{1,15}}://|www\.){_URL_CHAR}{{2,2000}}",
    "email": r"[A-Za-z0-9_][A-Za-z0-9_.+%-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}"
    r"\.[A-Za-z][A-Za-z0-9-]{1,62}",
    "uuid": rf"[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}{_END}",
    "address": rf"(?:[0-9A-Fa-f]{{2}}[:-]){{5}}[0-9A-Fa-f]{{2}}{_END}(?![:-][0-9A-Fa-f])"
    rf"|(?:{_HEX4}:){{7}}{_HEX4}{_END}|{_HEX4}(?::{_HEX4}){{0,6}}::(?:{_HEX4}(?::{_HEX4}){{0,6}})?{_END}(?!:)"
    rf"|\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\.?\d)(?:/\d{{1,2}}|:\d{{1,5}})?{_END}",
    "windows": rf"(?:[A-Za-z]:|\\\\[{_W}.-]{{1,60}}|%[A-Z_]{{2,30}}%|\.{{1,2}}|[{_W}.-]{{1,60}})"
    rf"(?:\\\\?{_FILE_SPACED}(?=\\)){{0,30}}\\\\?{_FILE}{_LINES}",
    "path": rf"(?:~|\.{{1,2}}|\$\{{?[A-Z_]{{2,40}}\}}?|[{_W}@.-][{_W}.+@%~=-]{{0,80}})?(?:/{_FILE}){{1,40}}/?{_LINES}"
    rf"|[{_W}][{_W}.+-]{{0,80}}\.[A-Za-z][A-Za-z0-9]{{0,7}}(?::\d{{1,7}}(?::\d{{1,7}})?|\(\d{{1,7}},\d{{1,7}}\)|#L\d{{1,7}})",
    "flag": rf"--[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+){{0,8}}{_END}",
    "variable": rf"\$\{{?[A-Za-z_][A-Za-z0-9_]{{1,60}}\}}?{_END}|%[A-Z_][A-Z0-9_]{{1,60}}%",
    "scope": r"[A-Za-z_][A-Za-z0-9_]{0,60}(?:(?:::|->)[A-Za-z_~][A-Za-z0-9_]{0,60}){1,8}(?:\(\))?"
    r"|[A-Za-z_][A-Za-z0-9_]{0,60}(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}){0,8}\(\)",
    "tag": rf"[#@](?:[{LETTERS}]|[{UNSPACED_CHARS}])(?:[{_W}{UNSPACED_CHARS}-]){{0,60}}",
    "iban": rf"[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_END}",
    "card": r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?!\d)",
    "phone": rf"(?:{PHONE})(?!\d|[.,/-]\d){_END}",
    "version": rf"[vV]\d{{1,5}}(?:\.\d{{1,8}}){{0,4}}{_SUFFIX}{_END}(?!\.\d)"
    rf"|\d{{1,5}}(?:\.\d{{1,8}}){{2,3}}{_SUFFIX}{_END}(?!\.\d)",
    "spaced": rf"[A-Z]{{2,3}} \d{{2,5}}{_END}(?![.,:/-]\d)",
    "dotted": rf"[{_W}]{{1,60}}(?:-[{_W}]{{1,60}}){{0,6}}(?:\.[{_W}]{{1,60}}(?:-[{_W}]{{1,60}}){{0,6}}){{1,12}}",
    "numeric": rf"#?\d{{1,40}}(?:[.,:'’/\u2013-]\d{{1,40}}){{0,12}}{_END}(?!-[{LETTERS}])",
    "token": rf"#?{_TOKEN}",
}


def _compound(names: tuple[str, ...]) -> str:
    return rf"(?<![{_W}])(?:{'|'.join(f'(?P<{name}>{_SHAPES[name]})' for name in names)})"


SCAN = lazy_pattern(_compound(tuple(_SHAPES)))
"""Every shape, the more special first; the last group is named after the shape."""
CODE_LIKE = lazy_pattern(_compound(("numeric", "token")))
"""What a compound begins with that turned out to be none, such as the first number of a date."""
