"""Writes the vectors of texts and the token codes of rerankers, and finds texts that have no vector yet.

All that inside a transaction that the store holds.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import apsw
import numpy as np

from ..errors import EmbedderMismatch, StoreError
from ..model.types import NodeId, Vector, WriteBatch
from . import row_mapping
from .scopes import ScopeRow

SeqOf = Callable[[NodeId], int]
"""Returns the ``seq`` of a node; raises ``StaleWrite`` if it is missing."""


@dataclass(frozen=True, slots=True)
class WrittenVectors:
    """The model of a scope's vectors, None if it has none, and the vectors that were written, as readers see them."""

    model: str | None
    vectors: Mapping[NodeId, Vector]


class VectorWriter:
    """Writes the vectors of one batch to a scope, as of a revision."""

    def __init__(self, db: apsw.Connection, scope_name: str, scope: ScopeRow, revision: int, seq_of: SeqOf) -> None:
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
            "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?)",
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
            "INSERT OR REPLACE INTO english_vector VALUES (?, ?, ?, ?)",
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


def ids_to_reembed(db: apsw.Connection, scope: ScopeRow, model: str, limit: int) -> list[NodeId]:
    """Return up to ``limit`` nodes that have a vector of the scope's model, but none of this model."""
    if scope.embedder in {None, model}:
        return []
    query = """SELECT n.id FROM vector v JOIN node n ON n.scope = v.scope AND n.seq = v.node
               WHERE v.scope = ?1 AND v.model = ?2
                 AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.scope = ?1 AND w.model = ?3 AND w.node = v.node)
               ORDER BY v.node LIMIT ?4"""
    return _ids(db.execute(query, (scope.key, scope.embedder, model, limit)))


def ids_without_english_vector(db: apsw.Connection, scope: ScopeRow, after_seq: int, limit: int) -> list[NodeId]:
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


def write_token_codes(db: apsw.Connection, scope: int, batch: WriteBatch) -> None:
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
           ON CONFLICT DO UPDATE SET model = excluded.model, value = excluded.value WHERE model <> excluded.model""",
        ((scope, node, batch.code_model, codes) for node, codes in batch.token_codes.items()),
    )
