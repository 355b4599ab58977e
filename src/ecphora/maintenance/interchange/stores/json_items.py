"""The items of a JSON file, one by one: of the array at its top, or of the arrays in the object at its top."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from ....errors import InvalidInput
from ....model.reprs import show
from ..folders import ProgressMeter

BROKEN_REST = "the rest of the file, which is not valid JSON"
MAX_ITEM_CHARS = 1 << 26
"""Characters of the longest item; what is not valid JSON is read no further than this."""
_CHUNK = 1 << 16
_LOOKAHEAD = 3
"""Characters behind a value after which it is whole: the buffer may end at the "e+" of "12e+5"."""
_SPACE = " \t\r\n"


class BrokenRest(Exception):  # not an error of the caller
    """The file is not valid JSON from here on; items were found before."""


def read_items(path: Path, meter: ProgressMeter | None = None) -> Iterator[tuple[str | None, object]]:
    """Yield each item with the key of its array, None for an array at the top; other values of an object as they are.

    Raises ``InvalidInput`` if the file does not begin as JSON, and ``BrokenRest`` if it breaks off later.
    """
    count = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            reader = _Reader(file.read, meter)
            for item in reader.items():
                yield item
                count += 1
    except (ValueError, RecursionError, OSError) as error:
        if count:
            raise BrokenRest(str(error)) from error
        raise InvalidInput(f"{show(str(path))} is not a JSON file of that format") from error


class _Reader:
    """Decodes values from a buffer that is filled as they need it."""

    def __init__(self, read: Callable[[int], str], meter: ProgressMeter | None) -> None:
        self._read, self._meter = read, meter
        self._decode = json.JSONDecoder().raw_decode
        self._text, self._at, self._is_end = "", 0, False

    def items(self) -> Iterator[tuple[str | None, object]]:
        opening = self._peek()
        if opening == "[":
            yield from ((None, item) for item in self._array())
        elif opening == "{":
            self._at += 1
            if self._peek() == "}":
                self._at += 1
            else:
                yield from self._members()
        else:
            raise ValueError("neither an array nor an object")
        if self._peek():
            raise ValueError("something behind the end")

    def _members(self) -> Iterator[tuple[str | None, object]]:
        while True:
            key = self._value()
            if not isinstance(key, str) or self._peek() != ":":
                raise ValueError("no key")
            self._at += 1
            if self._peek() == "[":
                yield from ((key, item) for item in self._array())
            else:
                yield key, self._value()
            separator = self._peek()
            self._at += 1
            if separator == "}":
                return
            if separator != ",":
                raise ValueError("no comma")

    def _array(self) -> Iterator[object]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            separator = self._peek()
            self._at += 1
            if separator == "]":
                return
            if separator != ",":
                raise ValueError("no comma")

    def _peek(self) -> str:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill(_CHUNK):
                return ""

    def _value(self) -> object:
        self._peek()
        size = _CHUNK
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at > MAX_ITEM_CHARS or not self._fill(size):
                    raise
            else:
                length = end - self._at
                if end + _LOOKAHEAD <= len(self._text) or not self._fill(size):
                    self._at += length
                    return value
            size *= 2

    def _fill(self, size: int) -> bool:
        more = "" if self._is_end else self._read(size)
        self._is_end = not more
        self._text, self._at = self._text[self._at :] + more, 0
        if self._meter:
            self._meter.advance(len(more))
        return bool(more)
