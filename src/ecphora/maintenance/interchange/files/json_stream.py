"""Reads the parts of a large file of JSON or JSON Lines one by one, so that only one part is in memory.

Lines of objects are read as an array of them. A part is decoded by the standard library at the speed of C. The file is
read in pieces until the part is complete.
"""

import codecs
import json
from collections.abc import Collection, Iterator
from typing import Any, Protocol

from ....errors import InvalidInput

Place = tuple[str | int, ...]
"""Where a value stands: the keys of objects and the indexes of arrays that lead to it."""
ELEMENTS, MEMBERS = "*", "**"
"""In a wanted place: every element of an array, every member of an object."""
ITEMS: tuple[Place, ...] = ((ELEMENTS,), (MEMBERS, ELEMENTS))
"""The elements of the array that a file is, or of all arrays in the object that it is."""
BROKEN_REST = "the rest of the file, which is not valid JSON"
"""The reason of what is left out behind the place where a file is broken."""
PIECE_BYTES = 1 << 20
"""How much is read at once, at least."""
MAX_VALUE_CHARS = 1 << 28
"""Characters of the largest part."""
_UNDECIDED_CHARS = 16
"""An error so near to the end of what was read may be one only because the rest is missing."""
_SPACE = " \t\n\r"
_DELIMITERS = frozenset(f"{_SPACE},:]}}")
"""What ends a number, which else may go on in the next piece."""


class BrokenJson(InvalidInput):
    """A file is not JSON, or ends too early; what was read before can be used."""


class ByteReader(Protocol):
    """A file opened as bytes."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, empty at the end."""
        ...


def read_values(file: ByteReader, name: str, wanted: Collection[Place]) -> Iterator[tuple[Place, Any]]:
    """Yield the values of a JSON file at wanted places, in the order of the file, each with its place.

    ``("*",)`` wants every element of the array that the file is, ``("chats", "*", "id")`` a field of every chat. All
    else is skipped. Raises ``BrokenJson``, with ``name``, where the file cannot be read any further.
    """
    reader = _Reader(file, name)
    if reader.has_lines():
        yield from reader.lines(wanted)
    else:
        yield from reader.values((), wanted)
        reader.check_end()


def _fits(wanted: str | int, key: str | int) -> bool:
    return wanted == ELEMENTS if isinstance(key, int) else wanted == MEMBERS or key == wanted != ELEMENTS


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


class _Reader:
    def __init__(self, file: ByteReader, name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._is_complete = "", 0, False
        self._json = json.JSONDecoder()

    def has_lines(self) -> bool:
        """Whether an object on one line comes first, and another one behind it."""
        if self._peek(may_end=True) != "{":
            return False
        while True:
            line, _, rest = self._text[self._at :].partition("\n")
            rest = rest.lstrip(_SPACE)
            if rest or self._is_complete or len(self._text) > PIECE_BYTES:
                return rest.startswith("{") and _is_object(line)
            self._read_on()

    def lines(self, wanted: Collection[Place]) -> Iterator[tuple[Place, Any]]:
        """Read objects until the end, as elements of an array."""
        index = 0
        while self._peek(may_end=True):
            yield from self.values((index,), wanted)
            index += 1

    def values(self, place: Place, wanted: Collection[Place]) -> Iterator[tuple[Place, Any]]:
        """Read the value that comes next, which stands at a place."""
        leading = [one for one in wanted if len(one) >= len(place) and all(map(_fits, one, place))]
        if any(len(one) == len(place) for one in leading):
            yield place, self._value()
            return
        opening = self._peek() if leading else ""
        if opening == "{":
            yield from self._members(place, wanted)
        elif opening == "[":
            yield from self._elements(place, wanted)
        else:
            self._value()

    def check_end(self) -> None:
        """Check that nothing comes after the value."""
        if self._peek(may_end=True):
            raise self._broken("goes on after its end")

    def _members(self, place: Place, wanted: Collection[Place]) -> Iterator[tuple[Place, Any]]:
        self._at += 1
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            if self._peek() != '"':
                raise self._broken("has a key that is no text")
            key = self._value()
            self._take(":")
            yield from self.values((*place, key), wanted)
            if self._take(",}") == "}":
                return

    def _elements(self, place: Place, wanted: Collection[Place]) -> Iterator[tuple[Place, Any]]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return
        index = 0
        while True:
            yield from self.values((*place, index), wanted)
            index += 1
            if self._take(",]") == "]":
                return

    def _value(self) -> Any:
        """Decode the value that comes next."""
        self._peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _UNDECIDED_CHARS
                if self._is_complete or not is_cut:
                    problem = "ends too early" if is_cut else f"is not JSON: {error.msg}"
                    raise self._broken(problem) from error
            except (ValueError, RecursionError) as error:  # a number of too many digits, too many brackets
                raise self._broken(f"cannot be read: {error}") from error
            else:
                rest = self._text[end : end + _UNDECIDED_CHARS]
                if self._is_complete or rest[:1] in _DELIMITERS or len(rest) == _UNDECIDED_CHARS:
                    self._at = end
                    return value
            self._read_on()

    def _peek(self, *, may_end: bool = False) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if self._is_complete:
                if may_end:
                    return ""
                raise self._broken("ends too early")
            self._read_on()

    def _take(self, choices: str) -> str:
        """Go past the next character, which must be one of some."""
        found = self._peek()
        if found not in choices:
            raise self._broken(f"is not JSON: there is no {' or '.join(choices)} where there should be one")
        self._at += 1
        return found

    def _read_on(self) -> None:
        """Read a piece, at least as long as what is left, so that a long part is decoded only a few times."""
        left = self._text[self._at :]
        if len(left) > MAX_VALUE_CHARS:
            raise self._broken("has a part that is too large")
        piece = self._file.read(max(PIECE_BYTES, len(left)))
        self._is_complete = not piece
        try:
            self._text, self._at = left + self._decode(piece, self._is_complete), 0
        except UnicodeDecodeError as error:
            raise self._broken("is not UTF-8") from error

    def _broken(self, problem: str) -> BrokenJson:
        return BrokenJson(f"{self._name} {problem}")
