"""Reads what was committed to a scope: batches, nodes, token codes, the snapshot of its graph."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from ...model.ports import StoredSnapshot, StoredVectors
from ...model.types import (
    FULL_LOG,
    Access,
    Edge,
    Link,
    LogRetention,
    MediaVector,
    Node,
    NodeId,
    Tombstone,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from . import row_mapping
from .batch_writer import FULL_NODE_COLUMNS, placeholders, split_ids
from .database import Database, Result
from .row_mapping import Row, SqlValue
from .scopes import ScopeRow

_NODE_COLUMNS = ", ".join(row_mapping.NODE_COLUMNS)
_LINK_BY_VALUE: Mapping[SqlValue, Link] = {link.value: link for link in Link}
_ACCESS_COLUMNS = ", ".join(row_mapping.ACCESS_COLUMNS)


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause the garbage collector while many small objects are made that all stay: it would scan them in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def unchanged(scope: ScopeRow) -> WriteBatch:
    """The changes of a scope after its latest revision: none."""
    return WriteBatch(revision=scope.revision, embedder=scope.embedder, english_embedder=scope.english_embedder)


def read_changes(db: Database, scope: ScopeRow, revision: int, keep_last: int) -> tuple[WriteBatch, list[NodeId]]:
    """Read the changes of a scope after a revision, inside a transaction, and the nodes with damaged vectors."""
    bounds = (scope.key, revision)  # every query is sent before the first result is fetched
    node_rows = db.execute(
        f"SELECT {FULL_NODE_COLUMNS} FROM node WHERE scope = ? AND revision > ? ORDER BY seq",  # noqa: S608
        bounds,
    )
    vectors = db.execute(
        "SELECT node, value FROM vector WHERE scope = ? AND revision > ? AND model = ? ORDER BY revision, node",
        (*bounds, scope.embedder),
    )
    english_vectors = db.execute(
        "SELECT node, value FROM english_vector WHERE scope = ? AND revision > ? ORDER BY revision, node", bounds
    )
    edges = db.execute(
        "SELECT src, dst, link, weight, provenance FROM edge WHERE scope = ? AND revision > ? ORDER BY rowid", bounds
    )
    ends = db.execute(
        "SELECT node, valid_to, recorded_at FROM validity_end WHERE scope = ? AND revision > ? ORDER BY rowid", bounds
    )
    accesses = db.execute(
        f"SELECT {_ACCESS_COLUMNS} FROM access WHERE scope = ? AND revision > ? ORDER BY seq",  # noqa: S608
        bounds,
    )
    tombstones = db.execute(
        "SELECT node, digest FROM tombstone WHERE scope = ? AND revision > ? ORDER BY rowid", bounds
    )
    cursors = db.execute("SELECT name, seq FROM cursor WHERE scope = ? AND revision > ? ORDER BY name", bounds)
    media_vectors = _find_media_vectors(db, scope.key, (revision, scope.revision))
    found = node_rows.fetchall()
    nodes = tuple(map(row_mapping.row_to_node, found))
    analyses = zip(nodes, row_mapping.rows_to_analyses(found), strict=True)
    parse = row_mapping.cached_time_parser()
    edge_rows, end_rows, access_rows = edges.fetchall(), ends.fetchall(), accesses.fetchall()
    vector_rows, english_rows = vectors.fetchall(), english_vectors.fetchall()
    ids = _IdLookup(db, scope.key, {node.seq: node.id for node in nodes})
    if revision:  # they may be of earlier nodes
        ids.load(row[0] for rows in (edge_rows, end_rows, access_rows, vector_rows, english_rows) for row in rows)
        ids.load(row[1] for row in edge_rows)
    found_vectors, damaged = _read_vectors(vector_rows, scope.dim, ids)
    found_english_vectors, damaged_english = _read_vectors(english_rows, scope.english_dim, ids)
    batch = WriteBatch(
        nodes=nodes,
        analyses={node.id: analysis for node, analysis in analyses if analysis is not None},
        vectors=found_vectors,
        english_vectors=found_english_vectors,
        media_vectors=_read_media_vectors(media_vectors, ids),
        edges=tuple(
            Edge(ids[src], ids[dst], _LINK_BY_VALUE[link], weight, provenance)
            for src, dst, link, weight, provenance in edge_rows
        ),
        validity_ends=tuple(_read_validity_ends(end_rows, ids, parse)),
        accesses=tuple(_read_accesses(access_rows, ids)),
        tombstones=tuple(Tombstone(node, digest) for node, digest in tombstones),
        cursors={str(name): int(seq or 0) for name, seq in cursors},
        embedder=scope.embedder,
        english_embedder=scope.english_embedder,
        switch_embedder=scope.reload_revision > revision > 0,
        needs_full_log=bool(scope.needs_full_log),
        retention=LogRetention(scope.retention_seq, keep_last) if scope.retention_seq else FULL_LOG,
        revision=scope.revision,
    )
    return batch, list(dict.fromkeys([*damaged, *damaged_english]))


def _read_vectors(found: Sequence[Row], dim: int | None, ids: "_IdLookup") -> tuple[dict[NodeId, Vector], list[NodeId]]:
    """The sound vectors by node, and the nodes of the damaged ones; ``dim`` is the right length, if it is known."""
    dim = dim or max((row_mapping.blob_dim(value) for _, value in found if isinstance(value, bytes)), default=0)
    values, sound = row_mapping.blobs_to_vectors([value for _, value in found], dim)
    nodes = [ids[seq] for seq, _ in found]
    vectors = {node: value for node, value, is_sound in zip(nodes, values.view, sound, strict=True) if is_sound}
    return vectors, [node for node, is_sound in zip(nodes, sound, strict=True) if not is_sound]


def _find_media_vectors(db: Database, scope: int, revisions: tuple[int, int]) -> Result:
    """The rows of the vectors after a revision through another."""
    return db.execute(
        """SELECT node, position, model, value FROM media_vector WHERE scope = ? AND revision > ? AND revision <= ?
           ORDER BY revision, node, position, model""",
        (scope, *revisions),
    )


def _read_media_vectors(found: Iterable[Any], ids: "_IdLookup") -> tuple[MediaVector, ...]:
    """The vectors, without those damaged or not as long as their model's."""
    return tuple(
        MediaVector(ids[seq], position, model, vector)
        for (seq, position, model, _), vector in parse_media_vectors(found)
        if vector is not None
    )


def parse_media_vectors(found: Iterable[Any]) -> Iterator[tuple[Any, Vector | None]]:
    """Rows that end with a model and a value, each with its vector; None for a damaged vector."""
    rows = list(found)
    counts = Counter((model, len(value) // 2) for *_, model, value in rows)
    dims = {model: dim for (model, dim), _ in reversed(counts.most_common())}
    for row in rows:
        vectors, sound = row_mapping.half_blobs_to_vectors([row[-1]], dims[row[-2]])
        yield row, vectors[0] if sound[0] else None


def _read_validity_ends(
    found: Iterable[Row], ids: "_IdLookup", parse_time: Callable[[SqlValue], datetime]
) -> Iterator[ValidityEnd]:
    for seq, valid_to, recorded in found:
        try:
            yield ValidityEnd(ids[seq], parse_time(valid_to), parse_time(recorded))
        except ValueError as error:
            raise ValueError(f"an end of node {ids[seq]!r}: {error}") from error


def _read_accesses(found: Iterable[Any], ids: "_IdLookup") -> Iterator[Access]:
    for row in found:
        try:
            yield row_mapping.row_to_access(row, ids[row[0]])
        except ValueError as error:
            raise ValueError(f"an access of node {ids[row[0]]!r}: {error}") from error


class _IdLookup:
    """The ids of nodes by ``seq``; unknown ones are looked up."""

    def __init__(self, db: Database, scope: int, id_by_seq: dict[int, NodeId]) -> None:
        self._db = db
        self._scope = scope
        self._id_by_seq = id_by_seq

    def load(self, seqs: Iterable[int]) -> None:
        """Look up many ids together."""
        for part in split_ids(sorted(set(seqs) - self._id_by_seq.keys())):
            query = f"SELECT seq, id FROM node WHERE scope = ? AND seq IN ({placeholders(part)})"  # noqa: S608
            self._id_by_seq.update(self._db.execute(query, (self._scope, *part)))

    def __getitem__(self, seq: SqlValue) -> NodeId:
        number = int(seq or 0)
        if number not in self._id_by_seq:
            query = "SELECT id FROM node WHERE scope = ? AND seq = ?"
            self._id_by_seq[number] = str(self._db.execute(query, (self._scope, number)).get)
        return self._id_by_seq[number]


def read_nodes(db: Database, scope: int, ids: Sequence[NodeId]) -> list[Node]:
    """The nodes with these ids, in their order, each with its validity; missing ones are left out."""
    found: dict[NodeId, Node] = {}
    for part in split_ids(list(dict.fromkeys(ids))):
        query = f"SELECT {_NODE_COLUMNS} FROM node WHERE scope = ? AND id IN ({placeholders(part)})"  # noqa: S608
        rows = db.execute(query, (scope, *part))
        ends = db.execute(
            f"""SELECT n.id, s.valid_to FROM validity_end s JOIN node n ON n.scope = s.scope AND n.seq = s.node
                WHERE s.scope = ? AND n.id IN ({placeholders(part)}) ORDER BY s.revision""",  # noqa: S608
            (scope, *part),
        )
        found.update((node.id, node) for node in map(row_mapping.row_to_node, rows.fetchall()))
        for id_, valid_to in ends:
            end = row_mapping.parse_time(valid_to, f"an end of node {id_!r}")
            found[str(id_)] = replace(found[str(id_)], valid_to=end)
    return [found[id_] for id_ in ids if id_ in found]


def read_document_chunks(db: Database, scope: int) -> dict[NodeId, list[NodeId]]:
    """The ids of the chunks of every chunked text of a scope, in their order, by the text's id."""
    query = "SELECT document, id FROM node WHERE scope = ? AND document IS NOT NULL ORDER BY document, position, seq"
    found: dict[NodeId, list[NodeId]] = {}
    for document, chunk in db.execute(query, (scope,)):
        found.setdefault(str(document), []).append(str(chunk))
    return found


def read_token_codes(db: Database, scope: int, model: str, ids: Sequence[NodeId]) -> dict[NodeId, bytes]:
    """The token codes of nodes that a model has made."""
    found: dict[NodeId, bytes] = {}
    for part in split_ids(ids):
        query = f"""SELECT n.id, t.value FROM node n JOIN token_codes t ON t.scope = n.scope AND t.node = n.seq
                    WHERE n.scope = ? AND t.model = ? AND n.id IN ({placeholders(part)})"""  # noqa: S608
        rows = db.execute(query, (scope, model, *part))
        found.update((str(id_), codes) for id_, codes in rows if isinstance(codes, bytes))
    return found


def read_snapshot(db: Database, scope: ScopeRow) -> StoredSnapshot | None:
    """The snapshot of a scope with all vectors; None if readers must load the whole scope."""
    found: Any = db.execute(
        "SELECT revision, value FROM graph_snapshot WHERE scope = ? AND revision >= ?",
        (scope.key, scope.reload_revision),
    ).fetchone()
    if found is None:
        return None
    revision, value = found
    vectors = db.execute(
        "SELECT node, value FROM vector WHERE scope = ? AND model = ? ORDER BY node", (scope.key, scope.embedder)
    )
    english = db.execute("SELECT node, value FROM english_vector WHERE scope = ? ORDER BY node", (scope.key,))
    media = _find_media_vectors(db, scope.key, (0, revision))
    return StoredSnapshot(
        revision,
        value,
        _read_stored_vectors(vectors.fetchall(), scope.dim),
        _read_stored_vectors(english.fetchall(), scope.english_dim),
        _read_media_vectors(media, _IdLookup(db, scope.key, {})),
    )


def _read_stored_vectors(found: Sequence[Row], dim: int | None) -> StoredVectors:
    seqs = np.array([seq for seq, _ in found], np.int64)
    column, sound = row_mapping.blobs_to_vectors([value for _, value in found], dim or 0)
    return StoredVectors(seqs, column) if sound.all() else StoredVectors(seqs[sound], column.select(sound))
