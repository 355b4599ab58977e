"""Table rows to model types and back: what every store of rows shares. No SQL."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import WrongVector
from ..model import Interval, Kind, Node, NodeId, Reading, Vector, Vectors

SqlValue = None | int | float | bytes | str
Row = tuple[SqlValue, ...]

NODE = (
    "seq", "id", "kind", "text", "happened_at", "recorded_at", "speaker", "session", "title", "source", "document",
    "position", "valid_from", "valid_to", "trust", "metadata",
)  # fmt: skip
"""The columns of a node, in the order of :func:`node_row` and :func:`node`."""
_KINDS: Mapping[SqlValue, Kind] = {kind.value: kind for kind in Kind}
READING = ("words", "counts", "question", "told")
"""The columns of a reading, in the order of :func:`reading_row` and :func:`reading`."""


def node_row(node: Node, seq: int) -> Row:
    """A node as values of the columns ``NODE``."""
    return (
        seq, node.id, node.kind.value, node.text, node.happened_at.isoformat(), node.recorded_at.isoformat(),
        node.speaker, node.session, node.title, node.source, node.document, node.position,
        time_text(node.valid_from), time_text(node.valid_to), float(node.trust),
        json.dumps(node.metadata, ensure_ascii=False, sort_keys=True) if node.metadata else None,
    )  # fmt: skip


def node(row: Sequence[Any]) -> Node:
    """The values of the columns ``NODE``, whatever follows them, as a node; strict tables keep the types."""
    (seq, id_, kind, text, happened_at, recorded_at, speaker, session, title, source, document,
     position, valid_from, valid_to, trust, metadata, *_) = row  # fmt: skip
    parse = datetime.fromisoformat
    return Node(  # by position: a tenth of the time to open a memory is spent here
        id_, _KINDS[kind], text, parse(happened_at), parse(recorded_at), speaker, session, title, source, document,
        position, valid_from and parse(valid_from), valid_to and parse(valid_to), trust,
        json.loads(metadata) if metadata else {}, seq,
    )  # fmt: skip


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
    """The values of the columns ``READING`` of many rows as readings; None where a text was not read.

    The words of all rows are taken from their bytes at once, and each reading sees its part.
    """
    words = np.frombuffer(b"".join([row[0] or b"" for row in found]), "<u4")
    counts = np.frombuffer(b"".join([row[1] or b"" for row in found]), np.uint8)
    made: list[Reading | None] = []
    word = count = 0
    for blob, counted, question, told in found:
        words_end, counts_end = word + len(blob or b"") // 4, count + len(counted or b"")
        if blob is None or counted is None:
            made.append(None)
        else:
            of_text = words[word:words_end], counts[count:counts_end]
            made.append(Reading(*of_text, bool(question), _told(told) if told else ()))
        word, count = words_end, counts_end
    return made


def _told(text: str) -> tuple[Interval, ...]:
    parse = datetime.fromisoformat
    return tuple(Interval(parse(start), parse(end)) for start, end in json.loads(text))


def vector_blob(vector: Vector, dim: int, node: NodeId) -> bytes:
    """A vector as half-precision bytes; raises ``WrongVector`` if it has another size or is not finite."""
    if vector.shape != (dim,):
        raise WrongVector(f"the vector of {node!r} has shape {vector.shape}, this memory's have ({dim},)")
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        half = vector.astype("<f2")
    if not np.isfinite(half).all():
        raise WrongVector(f"the vector of {node!r} holds numbers that are not finite; mend the embedder")
    return half.tobytes()


def vectors(blobs: Sequence[SqlValue]) -> Vectors:
    """Half-precision bytes, all of one size, as vectors."""
    joined = b"".join(blob for blob in blobs if isinstance(blob, bytes))
    return np.frombuffer(joined, "<f2").astype(np.float32).reshape(len(blobs), -1) if blobs else np.empty((0, 0), "f4")


def time_text(value: datetime | None) -> str | None:
    """A time as ISO 8601 text."""
    return None if value is None else value.isoformat()


def time(value: SqlValue) -> datetime | None:
    """ISO 8601 text as a time."""
    return None if value is None else datetime.fromisoformat(str(value))


def time_parser() -> Callable[[str], datetime]:
    """A function from ISO 8601 text to a time, quick where the same texts come again and again."""
    return lru_cache(maxsize=1024)(datetime.fromisoformat)
