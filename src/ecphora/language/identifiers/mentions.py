"""Identifiers in a text: numbers of things, keys, hashes, paths, names in code, addresses, telephone numbers, versions.

An identifier names one thing literally: 8080 is no nearer to 9080 than to 1234. Each is recognized by its shape and by
the words before it, in any language, and its value is equal for all spellings: case, full-width letters, escapes, and
separators that carry no meaning do not count. Years, dates, times, counts, amounts with a unit and ordinary words are
no identifiers.

The hashes by which identifiers and quantities are indexed, and by which a question looks them up.

They are kept apart from the terms of words: a memory's text analysis has them with the count 0.
"""

import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...model.lazy import lazy_pattern
from ...model.types import AskedIdentifier
from ..terms import extract_terms, hash_terms, stream_safe
from . import codes, numbers
from .codes import CODE_LIKE, PLAIN_RUN, RUN, SCAN, WORD
from .numbers import quantities
from .values import Identifier, Place

MAX_IDENTIFIERS = 500
"""How many identifiers of a text are read at most."""
_RAISED = dict.fromkeys((178, 179, 185, *range(8304, 8352), *range(188, 191)), " ")
"""Raised and lowered digits and fractions: NFKC would make a number of m²."""
_HYPHENS = {0x2010: "-", 0x2011: "-", 0x2212: "-", 0x00AD: None, 0x200B: None, 0xFE63: "-", 0xFF0D: "-"}
_OTHER_DIGIT = lazy_pattern(r"(?![0-9])\d")

_READERS: Mapping[str, Callable[[Place], Identifier | None]] = {
    "moment": lambda _place: None,
    "url": codes.read_url,
    "email": codes.read_email,
    "uuid": codes.read_uuid,
    "address": codes.read_address,
    "windows": codes.read_path,
    "path": codes.read_path,
    "flag": codes.read_name,
    "variable": codes.read_name,
    "scope": codes.read_name,
    "tag": codes.read_tag,
    "iban": codes.read_iban,
    "card": numbers.read_card,
    "phone": numbers.read_phone,
    "version": codes.read_version,
    "spaced": codes.read_spaced_code,
    "dotted": codes.read_dotted,
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


MAX_ASKED = 8
"""The most identifiers of a question that are looked up; a text with more asks about none of them."""


def index_hashes(*texts: str | None) -> NDArray[np.uint32]:
    """The distinct hashes, ascending, of the identifiers and quantities of a memory with these texts."""
    text = "\n".join(part for part in texts if part)
    found: set[int] = set(quantity_hashes(text))
    for identifier in find_identifiers(text):
        names = (identifier.value, *identifier.variants)
        if identifier.is_certain:
            found.update(map(_whole, names))
            found.add(_kind(identifier))
        else:
            found.update(map(_part, names))
        found.update(map(_part, identifier.parts))
    return np.array(sorted(found), np.uint32)


def asked_identifiers(question: str) -> tuple[AskedIdentifier, ...]:
    """The identifiers of a question; none if it has more than :data:`MAX_ASKED`."""
    certain = [identifier for identifier in find_identifiers(question) if identifier.is_certain]
    return tuple(map(_asked, certain)) if len(certain) <= MAX_ASKED else ()


def quantity_hashes(text: str) -> tuple[int, ...]:
    """The hashes of the quantities of a text, in order."""
    return tuple(_hash("quantity", quantity) for quantity in quantities(text))


def _asked(identifier: Identifier) -> AskedIdentifier:
    names = (identifier.value, *identifier.variants)
    return AskedIdentifier(
        text=identifier.text,
        whole=_distinct(map(_whole, names)),
        part=_distinct((*map(_part, names), *map(_whole, identifier.short_forms))),
        kind=_kind(identifier),
        terms=_distinct(hash_terms(extract_terms(identifier.text)).tolist()),
    )


def _distinct(hashes: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(hashes))


def _whole(value: str) -> int:
    return _hash("identifier", value)


def _part(value: str) -> int:
    return _hash("part", value)


def _kind(identifier: Identifier) -> int:
    return _hash("kind", identifier.kind)


def _hash(namespace: str, value: str) -> int:
    return zlib.crc32(f"{namespace}\0{value}".encode("utf-8", "surrogatepass"))
