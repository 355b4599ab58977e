"""Changes values in JSON with comments and trailing commas, as editors allow it, and keeps the rest byte for byte."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_INDENT = "  "

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
"""What may stand between two tokens: white space and comments."""
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)(?!\w)'
)
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Member:
    """A name and its value in an object; ``start`` is where the name begins."""

    name: str
    start: int
    value: "Value"


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its place in the text. An object has members, in their order, and may end with a comma."""

    start: int
    end: int
    data: Any
    members: tuple[Member, ...] = ()
    has_last_comma: bool = False


def parse(text: str) -> Value | None:
    """The value of a text, or None if it has none; raises ``ValueError``, which names the line, if it is not valid."""
    parser = _Parser(text)
    if parser.skip_gap() == len(text):
        return None
    value = parser.read_value()
    if parser.skip_gap() < len(text):
        raise parser.error("something follows the value")
    return value


def merge(text: str, changes: Mapping[str, Any]) -> str:
    """Put values into the object of a text: objects are merged, and other values replaced.

    New members go to the end of their object, indented as the others are. Raises ``ValueError`` if the text is not
    valid, is no object, or names what is changed twice.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    root = parse(text)
    if root is None:
        gap = "" if not text or text.endswith("\n") else newline
        return text + gap + _render(changes, DEFAULT_INDENT, "", newline) + newline
    if not isinstance(root.data, dict):
        raise ValueError("it is no object")  # noqa: TRY004  # the text is at fault
    merged, position = [], 0
    for start, end, new in _Merger(text, newline, _unit(text, root)).edits(root, changes):
        merged += [text[position:start], new]
        position = end
    result = "".join([*merged, text[position:]])
    found = parse(result)
    if found is None or found.data != _merge_data(root.data, changes):
        raise ValueError("the change would alter other values")
    return result


def _merge_data(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a merge results in."""
    merged = dict(data)
    for name, new in changes.items():
        old = merged.get(name)
        merged[name] = _merge_data(old, new) if isinstance(new, Mapping) and isinstance(old, dict) else new
    return merged


def _render(value: Any, unit: str, indent: str, newline: str) -> str:
    """A value as lines of JSON, all but the first indented."""
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _line_indent(text: str, position: int) -> str:
    """The white space at the beginning of the line of a position."""
    found = _INDENT.match(text, text.rfind("\n", 0, position) + 1)
    return found[0] if found else ""


def _own_line_indent(text: str, position: int) -> str | None:
    """The white space before a position, None if anything else is before it in its line."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return None if before.strip(" \t") else before


def _unit(text: str, root: Value) -> str:
    """What one level is indented by."""
    return (_own_line_indent(text, root.members[0].start) if root.members else None) or DEFAULT_INDENT


@dataclass(frozen=True, slots=True)
class _Merger:
    """Finds the edits of a merge: parts of the text, from start to end, and what replaces them."""

    text: str
    newline: str
    unit: str

    def edits(self, target: Value, changes: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
        """The edits that put values into an object, in their order."""
        missing = dict(changes)
        names = [member.name for member in target.members]
        for member in target.members:
            if member.name not in changes:
                continue
            if names.count(member.name) > 1:
                raise ValueError(f"it has {member.name!r} twice")
            new = missing.pop(member.name)
            if isinstance(new, Mapping) and isinstance(member.value.data, dict):
                yield from self.edits(member.value, new)
            elif not _is_same(member.value.data, new):
                indent = _line_indent(self.text, member.start)
                yield member.value.start, member.value.end, _render(new, self.unit, indent, self.newline)
        if missing:
            yield from self._insertion(target, missing)

    def _insertion(self, target: Value, members: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
        """The edits that put members at the end of an object, after what else is there."""
        text, closing = self.text, target.end - 1
        outer = _line_indent(text, target.start)
        first = _own_line_indent(text, target.members[0].start) if target.members else None
        indent = outer + self.unit if first is None else first
        if target.members and not target.has_last_comma:
            comma = target.members[-1].value.end
            yield comma, comma, ","
        lines = [
            f"{self.newline}{indent}{json.dumps(name, ensure_ascii=False)}: "
            + _render(value, self.unit, indent, self.newline)
            for name, value in members.items()
        ]
        place = len(text[:closing].rstrip(" \t\r\n"))
        end = "," if target.has_last_comma else ""
        if "\n" not in text[place:closing]:
            end += self.newline + outer
        yield place, place, ",".join(lines) + end


def _is_same(old: Any, new: Any) -> bool:
    """Whether two values are the same JSON; in Python, 1 equals true."""
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


class _Parser:
    """Reads the values of a text, from the position on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def error(self, problem: str) -> ValueError:
        """What is wrong at the position."""
        line = self._text.count("\n", 0, self._position) + 1
        column = self._position - self._text.rfind("\n", 0, self._position)
        return ValueError(f"line {line}, column {column}: {problem}")

    def skip_gap(self) -> int:
        """Go to the next token, and return the position."""
        found = _GAP.match(self._text, self._position)
        self._position = found.end() if found else self._position
        return self._position

    def read_value(self) -> Value:
        """Read the value that begins here."""
        if self._text.startswith("{", self._position):
            return self._read_object()
        if self._text.startswith("[", self._position):
            return self._read_array()
        start, data = self._position, self._read_scalar("a value was expected")
        return Value(start, self._position, data)

    def _read_scalar(self, problem: str) -> Any:
        found = _SCALAR.match(self._text, self._position)
        if found is None:
            raise self.error(problem)
        try:
            data = json.loads(found[0])
        except ValueError as error:  # a wrong escape
            raise self.error(str(error)) from error
        self._position = found.end()
        return data

    def _read_object(self) -> Value:
        start, members, has_last_comma = self._position, list[Member](), False
        self._position += 1
        while not self._text.startswith("}", self.skip_gap()):
            if members and not has_last_comma:
                raise self.error("a comma or } was expected")
            name_start = self._position
            if not self._text.startswith('"', name_start):
                raise self.error("a name in double quotes was expected")
            name = self._read_scalar("the name has no end")
            if not self._text.startswith(":", self.skip_gap()):
                raise self.error("a colon was expected")
            self._position += 1
            self.skip_gap()
            members.append(Member(name, name_start, self.read_value()))
            has_last_comma = self._skip_comma()
        self._position += 1
        data = {member.name: member.value.data for member in members}
        return Value(start, self._position, data, tuple(members), has_last_comma)

    def _read_array(self) -> Value:
        start, items, has_last_comma = self._position, list[Any](), True
        self._position += 1
        while not self._text.startswith("]", self.skip_gap()):
            if not has_last_comma:
                raise self.error("a comma or ] was expected")
            items.append(self.read_value().data)
            has_last_comma = self._skip_comma()
        self._position += 1
        return Value(start, self._position, items)

    def _skip_comma(self) -> bool:
        is_there = self._text.startswith(",", self.skip_gap())
        self._position += is_there
        return is_there
