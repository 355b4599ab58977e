"""Conversion between table rows and model types. No SQL."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import WrongVector
from ...model.graph.vectors import MIN_DIM, VectorColumn, are_unit_lengths, quantize
from ...model.types import (
    ACCESS_KIND_CODES,
    ACCESS_KINDS,
    Access,
    Interval,
    Kind,
    Mask,
    Media,
    MediaKind,
    Node,
    NodeId,
    TextAnalysis,
    Vector,
    Vectors,
)

SqlValue = None | int | float | bytes | str
Row = tuple[SqlValue, ...]

SCALE_SIZE = 2
"""The bytes of the scale of a quantized vector."""
NODE_COLUMNS = (
    "seq", "id", "kind", "text", "happened_at", "recorded_at", "speaker", "session", "title", "source", "document",
    "position", "start", "heading", "valid_from", "valid_to", "trust", "metadata",
    "media",
)  # fmt: skip
"""The columns of a node, in the order of :func:`node_to_row` and :func:`row_to_node`."""
_KIND_BY_VALUE: Mapping[SqlValue, Kind] = {kind.value: kind for kind in Kind}
ACCESS_COLUMNS = ("node", "kind", "nth", "seq", "at", "strength")
"""The columns of an access, in the order of :func:`access_to_row` and :func:`row_to_access`."""
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
ANALYSIS_COLUMNS = ("term_hashes", "term_counts", "is_question", "time_mentions")
"""The columns of a text analysis, in the order of :func:`analysis_to_row` and :func:`rows_to_analyses`."""
_TIME_COLUMNS = ("happened_at", "recorded_at", "valid_from", "valid_to")


def node_to_row(node: Node, seq: int) -> Row:
    """Convert a node to values of ``NODE_COLUMNS``."""
    return (
        seq, node.id, node.kind.value, node.text, node.happened_at.isoformat(), node.recorded_at.isoformat(),
        node.speaker, node.session, node.title, node.source, node.document, node.position, node.start, node.heading,
        time_to_text(node.valid_from), time_to_text(node.valid_to), float(node.trust),
        json.dumps(node.metadata, ensure_ascii=False, sort_keys=True) if node.metadata else None,
        json.dumps([[one.reference, one.kind, one.caption] for one in node.media], ensure_ascii=False)
        if node.media else None,
    )  # fmt: skip


def row_to_node(row: Sequence[Any]) -> Node:
    """Convert values of ``NODE_COLUMNS`` to a node, ignoring further columns; strict tables ensure the types.

    Raises ``ValueError``, naming the node and the column, for a time, kind or metadata that cannot be read.
    """
    (seq, id_, kind, text, happened_at, recorded_at, speaker, session, title, source, document,
     position, start, heading, valid_from, valid_to, trust, metadata, media, *_) = row  # fmt: skip
    parse = datetime.fromisoformat
    try:
        return Node(  # by position: a tenth of the time to open a memory is spent here
            id_, _KIND_BY_VALUE[kind], text, parse(happened_at), parse(recorded_at), speaker, session, title, source,
            document, position, start, heading, None if valid_from is None else parse(valid_from),
            None if valid_to is None else parse(valid_to), trust,
            json.loads(metadata) if metadata else {}, seq, _parse_media(media) if media else (),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"node {id_!r}: {_describe_fault(row)}") from error


def _parse_media(text: str) -> tuple[Media, ...]:
    return tuple(Media(reference, MediaKind(kind), caption) for reference, kind, caption in json.loads(text))


def _describe_fault(row: Sequence[Any]) -> str:
    """Describe which column of a node cannot be read."""
    columns = dict(zip(NODE_COLUMNS, row, strict=False))
    for name in _TIME_COLUMNS:
        if columns[name] is not None or name in {"happened_at", "recorded_at"}:
            try:
                parse_time(columns[name])
            except ValueError as error:
                return f"{name}: {error}"
    if columns["kind"] not in _KIND_BY_VALUE:
        return f"kind: there is no {columns['kind']!r}"
    try:
        json.loads(columns["metadata"] or "{}")
    except (TypeError, ValueError):
        return "metadata: no JSON"
    return f"media: {columns['media']!r} are no media"


def analysis_to_row(analysis: TextAnalysis | None) -> Row:
    """Convert a text analysis to values of ``ANALYSIS_COLUMNS``."""
    if analysis is None:
        return (None, None, 0, None)
    mentions = [[time.start.isoformat(), time.end.isoformat()] for time in analysis.time_mentions]
    return (
        analysis.term_hashes.astype("<u4").tobytes(),
        analysis.term_counts.tobytes(),
        int(analysis.is_question),
        json.dumps(mentions) if mentions else None,
    )


def rows_to_analyses(found: Sequence[Sequence[Any]]) -> list[TextAnalysis | None]:
    """Convert rows of ``NODE_COLUMNS`` and ``ANALYSIS_COLUMNS`` to text analyses; None where there is none.

    The terms of all rows are decoded at once; each analysis is a view of its part. Raises ``ValueError``, naming the
    node, for terms or times that cannot be read.
    """
    columns = [row[-len(ANALYSIS_COLUMNS) :] for row in found]
    joined = b"".join([hash_bytes for hash_bytes, count_bytes, _, _ in columns if hash_bytes and count_bytes])
    hashes = np.frombuffer(joined, "<u4", len(joined) // 4)
    counts = np.frombuffer(
        b"".join([count_bytes for hash_bytes, count_bytes, _, _ in columns if hash_bytes and count_bytes]), np.uint8
    )
    analyses: list[TextAnalysis | None] = []
    start = 0
    for row, (hash_bytes, count_bytes, is_question, mentions) in zip(found, columns, strict=True):
        if hash_bytes is None or count_bytes is None:
            analyses.append(None)
            continue
        if len(hash_bytes) != 4 * len(count_bytes):
            raise ValueError(f"node {row[1]!r}: its words and their counts do not agree")
        end = start + len(count_bytes)
        analyses.append(
            TextAnalysis(
                hashes[start:end],
                counts[start:end],
                bool(is_question),
                _parse_time_mentions(mentions, row[1]) if mentions else (),
            )
        )
        start = end
    return analyses


def _parse_time_mentions(text: str, node: NodeId) -> tuple[Interval, ...]:
    parse = datetime.fromisoformat
    try:
        return tuple(Interval(parse(start), parse(end)) for start, end in json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"node {node!r}: time_mentions: {text[:60]!r} are no times") from error


def access_to_row(access: Access, node: int) -> Row:
    """Convert an access to values of ``ACCESS_COLUMNS``; ``node`` is the node's ``seq``."""
    at = (access.at - _EPOCH) // _MICROSECOND
    return node, ACCESS_KIND_CODES[access.kind], access.count, access.seq, at, float(access.strength)


def from_microseconds(value: Any) -> datetime:
    """Convert microseconds since 1970 to a time; raises ``ValueError`` for a value that is not a time."""
    try:
        return _EPOCH + value * _MICROSECOND
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a time") from error


def row_to_access(row: Sequence[Any], node: NodeId) -> Access:
    """Convert values of ``ACCESS_COLUMNS`` to an access; raises ``ValueError`` for an invalid time or kind."""
    _, kind, count, seq, at, strength = row
    if kind not in range(len(ACCESS_KINDS)):
        raise ValueError(f"{kind!r} is not a kind of access")
    return Access(node, from_microseconds(at), ACCESS_KINDS[kind], strength, seq, count)


def vector_to_blob(vector: Vector, dim: int, node: NodeId) -> bytes:
    """Convert the vector of a text to bytes; raises ``WrongVector`` for a wrong size or another length than 1.

    A quantized vector has a level of one byte for each number, its scale in half precision, and one or two bytes with
    their count, so that its length is odd. A vector that is too short for that has two bytes for each number.
    """
    if dim < MIN_DIM:
        return half_vector_to_blob(vector, dim, node)
    _check_size(vector, dim, node)
    levels, scales = quantize(vector[None])
    if not np.isfinite(scales).all():
        raise _not_finite(node)
    _check_length(vector, node)
    padding = _padding(dim)
    return levels.tobytes() + scales.astype("<f2").tobytes() + bytes([padding] * padding)


def half_vector_to_blob(vector: Vector, dim: int, node: NodeId) -> bytes:
    """Convert a vector to half-precision bytes; raises ``WrongVector`` for a wrong size or another length than 1."""
    _check_size(vector, dim, node)
    with np.errstate(over="ignore"):  # numbers that are too large become infinite
        half = vector.astype("<f2")
    if not np.isfinite(half).all():
        raise _not_finite(node)
    _check_length(vector, node)
    return half.tobytes()


def _check_size(vector: Vector, dim: int, node: NodeId) -> None:
    if vector.shape != (dim,):
        raise WrongVector(f"the vector of {node!r} has shape {vector.shape}, this memory's have ({dim},)")


def _check_length(vector: Vector, node: NodeId) -> None:
    length = float(np.linalg.norm(vector))
    if not are_unit_lengths(np.array([length]), len(vector))[0]:
        raise WrongVector(f"the vector of {node!r} has the length {length:.3g}, not 1; fix the embedder")


def _not_finite(node: NodeId) -> WrongVector:
    return WrongVector(f"the vector of {node!r} holds numbers that are not finite; fix the embedder")


def _padding(dim: int) -> int:
    """How many bytes stand after the scale of a quantized vector."""
    return 2 if dim % 2 else 1


def blob_dim(blob: bytes) -> int:
    """How many numbers the vector in some bytes has."""
    return len(blob) - SCALE_SIZE - blob[-1] if len(blob) % 2 else len(blob) // 2


def blobs_to_vectors(blobs: Sequence[SqlValue], dim: int) -> tuple[VectorColumn, Mask]:
    """Convert bytes to vectors of texts; the mask says which have ``dim`` numbers and the length 1."""
    if dim < MIN_DIM:
        values, sound = half_blobs_to_vectors(blobs, dim)
        return VectorColumn.from_vectors(values), sound
    size = dim + SCALE_SIZE + _padding(dim)
    joined, fits = _join(blobs, size)
    packed = np.frombuffer(joined, np.uint8).reshape(len(blobs), size)
    scales = packed[:, dim : dim + SCALE_SIZE].copy().view("<f2")[:, 0].astype(np.float16)
    sound = fits & np.isfinite(scales) & (packed[:, -1] == _padding(dim))
    scales[~sound] = 0
    column = VectorColumn.from_levels(np.ascontiguousarray(packed[:, :dim]).view(np.int8), scales)
    return column, sound & are_unit_lengths(column.lengths(), dim)


def half_blobs_to_vectors(blobs: Sequence[SqlValue], dim: int) -> tuple[Vectors, Mask]:
    """Convert half-precision bytes to vectors; the mask says which have ``dim`` numbers and the length 1."""
    joined, fits = _join(blobs, 2 * dim)
    values = np.frombuffer(joined, "<f2").astype(np.float32).reshape(len(blobs), dim)
    with np.errstate(invalid="ignore"):  # numbers that are not finite have no length
        return values, fits & are_unit_lengths(np.linalg.norm(values, axis=1), dim)


def _join(blobs: Sequence[SqlValue], size: int) -> tuple[bytes, Mask]:
    """All bytes together, with zeros in the place of blobs of another size, and which blobs have the size."""
    fits = [isinstance(blob, bytes) and len(blob) == size for blob in blobs]
    joined = b"".join(blob if fit else bytes(size) for blob, fit in zip(blobs, fits, strict=True))  # type: ignore[misc]
    return joined, np.array(fits, np.bool_)


def time_to_text(value: datetime | None) -> str | None:
    """Convert a time to ISO 8601 text."""
    return None if value is None else value.isoformat()


def parse_time(value: SqlValue, subject: str = "") -> datetime:
    """Parse ISO 8601 text; raises ``ValueError`` for anything else, with ``subject`` in the message."""
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{subject}: {value!r} is not a time".removeprefix(": ")) from error


def cached_time_parser() -> Callable[[SqlValue], datetime]:
    """Return :func:`parse_time` with a cache, for texts that repeat."""
    return lru_cache(maxsize=1024)(parse_time)
