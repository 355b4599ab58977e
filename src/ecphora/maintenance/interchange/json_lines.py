"""Lines of JSON: the items of an export as objects, without the fields at their default; lines that are skipped."""

import base64
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any

from ...model.text_format import count_noun, escape_invisible
from ...model.types import Access, Edge, MediaVector, Node, ValidityEnd, Vector

MAX_NAMED = 5
"""The skipped lines that a notice names."""


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line of an import that cannot be used: its number, from 1, and why."""

    number: int
    reason: str


def skipped_notices(lines: Collection[SkippedLine]) -> tuple[str, ...]:
    """What to tell about skipped lines: how many there are, and the first of them; nothing if there are none."""
    if not lines:
        return ()
    first = sorted(lines, key=lambda line: line.number)[:MAX_NAMED]
    named = "; ".join(f"line {line.number}: {line.reason}" for line in first)
    more = f"; and {len(lines) - len(first):,} more" if len(lines) > len(first) else ""
    return (f"skipped {count_noun(len(lines), 'line', 'lines')} that cannot be used: {named}{more}",)


def to_line(record: Mapping[str, Any]) -> str:
    """A line of a file: the record as JSON, with escapes for invisible characters."""
    # They may control a terminal, or be taken for a line end.
    return escape_invisible(json.dumps(record, ensure_ascii=False, separators=(",", ":"))) + "\n"


_JSON_ENCODERS: Mapping[type, Callable[[Any], Any]] = {
    datetime: datetime.isoformat,
    tuple: lambda media: [one.to_dict() for one in media],
}


def to_json(item: Node | Edge | ValidityEnd | Access, *omit: str) -> Mapping[str, Any]:
    """Return an item's fields as JSON values, without those at their default."""
    result: dict[str, Any] = {}
    for item_field in fields(item):
        value = getattr(item, item_field.name)
        default = item_field.default if item_field.default_factory is MISSING else item_field.default_factory()
        if item_field.name not in omit and (default is MISSING or value != default):
            result[item_field.name] = _JSON_ENCODERS.get(type(value), lambda same: same)(value)
    return result


def media_vector_to_json(one: MediaVector) -> Mapping[str, Any]:
    """The vector of a medium as JSON values."""
    return {"node": one.node, "position": one.position, "model": one.model, "value": vector_to_base64(one.vector)}


def vector_to_base64(vector: Vector) -> str:
    """The numbers of a vector in half precision, little endian, in base64."""
    return base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii")
