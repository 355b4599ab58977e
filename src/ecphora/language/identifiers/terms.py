"""The hashes by which identifiers and quantities are indexed, and by which a question looks them up.

They are kept apart from the terms of words: a memory's text analysis has them with the count 0.
"""

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...model.types import AskedIdentifier
from ..terms import extract_terms, hash_terms
from .mentions import find_identifiers
from .quantities import quantities
from .values import Identifier

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
