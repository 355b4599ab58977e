"""What an identifier is: its kind, its value, and the names by which it may be asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class IdentifierKind(StrEnum):
    """What an identifier is by its shape; two identifiers of the same kind are look-alikes."""

    NUMBER = "number"
    CODE = "code"
    HEX = "hex"
    PATH = "path"
    NAME = "name"
    EMAIL = "email"
    URL = "url"
    PHONE = "phone"
    VERSION = "version"
    ADDRESS = "address"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier of a text: ``text`` as it is written, ``value`` in its normal form.

    ``variants`` are values that name the same thing. ``parts`` are values by which it may be asked for, such as the
    file name of a path; ``short_forms`` are values by which another text may name the same thing. ``is_certain`` is
    False for a number without a label that may be a count.
    """

    kind: IdentifierKind
    text: str
    value: str
    variants: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    short_forms: tuple[str, ...] = ()
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a text, from ``start`` to ``end``."""

    text: str
    start: int
    end: int

    @property
    def part(self) -> str:
        """The part."""
        return self.text[self.start : self.end]


def distinct(parts: Sequence[str], whole: str) -> tuple[str, ...]:
    """The parts of an identifier, each once, without the empty one and the whole."""
    return tuple(dict.fromkeys(part for part in parts if part and part != whole))
