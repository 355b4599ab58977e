"""Writes one write batch, its vectors and token codes into the database, inside a transaction that the store holds."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw
import numpy as np

from ...errors import EmbedderMismatch, StaleWrite, StoreError
from ...model.graph.media_spaces import check_dim
from ...model.types import (
    ACCESS_KIND_CODES,
    FULL_LOG,
    Access,
    AccessKind,
    Edge,
    LogRetention,
    MediaVector,
    Node,
    NodeId,
    Tombstone,
    UndoBatch,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from . import row_mapping
from .database import Database, DuplicateRow
from .scopes import ScopeRow
from .undo_batches import NodeDeletion, undo_batch

SeqOf = Callable[[NodeId], int]
"""Returns the ``seq`` of a node; raises ``StaleWrite`` if it is missing."""


@dataclass(frozen=True, slots=True)
class WrittenVectors:
    """The model of a scope's vectors, None if it has none, and the vectors that were written, as readers see them."""

    model: str | None
    vectors: Mapping[NodeId, Vector]


class VectorWriter:
    """Writes the vectors of one batch to a scope, as of a revision."""

    def __init__(self, db: Database, scope_name: str, scope: ScopeRow, revision: int, seq_of: SeqOf) -> None:
        self._db = db
        self._scope_name = scope_name
        self._scope = scope
        self._revision = revision
        self._seq_of = seq_of

    def write(self, batch: WriteBatch) -> WrittenVectors:
        """Write the vectors of the batch's embedder; vectors of another model than the scope's wait for the switch."""
        scope, model = self._scope, batch.embedder
        if not batch.vectors:
            return WrittenVectors(scope.embedder, {})
        if model is None:
            raise StoreError("a batch with vectors must name their embedder")
        current, dim = scope.embedder, _dim(batch.vectors)
        if current is None:
            self._db.execute("UPDATE scope SET embedder = ?, dim = ? WHERE key = ?", (model, dim, scope.key))
            current = model
        elif current == model:
            dim = scope.dim or dim
        elif batch.nodes:
            raise EmbedderMismatch(
                f"scope {self._scope_name!r} is now embedded by {current!r}, not {model!r}; open it with that embedder"
            )
        blobs = self._blobs(batch.vectors, dim)
        self._db.executemany(
            """INSERT INTO vector VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope, model, node)
               DO UPDATE SET revision = excluded.revision, value = excluded.value""",
            ((scope.key, model, self._seq_of(node), self._revision, blob) for node, blob in blobs.items()),
        )
        return WrittenVectors(current, _as_read(blobs, dim) if current == model else {})

    def write_english(self, batch: WriteBatch) -> WrittenVectors:
        """Write the English vectors; vectors of another model than the scope's are left out."""
        scope, model = self._scope, batch.english_embedder
        if not batch.english_vectors:
            return WrittenVectors(scope.english_embedder, {})
        if model is None:
            raise StoreError("a batch with English vectors must name their embedder")
        is_of_other_scope_model = scope.embedder is not None and batch.embedder not in {None, scope.embedder}
        if is_of_other_scope_model or scope.english_embedder not in {None, model}:
            return WrittenVectors(scope.english_embedder, {})
        dim = scope.english_dim or _dim(batch.english_vectors)
        if scope.english_embedder is None:
            self._db.execute(
                "UPDATE scope SET english_embedder = ?, english_dim = ? WHERE key = ?", (model, dim, scope.key)
            )
        blobs = self._blobs(batch.english_vectors, dim)
        self._db.executemany(
            """INSERT INTO english_vector VALUES (?, ?, ?, ?) ON CONFLICT (scope, node)
               DO UPDATE SET revision = excluded.revision, value = excluded.value""",
            ((scope.key, self._seq_of(node), self._revision, blob) for node, blob in blobs.items()),
        )
        return WrittenVectors(model, _as_read(blobs, dim))

    def _blobs(self, vectors: Mapping[NodeId, Vector], dim: int) -> dict[NodeId, bytes]:
        ordered = sorted(vectors, key=self._seq_of)  # in the order of reading
        return {node: row_mapping.vector_to_blob(vectors[node], dim, node) for node in ordered}

    def switch_embedder(self, batch: WriteBatch) -> str | None:
        """Make the batch's embedders the scope's, delete all other vectors, and return the English embedder."""
        db, key, model = self._db, self._scope.key, batch.embedder
        missing = db.execute(
            """SELECT count(*) FROM vector v WHERE v.scope = ?1 AND v.model = ?2
               AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.scope = ?1 AND w.model = ?3 AND w.node = v.node)""",
            (key, self._scope.embedder, model),
        ).get
        if missing:
            raise StoreError(
                f"{missing} nodes of scope {self._scope_name!r} have no vector of {model!r} yet; embed them first"
            )
        value = db.execute("SELECT value FROM vector WHERE scope = ? AND model = ? LIMIT 1", (key, model)).get
        dim = row_mapping.blob_dim(value) if isinstance(value, bytes) else None
        db.execute(
            "UPDATE scope SET embedder = ?, dim = ?, reload_revision = ? WHERE key = ?",
            (model, dim, self._revision, key),
        )
        db.execute("DELETE FROM vector WHERE scope = ? AND model <> ?", (key, model))
        if self._scope.english_embedder == batch.english_embedder:
            return batch.english_embedder
        db.execute("UPDATE scope SET english_embedder = NULL, english_dim = NULL WHERE key = ?", (key,))
        db.execute("DELETE FROM english_vector WHERE scope = ?", (key,))
        return None


def ids_to_reembed(db: Database, scope: ScopeRow, model: str, limit: int) -> list[NodeId]:
    """Return up to ``limit`` nodes that have a vector of the scope's model, but none of this model."""
    if scope.embedder in {None, model}:
        return []
    query = """SELECT n.id FROM vector v JOIN node n ON n.scope = v.scope AND n.seq = v.node
               WHERE v.scope = ?1 AND v.model = ?2
                 AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.scope = ?1 AND w.model = ?3 AND w.node = v.node)
               ORDER BY v.node LIMIT ?4"""
    return _ids(db.execute(query, (scope.key, scope.embedder, model, limit)))


def ids_without_english_vector(db: Database, scope: ScopeRow, after_seq: int, limit: int) -> list[NodeId]:
    """Return up to ``limit`` episodes without an English vector, in the order of ``seq``, from ``after_seq`` on."""
    query = """SELECT n.id FROM node n WHERE n.scope = ?1 AND n.seq > ?2 AND n.kind = 'episode'
                 AND NOT EXISTS (SELECT 1 FROM english_vector v WHERE v.scope = ?1 AND v.node = n.seq)
               ORDER BY n.seq LIMIT ?3"""
    return _ids(db.execute(query, (scope.key, after_seq, limit)))


def _ids(found: Iterable[row_mapping.Row]) -> list[NodeId]:
    return [str(id_) for (id_,) in found]


def _dim(vectors: Mapping[NodeId, Vector]) -> int:
    return len(next(iter(vectors.values())))


def _as_read(blobs: Mapping[NodeId, bytes], dim: int) -> dict[NodeId, np.ndarray]:
    return dict(zip(blobs, row_mapping.blobs_to_vectors(list(blobs.values()), dim)[0].view, strict=True))


def write_token_codes(db: Database, scope: int, batch: WriteBatch) -> None:
    """Write the token codes of a batch; each replaces the codes of its node that another model made.

    Codes of nodes that are gone are left out: nothing of what was forgotten comes back.
    """
    if not batch.token_codes:
        return
    if batch.code_model is None:
        raise StoreError("a batch with token codes must name what made them")
    db.executemany(
        """INSERT INTO token_codes (scope, node, model, value)
           SELECT scope, seq, ?3, ?4 FROM node WHERE scope = ?1 AND id = ?2
           ON CONFLICT (scope, node) DO UPDATE SET model = excluded.model, value = excluded.value
           WHERE token_codes.model <> excluded.model""",
        ((scope, node, batch.code_model, codes) for node, codes in batch.token_codes.items()),
    )


def write_media_vectors(
    db: Database, scope: int, revision: int, seq_of: Callable[[NodeId], int], vectors: Iterable[MediaVector]
) -> tuple[MediaVector, ...]:
    """Write the vectors of media; return them as readers will see them. A vector replaces an earlier one of its medium.

    Raises ``InvalidInput`` if the vectors of one model differ in length, and ``WrongVector`` for another length than 1.
    """
    dims: dict[str, int] = {}
    written: list[MediaVector] = []
    query = "SELECT length(value) / 2 FROM media_vector WHERE scope = ? AND model = ? LIMIT 1"
    for one in sorted(vectors, key=lambda one: (seq_of(one.node), one.position, one.model)):  # in the order of reading
        if one.model not in dims:
            dims[one.model] = int(db.execute(query, (scope, one.model)).get or len(one.vector))
        check_dim(one, dims[one.model])
        blob = row_mapping.half_vector_to_blob(one.vector, dims[one.model], one.node)
        values = (scope, one.model, seq_of(one.node), one.position, revision, blob)
        db.execute(
            """INSERT INTO media_vector VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, model, node, position)
               DO UPDATE SET revision = excluded.revision, value = excluded.value""",
            values,
        )
        written.append(replace(one, vector=row_mapping.half_blobs_to_vectors([blob], dims[one.model])[0][0]))
    return tuple(written)


FULL_NODE_COLUMNS = ", ".join((*row_mapping.NODE_COLUMNS, *row_mapping.ANALYSIS_COLUMNS))
IDS_PER_QUERY = 512
"""Ids in one query, a power of 2."""
KEEP_LAST = 32
"""Accesses of each kind that a node keeps when the log expires."""
MIN_LOG_GROWTH = 1024
"""The log expires again once it has grown by this many accesses, and by half."""
NODES_PER_SWEEP = 64
"""Nodes whose expired accesses one commit deletes."""


def split_ids(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Some ids in parts that fit into one query each, each as long as a power of 2, so that few queries differ."""
    for start in range(0, len(ids), IDS_PER_QUERY):
        part = ids[start : start + IDS_PER_QUERY]
        yield [*part, *(part[-1],) * ((1 << (len(part) - 1).bit_length()) - len(part))]


def placeholders(values: Sequence[object]) -> str:
    """A placeholder for each value."""
    return ", ".join("?" * len(values))


class BatchWriter:
    """Writes one batch inside a transaction; the log expires to ``keep_last`` accesses per node and kind."""

    def __init__(
        self,
        db: Database,
        scope_name: str,
        scope: ScopeRow,
        batch: WriteBatch,
        *,
        keep_last: int = KEEP_LAST,
        min_log_growth: int = MIN_LOG_GROWTH,
    ) -> None:
        self.db = db
        self.keep_last = keep_last
        self.min_log_growth = min_log_growth
        self.scope_name = scope_name
        self.scope = scope
        self.batch = batch
        self.revision = scope.revision + 1
        self.seq = scope.seq
        self.seq_by_id: dict[NodeId, int] = {}
        """The ``seq`` of every node looked up so far."""
        self.deleted_access_count = 0
        """Accesses that were deleted with their nodes."""

    def write(self) -> WriteBatch:
        batch = self.batch
        if batch.expected_revision not in {None, self.scope.revision}:
            expected = f"the batch expects {batch.expected_revision}; build it again"
            raise StaleWrite(f"scope {self.scope_name!r} has revision {self.scope.revision}, {expected}")
        if batch.undo_batch is not None:
            self._insert_undo_batch(batch.undo_batch, batch.cursors)
        if batch.undoes is not None:
            deletion = undo_batch(self.db, self.scope_name, self.scope.key, batch.undoes, self.revision)
            self.deleted_access_count += deletion.access_count
            self._require_reload()
        self._forget(batch.tombstones)
        must_reload = not (batch.nodes or batch.edges) and self._delete_last_entities()
        self._update_entities(batch.entities)
        self._restore_validity(batch.restored_validity)
        nodes = self._insert_nodes(batch)
        self._load_seqs(batch)
        vector_writer = VectorWriter(self.db, self.scope_name, self.scope, self.revision, self._seq_of)
        written = vector_writer.write(batch)
        english = vector_writer.write_english(batch)
        write_token_codes(self.db, self.scope.key, batch)
        media_vectors = write_media_vectors(self.db, self.scope.key, self.revision, self._seq_of, batch.media_vectors)
        self._insert_edges(batch.edges)
        self._insert_validity_ends(batch.validity_ends)
        accesses = self._insert_accesses(batch.accesses)
        retention = self._update_retention(len(accesses))
        self._upsert_cursors(batch.cursors)
        english_embedder = vector_writer.switch_embedder(batch) if batch.switch_embedder else english.model
        self.db.execute(
            "UPDATE scope SET revision = ?, seq = ? WHERE key = ?", (self.revision, self.seq, self.scope.key)
        )
        return replace(
            batch,
            nodes=nodes,
            vectors=written.vectors,
            english_vectors=english.vectors,
            token_codes={},
            code_model=None,
            media_vectors=media_vectors,
            accesses=accesses,
            embedder=written.model,
            english_embedder=english_embedder,
            switch_embedder=batch.switch_embedder or must_reload,
            needs_full_log=bool(self.scope.needs_full_log or batch.needs_full_log),
            retention=retention,
            expected_revision=None,
            read_revision=None,
            revision=self.revision,
        )

    def _seq_of(self, node: NodeId) -> int:
        """Return the ``seq`` of a node; raises ``StaleWrite`` if it is missing, or written after it was read."""
        if node not in self.seq_by_id:
            query = "SELECT seq, revision FROM node WHERE scope = ? AND id = ?"
            found = self.db.execute(query, (self.scope.key, node)).fetchone()
            if found is None or int(found[1]) > self._read_revision:
                problem = "is not in" if found is None else "was written again in"
                raise StaleWrite(f"the batch refers to {node!r}, which {problem} scope {self.scope_name!r}")
            self.seq_by_id[node] = int(found[0])
        return self.seq_by_id[node]

    def _load_seqs(self, batch: WriteBatch) -> None:
        """Look up the nodes that a batch refers to, many in one query."""
        ids = [*batch.vectors, *batch.english_vectors, *batch.restored_validity]
        ids += [one.node for one in batch.media_vectors]
        ids += [one.node for one in batch.validity_ends] + [one.node for one in batch.accesses]
        ids += [id_ for edge in batch.edges for id_ in (edge.src, edge.dst, edge.provenance) if id_ is not None]
        unknown = [id_ for id_ in dict.fromkeys(ids) if id_ not in self.seq_by_id]
        for part in split_ids(unknown):
            query = f"SELECT id, seq, revision FROM node WHERE scope = ? AND id IN ({placeholders(part)})"  # noqa: S608
            for id_, seq, revision in self.db.execute(query, (self.scope.key, *part)):
                if revision <= self._read_revision:
                    self.seq_by_id[id_] = seq

    @property
    def _read_revision(self) -> int:
        """The revision that the batch was made from; the one that it writes if it does not say."""
        return self.revision if self.batch.read_revision is None else self.batch.read_revision

    def _next_seq(self) -> int:
        self.seq += 1
        return self.seq

    def _forget(self, tombstones: Iterable[Tombstone]) -> None:
        deletion = NodeDeletion(self.db, self.scope.key)
        for tombstone in tombstones:
            deletion.delete(tombstone.node)
            row = (self.scope.key, self.revision, tombstone.node, tombstone.digest)
            self.db.execute("INSERT INTO tombstone VALUES (?, ?, ?, ?)", row)
        deletion.delete_orphans()
        self.deleted_access_count += deletion.access_count

    def _delete_last_entities(self) -> bool:
        """After a forgetting, delete the entities of a scope without memories; return whether there were any.

        Whoever writes to a store may add entities that no memory mentions. Readers must load again.
        """
        if not self.batch.tombstones:
            return False
        key, before = self.scope.key, self.db.total_changes()
        self.db.execute(
            """DELETE FROM node WHERE scope = ?1
               AND NOT EXISTS (SELECT 1 FROM node WHERE scope = ?1 AND kind <> 'entity')""",
            (key,),
        )
        if self.db.total_changes() == before:
            return False
        self._require_reload()
        return True

    def _update_entities(self, entities: Sequence[Node]) -> None:
        """Write the spelling and times of entities."""
        if not entities:
            return
        self.db.executemany(
            "UPDATE node SET text = ?, happened_at = ?, recorded_at = ? WHERE scope = ? AND id = ? AND kind = 'entity'",
            (
                (one.text, one.happened_at.isoformat(), one.recorded_at.isoformat(), self.scope.key, one.id)
                for one in entities
            ),
        )
        self._require_reload()

    def _restore_validity(self, nodes: Sequence[NodeId]) -> None:
        """Delete the ends of validity of nodes."""
        if not nodes:
            return
        self.db.executemany(
            "DELETE FROM validity_end WHERE scope = ? AND node = ?",
            ((self.scope.key, self._seq_of(node)) for node in nodes),
        )
        self._require_reload()

    def _require_reload(self) -> None:
        """Make other readers load the scope again: something was changed, and not only appended."""
        self.db.execute("UPDATE scope SET reload_revision = ? WHERE key = ?", (self.revision, self.scope.key))

    def _insert_nodes(self, batch: WriteBatch) -> tuple[Node, ...]:
        numbered = tuple(replace(node, seq=self._next_seq()) for node in batch.nodes)
        placeholders = ", ".join("?" * (2 + len(row_mapping.NODE_COLUMNS) + len(row_mapping.ANALYSIS_COLUMNS)))
        values = (
            (self.scope.key, self.revision, *row_mapping.node_to_row(node, node.seq),
             *row_mapping.analysis_to_row(batch.analyses.get(node.id)))
            for node in numbered
        )  # fmt: skip
        statement = f"INSERT INTO node (scope, revision, {FULL_NODE_COLUMNS}) VALUES ({placeholders})"  # noqa: S608
        try:
            self.db.executemany(statement, values)
        except (apsw.ConstraintError, DuplicateRow) as error:
            raise StaleWrite(f"an id of this batch is in scope {self.scope_name!r} already ({error})") from error
        self.seq_by_id.update((node.id, node.seq) for node in numbered)
        return numbered

    def _insert_edges(self, edges: Sequence[Edge]) -> None:
        if self.batch.read_revision is not None:
            for edge in edges:
                self._seq_of(edge.provenance or edge.src)
        self.db.executemany(
            "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (self.scope.key, self.revision, self._seq_of(edge.src), self._seq_of(edge.dst), edge.link.value,
                 float(edge.weight), edge.provenance)
                for edge in edges
            ),
        )  # fmt: skip

    def _insert_validity_ends(self, ends: Iterable[ValidityEnd]) -> None:
        self.db.executemany(
            "INSERT INTO validity_end VALUES (?, ?, ?, ?, ?)",
            (
                (self.scope.key, self.revision, self._seq_of(end.node), end.valid_to.isoformat(),
                 end.recorded_at.isoformat())
                for end in ends
            ),
        )  # fmt: skip

    def _insert_accesses(self, accesses: Iterable[Access]) -> tuple[Access, ...]:
        # Another process may have forgotten a node since it was recalled: then there is nothing to log.
        existing = [access for access in accesses if self._has_node(access.node)]
        counts = self._stored_counts({self.seq_by_id[access.node] for access in existing})
        numbered = tuple(
            replace(access, seq=self._next_seq(), count=self._next_count(access, counts)) for access in existing
        )
        columns = ", ".join(row_mapping.ACCESS_COLUMNS)
        self.db.executemany(
            f"INSERT INTO access (scope, revision, {columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                (self.scope.key, self.revision, *row_mapping.access_to_row(access, self.seq_by_id[access.node]))
                for access in numbered
            ),
        )
        return numbered

    def _stored_counts(self, nodes: Iterable[int]) -> dict[tuple[int, int], int]:
        """How many accesses of each kind some nodes have had, by ``seq`` and the code of the kind."""
        counts: dict[tuple[int, int], int] = {}
        for part in split_ids(sorted(nodes)):
            query = f"""SELECT node, kind, max(nth) FROM access WHERE scope = ? AND node IN ({placeholders(part)})
                        GROUP BY node, kind"""  # noqa: S608
            found = self.db.execute(query, (self.scope.key, *part))
            counts.update(((int(node), int(kind)), int(nth)) for node, kind, nth in found)
        return counts

    def _next_count(self, access: Access, counts: dict[tuple[int, int], int]) -> int:
        """Return the number of an access among the accesses of its kind, at least its own ``count``."""
        group = self.seq_by_id[access.node], ACCESS_KIND_CODES[access.kind]
        counts.setdefault(group, int(access.kind == AccessKind.ENCODED))  # storing it was its first
        counts[group] = max(counts[group] + 1, access.count)
        return counts[group]

    def _update_retention(self, new_access_count: int) -> LogRetention:
        """Record the growth of the log, let it expire if it has grown enough, and return its retention.

        The following commits delete expired accesses, a few nodes each; readers skip them until then.
        """
        scope, needs_full_log = self.scope, int(self.scope.needs_full_log or self.batch.needs_full_log)
        size = scope.log_size + new_access_count - self.deleted_access_count
        growth = scope.log_growth + new_access_count
        retention_seq, cursor = scope.retention_seq, scope.sweep_cursor
        if new_access_count and not needs_full_log:
            if cursor < retention_seq:
                cursor, deleted = self._sweep_log(cursor)
                size -= deleted
            elif growth >= max(self.min_log_growth, (size - growth) // 2):
                retention_seq, cursor, growth = self.seq, 0, 0
        self.db.execute(
            """UPDATE scope SET needs_full_log = ?, retention_seq = ?, sweep_cursor = ?, log_size = ?, log_growth = ?
               WHERE key = ?""",
            (needs_full_log, retention_seq, cursor, max(0, size), growth, scope.key),
        )
        return LogRetention(retention_seq, self.keep_last) if retention_seq else FULL_LOG

    def _sweep_log(self, cursor: int) -> tuple[int, int]:
        """Delete the expired accesses of the next nodes; return the new cursor and the number of deleted accesses."""
        key, retention_seq = self.scope.key, self.scope.retention_seq
        query = "SELECT DISTINCT node FROM access WHERE scope = ? AND node > ? ORDER BY node LIMIT ?"
        nodes = self.db.execute(query, (key, cursor, NODES_PER_SWEEP)).fetchall()
        if not nodes:
            return retention_seq, 0
        groups = self.db.execute(
            """SELECT node, kind, max(nth) - ?1 FROM access WHERE scope = ?2 AND node > ?3 AND node <= ?4 AND seq <= ?5
               GROUP BY node, kind HAVING max(nth) - min(nth) >= ?1""",
            (self.keep_last, key, cursor, nodes[-1][0], retention_seq),
        ).fetchall()
        before = self.db.total_changes()
        self.db.executemany(
            "DELETE FROM access WHERE scope = ? AND node = ? AND kind = ? AND nth <= ?",
            ((key, *group) for group in groups),
        )
        return int(nodes[-1][0] or 0), self.db.total_changes() - before

    def _upsert_cursors(self, cursors: Mapping[str, int]) -> None:
        self.db.executemany(
            """INSERT INTO cursor VALUES (?, ?, ?, ?) ON CONFLICT (scope, name)
               DO UPDATE SET revision = excluded.revision, seq = excluded.seq""",
            ((self.scope.key, name, self.revision, seq) for name, seq in sorted(cursors.items())),
        )

    def _insert_undo_batch(self, undo_batch: UndoBatch, cursors: Mapping[str, int]) -> None:
        """Record that this revision belongs to an undo batch, with the previous cursors."""
        key = self.scope.key
        stored = self.db.execute("SELECT name, seq FROM cursor WHERE scope = ?", (key,))
        current = {str(name): seq for name, seq in stored}
        previous = {name: current.get(name) for name in cursors}
        columns = json.dumps(dict(undo_batch.counts)), json.dumps(previous)
        self.db.execute(
            "INSERT INTO undo_batch VALUES (?, ?, ?, ?, ?, ?)",
            (key, self.revision, undo_batch.id, undo_batch.at.isoformat(), *columns),
        )

    def _has_node(self, node: NodeId) -> bool:
        try:
            return self._seq_of(node) > 0
        except StaleWrite:
            return False


def derived_part(batch: WriteBatch) -> WriteBatch:
    """What of a batch may be lost if the machine fails: what a recall logs, and what can be made again."""
    return WriteBatch(
        accesses=batch.accesses,
        token_codes=batch.token_codes,
        code_model=batch.code_model,
        needs_full_log=batch.needs_full_log,
        read_revision=batch.read_revision,
    )


def write_snapshot(db: Database, scope: ScopeRow | None, revision: int, value: bytes) -> None:
    """Write the snapshot of a scope if that has just this revision."""
    if scope is not None and scope.revision == revision:
        db.execute(
            """INSERT INTO graph_snapshot VALUES (?, ?, ?) ON CONFLICT (scope)
               DO UPDATE SET revision = excluded.revision, value = excluded.value""",
            (scope.key, revision, value),
        )
