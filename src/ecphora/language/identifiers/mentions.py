"""Identifiers in a text: numbers of things, keys, hashes, paths, names in code, addresses, telephone numbers, versions.

An identifier names one thing literally: 8080 is no nearer to 9080 than to 1234. Each is recognized by its shape and by
the words before it, in any language, and its value is equal for all spellings: case, full-width letters, escapes, and
separators that carry no meaning do not count. Years, dates, times, counts, amounts with a unit and ordinary words are
no identifiers.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping

from ...model.lazy import lazy_pattern
from ..scripts import stream_safe
from . import codes, locations, numbers
from .shapes import CODE_LIKE, PLAIN_RUN, RUN, SCAN, WORD
from .values import Identifier, Place

MAX_IDENTIFIERS = 500
"""How many identifiers of a text are read at most."""
_RAISED = dict.fromkeys((178, 179, 185, *range(8304, 8352), *range(188, 191)), " ")
"""Raised and lowered digits and fractions: NFKC would make a number of m²."""
_HYPHENS = {0x2010: "-", 0x2011: "-", 0x2212: "-", 0x00AD: None, 0x200B: None, 0xFE63: "-", 0xFF0D: "-"}
_OTHER_DIGIT = lazy_pattern(r"(?![0-9])\d")

_READERS: Mapping[str, Callable[[Place], Identifier | None]] = {
    "moment": lambda _place: None,
    "url": locations.read_url,
    "email": locations.read_email,
    "uuid": codes.read_uuid,
    "address": locations.read_address,
    "windows": locations.read_path,
    "path": locations.read_path,
    "flag": codes.read_name,
    "variable": codes.read_name,
    "scope": codes.read_name,
    "tag": codes.read_tag,
    "iban": codes.read_iban,
    "card": numbers.read_card,
    "phone": numbers.read_phone,
    "version": codes.read_version,
    "spaced": codes.read_spaced_code,
    "dotted": locations.read_dotted,
    "numeric": numbers.read_number,
    "token": codes.read_token,
}
"""How each shape of :data:`~.shapes.SCAN` is read."""


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """The identifiers of a text in order, each value once, at most :data:`MAX_IDENTIFIERS`.

    The time is linear in the length of the text.
    """
    found: dict[tuple[str, bool], Identifier] = {}
    for identifier in _scan(fold_notation(text)):
        found.setdefault((identifier.value, identifier.is_certain), identifier)
        if len(found) >= MAX_IDENTIFIERS:
            break
    return tuple(found.values())


def fold_notation(text: str) -> str:
    """A text with plain letters, digits and hyphens in place of their other widths and scripts; case stays."""
    if text.isascii():
        return text
    text = text.translate(_RAISED).translate(_HYPHENS)
    text = unicodedata.normalize("NFKC", stream_safe(text)).translate(_HYPHENS)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def _scan(text: str) -> Iterator[Identifier]:
    end = 0
    for run in RUN.finditer(text):
        if run.end() > end and PLAIN_RUN.fullmatch(run[0]) is None:
            place = max(run.start(), end)
            while place < run.end():
                place, identifier = _read_at(text, place)
                if identifier is not None:
                    yield identifier
            end = place


def _read_at(text: str, start: int) -> tuple[int, Identifier | None]:
    """What stands at a place, and where the next place begins."""
    match = SCAN.match(text, start)
    shape = match and match.lastgroup
    if match is None or shape is None:
        word = WORD.match(text, start)
        return (word.end() if word else start + 1), None
    identifier = _READERS[shape](Place(text, start, match.end()))
    if identifier is not None:
        return max(start + len(identifier.text), start + 1), identifier
    if shape in {"moment", "numeric", "token"}:
        return match.end(), None
    match = CODE_LIKE.match(text, start)  # no compound after all: what does it begin with?
    if match is None or match.lastgroup is None:
        word = WORD.match(text, start)
        return (word.end() if word else start + 1), None
    return match.end(), _READERS[match.lastgroup](Place(text, start, match.end()))
