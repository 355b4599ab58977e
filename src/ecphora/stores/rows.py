"""Table rows to model types and back: what every store of rows shares. No SQL."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import WrongVector
from ..model import Access, Interval, Kind, Mask, Node, NodeId, Reading, Touch, Vector, Vectors

SqlValue = None | int | float | bytes | str
Row = tuple[SqlValue, ...]

NODE = (
    "seq", "id", "kind", "text", "happened_at", "recorded_at", "speaker", "session", "title", "source", "document",
    "position", "start", "heading", "valid_from", "valid_to", "trust", "metadata",
)  # fmt: skip
"""The columns of a node, in the order of :func:`node_row` and :func:`node`."""
_KINDS: Mapping[SqlValue, Kind] = {kind.value: kind for kind in Kind}
ACCESS = ("node", "touch", "nth", "seq", "at", "strength")
"""The columns of an access, in the order of :func:`access_row` and :func:`access`."""
TOUCHES = tuple(Touch)
TOUCH_NUMBERS = {touch: number for number, touch in enumerate(TOUCHES)}
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
READING = ("words", "counts", "question", "told")
"""The columns of a reading, in the order of :func:`reading_row` and :func:`reading`."""
_TIMES = ("happened_at", "recorded_at", "valid_from", "valid_to")


def node_row(node: Node, seq: int) -> Row:
    """A node as values of the columns ``NODE``."""
    return (
        seq, node.id, node.kind.value, node.text, node.happened_at.isoformat(), node.recorded_at.isoformat(),
        node.speaker, node.session, node.title, node.source, node.document, node.position, node.start, node.heading,
        time_text(node.valid_from), time_text(node.valid_to), float(node.trust),
        json.dumps(node.metadata, ensure_ascii=False, sort_keys=True) if node.metadata else None,
    )  # fmt: skip


def node(row: Sequence[Any]) -> Node:
    """The values of the columns ``NODE``, whatever follows them, as a node; strict tables keep the types.

    Raises ``ValueError`` that names the node and the column for a time, kind or metadata that cannot be read.
    """
    (seq, id_, kind, text, happened_at, recorded_at, speaker, session, title, source, document,
     position, start, heading, valid_from, valid_to, trust, metadata, *_) = row  # fmt: skip
    parse = datetime.fromisoformat
    try:
        return Node(  # by position: a tenth of the time to open a memory is spent here
            id_, _KINDS[kind], text, parse(happened_at), parse(recorded_at), speaker, session, title, source, document,
            position, start, heading, None if valid_from is None else parse(valid_from),
            None if valid_to is None else parse(valid_to), trust,
            json.loads(metadata) if metadata else {}, seq,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"node {id_!r}: {_trouble(row)}") from error


def _trouble(row: Sequence[Any]) -> str:
    """Which column of a node cannot be read."""
    columns = dict(zip(NODE, row, strict=False))
    for name in _TIMES:
        if columns[name] is not None or name in {"happened_at", "recorded_at"}:
            try:
                time(columns[name])
            except ValueError as error:
                return f"{name}: {error}"
    return "metadata: no JSON" if columns["kind"] in _KINDS else f"kind: there is no {columns['kind']!r}"


def reading_row(reading: Reading | None) -> Row:
    """A reading as values of the columns ``READING``."""
    if reading is None:
        return (None, None, 0, None)
    told = [[time.start.isoformat(), time.end.isoformat()] for time in reading.told]
    return (
        reading.words.astype("<u4").tobytes(),
        reading.counts.tobytes(),
        int(reading.question),
        json.dumps(told) if told else None,
    )


def readings(found: Sequence[Sequence[Any]]) -> list[Reading | None]:
    """The values of the columns ``NODE`` and ``READING`` of many rows as readings; None where a text was not read.

    The words of all rows are taken from their bytes at once, and each reading sees its part. Raises ``ValueError`` that
    names the node whose words or times cannot be read.
    """
    columns = [row[-len(READING) :] for row in found]
    joined = b"".join([blob for blob, counted, _, _ in columns if blob and counted])
    words = np.frombuffer(joined, "<u4", len(joined) // 4)
    counts = np.frombuffer(b"".join([counted for blob, counted, _, _ in columns if blob and counted]), np.uint8)
    made: list[Reading | None] = []
    start = 0
    for row, (blob, counted, question, told) in zip(found, columns, strict=True):
        if blob is None or counted is None:
            made.append(None)
            continue
        if len(blob) != 4 * len(counted):
            raise ValueError(f"node {row[1]!r}: its words and their counts do not agree")
        end = start + len(counted)
        made.append(Reading(words[start:end], counts[start:end], bool(question), _told(told, row[1]) if told else ()))
        start = end
    return made


def _told(text: str, node: NodeId) -> tuple[Interval, ...]:
    parse = datetime.fromisoformat
    try:
        return tuple(Interval(parse(start), parse(end)) for start, end in json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"node {node!r}: told: {text[:60]!r} are no times") from error


def access_row(access: Access, node: int) -> Row:
    """An access as values of the columns ``ACCESS``; ``node`` is the node's ``seq``."""
    at = (access.at - _EPOCH) // _MICROSECOND
    return node, TOUCH_NUMBERS[access.touch], access.nth, access.seq, at, float(access.strength)


def instant(value: Any) -> datetime:
    """A time that is stored as microseconds since 1970; raises ``ValueError`` for what is none."""
    try:
        return _EPOCH + value * _MICROSECOND
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is no time") from error


def access(row: Sequence[Any], node: NodeId) -> Access:
    """The values of the columns ``ACCESS`` as an access; raises ``ValueError`` for a time or kind that is none."""
    _, touch, nth, seq, at, strength = row
    if touch not in range(len(TOUCHES)):
        raise ValueError(f"{touch!r} is no kind of access")
    return Access(node, instant(at), TOUCHES[touch], strength, seq, nth)


def vector_blob(vector: Vector, dim: int, node: NodeId) -> bytes:
    """A vector as half-precision bytes; raises ``WrongVector`` if it has another size or is not finite."""
    if vector.shape != (dim,):
        raise WrongVector(f"the vector of {node!r} has shape {vector.shape}, this memory's have ({dim},)")
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        half = vector.astype("<f2")
    if not np.isfinite(half).all():
        raise WrongVector(f"the vector of {node!r} holds numbers that are not finite; mend the embedder")
    return half.tobytes()


def vectors(blobs: Sequence[SqlValue], dim: int) -> tuple[Vectors, Mask]:
    """Half-precision bytes as vectors, and which of these are sound: of ``dim`` finite numbers. The others may be 0."""
    fits = [isinstance(blob, bytes) and len(blob) == 2 * dim for blob in blobs]
    joined = b"".join(blob if fit else bytes(2 * dim) for blob, fit in zip(blobs, fits, strict=True))  # type: ignore[misc]
    values = np.frombuffer(joined, "<f2").astype(np.float32).reshape(len(blobs), dim)
    return values, np.array(fits, np.bool_) & np.isfinite(values).all(axis=1)


def time_text(value: datetime | None) -> str | None:
    """A time as ISO 8601 text."""
    return None if value is None else value.isoformat()


def time(value: SqlValue, what: str = "") -> datetime:
    """ISO 8601 text as a time; raises ``ValueError`` for anything else, of which ``what`` says what it belongs to."""
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {value!r} is no time".removeprefix(": ")) from error


def time_parser() -> Callable[[SqlValue], datetime]:
    """:func:`time`, quick where the same texts come again and again."""
    return lru_cache(maxsize=1024)(time)
