"""Replaces the chunks of stored texts, inside a transaction that the store holds.

New chunks reuse the rows of the old ones, so that they keep their ``seq`` and revision; if there are more, rows are
added. Edges, claims and accesses of an old chunk move to the new chunk that has most of its text. Ends of validity and
marks hold for the whole text: each new chunk takes them from the old chunk that it has most of. Media stay with the
first chunk. Mentions, terms and vectors of a chunk follow from its own text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from ...errors import StaleWrite
from ...model.types import ACCESS_KIND_CODES, MENTION_LINKS, AccessKind, Link, Mark, Node, NodeId, WriteBatch
from . import row_mapping
from .batch_writer import FULL_NODE_COLUMNS, VectorWriter
from .database import Database, DuplicateRow
from .scopes import ScopeRow

_CHUNK_COLUMNS = ("id", "text", "document", "position", "start", "heading", *row_mapping.ANALYSIS_COLUMNS)
"""The columns in which the chunks of a text differ."""
_COPY_COLUMNS = ", ".join(
    name for name in (*row_mapping.NODE_COLUMNS, *row_mapping.ANALYSIS_COLUMNS) if name not in {"seq", "id", "media"}
)
_UPDATE_CHUNK = f"UPDATE node SET {', '.join(f'{name} = ?' for name in _CHUNK_COLUMNS)} WHERE scope = ? AND seq = ?"  # noqa: S608
_MENTION_LINKS = {link.value for link in MENTION_LINKS}
_MARK_CODES = {ACCESS_KIND_CODES[mark] for mark in Mark}
_ENCODED_CODE = ACCESS_KIND_CODES[AccessKind.ENCODED]


@dataclass(frozen=True, slots=True)
class RechunkedDocument:
    """A chunked text as it was read, and its new chunks.

    ``batch`` is what remembering the new chunks would write: their nodes first, with analyses, vectors, entities and
    mentions. ``new_for_old`` has for each old chunk the index of the new chunk that has most of it, ``old_for_new`` the
    reverse. ``claim_id`` returns the id of a claim with that text in a new chunk, by its index; None if the chunk does
    not make the claim.
    """

    old_chunks: tuple[Node, ...]
    new_chunks: tuple[Node, ...]
    batch: WriteBatch
    new_for_old: tuple[int, ...]
    old_for_new: tuple[int, ...]
    claim_id: Callable[[int, str], NodeId | None]


class RechunkWriter:
    """Writes the new chunks of some texts of one scope."""

    def __init__(self, db: Database, scope: ScopeRow) -> None:
        self._db = db
        self._scope = scope
        self._scope_key = scope.key
        self._revision = scope.revision + 1
        self._seq = scope.seq
        self._log_delta = 0  # accesses added, less those deleted

    def write(self, documents: Sequence[RechunkedDocument]) -> None:
        """Write all documents; every reader must reload."""
        for document in documents:
            self._write_document(document)
        self._db.execute(
            """UPDATE scope SET revision = ?1, reload_revision = ?1, seq = ?2, log_size = ?3 WHERE key = ?4""",
            (self._revision, self._seq, max(0, self._scope.log_size + self._log_delta), self._scope_key),
        )

    def _write_document(self, document: RechunkedDocument) -> None:
        old, revision = self._current_chunks(document)
        new = [*old[: len(document.new_chunks)], *(self._insert_copy(old[0]) for _ in document.new_chunks[len(old) :])]
        new_by_old = {seq: new[index] for seq, index in zip(old, document.new_for_old, strict=True)}
        all_new_by_old: dict[int, list[int]] = {seq: [] for seq in old}
        for seq, index in zip(new, document.old_for_new, strict=True):
            all_new_by_old[old[index]].append(seq)
        new_id_by_old = dict(
            zip(
                (node.id for node in document.old_chunks),
                (document.new_chunks[index].id for index in document.new_for_old),
                strict=True,
            )
        )
        entities = self._delete_mentions(old)
        self._move_edges(old, new_by_old, all_new_by_old, new_id_by_old, first=new[0])
        self._move_validity_ends(old, all_new_by_old)
        self._move_accesses(old, new_by_old, all_new_by_old)
        self._update_chunks(document, old, new)
        self._reassign_claims(document, new)
        self._insert_mentions(document, new, revision)
        self._replace_vectors(document, new, revision)
        self._delete_orphan_entities(entities)

    def _current_chunks(self, document: RechunkedDocument) -> tuple[list[int], int]:
        """Return the ``seq`` of each old chunk and the revision of the first; raises ``StaleWrite`` if they changed."""
        query = "SELECT id, text, seq, revision FROM node WHERE scope = ? AND id = ?"
        found = [row for node in document.old_chunks for row in self._query(query, node.id)]
        if [row[:2] for row in found] != [(node.id, node.text) for node in document.old_chunks]:
            raise StaleWrite(f"{document.old_chunks[0].document!r} has changed since it was read")
        return [row[2] for row in found], found[0][3]

    def _query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._db.execute(query, (self._scope_key, *values)).fetchall()

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def _insert_copy(self, source_seq: int) -> int:
        """Insert a copy of a row and return its ``seq``; the columns of its chunk are written later."""
        seq = self._next_seq()
        self._db.execute(
            f"INSERT INTO node (scope, revision, seq, id, {_COPY_COLUMNS}) "  # noqa: S608
            f"SELECT scope, revision, ?, ?, {_COPY_COLUMNS} FROM node WHERE scope = ? AND seq = ?",
            (seq, _temporary_id(seq), self._scope_key, source_seq),
        )
        return seq

    # ---- rows of the old chunks

    def _delete_mentions(self, old: Iterable[int]) -> list[int]:
        """Delete the mentions and descriptions of the old chunks and return the entities.

        Edges with a provenance stay.
        """
        entities: dict[int, None] = {}
        for seq in old:
            query = "SELECT src FROM edge WHERE scope = ? AND dst = ? AND link = ?"
            for (description,) in self._query(query, seq, Link.DESCRIBED_IN.value):
                self._db.execute("DELETE FROM node WHERE scope = ? AND seq = ?", (self._scope_key, description))
            query = "SELECT rowid, dst, link FROM edge WHERE scope = ? AND src = ? AND provenance IS NULL"
            for rowid, dst, link in self._query(query, seq):
                if link in _MENTION_LINKS:
                    self._db.execute("DELETE FROM edge WHERE scope = ? AND rowid = ?", (self._scope_key, rowid))
                    entities[int(dst)] = None
        return list(entities)

    def _move_edges(
        self,
        old: Iterable[int],
        new_by_old: Mapping[int, int],
        all_new_by_old: Mapping[int, Sequence[int]],
        new_id_by_old: Mapping[NodeId, NodeId],
        *,
        first: int,
    ) -> None:
        """Move every edge of the old chunks; of several that become equal the strongest stays.

        Supersession holds for the whole text: the edge starts at the first new chunk and ends at every new chunk.
        """
        found: dict[int, tuple[Any, ...]] = {}
        columns = "rowid, revision, src, dst, link, weight, provenance"
        for column, values in (("src", old), ("dst", old), ("provenance", new_id_by_old)):
            query = f"SELECT {columns} FROM edge WHERE scope = ? AND {column} = ?"  # noqa: S608
            for value in values:
                found.update((row[0], row[1:]) for row in self._query(query, value))
        moved: dict[tuple[Any, ...], tuple[int, float]] = {}
        for rowid in sorted(found):
            revision, src, dst, link, weight, provenance = found[rowid]
            self._db.execute("DELETE FROM edge WHERE scope = ? AND rowid = ?", (self._scope_key, rowid))
            start, ends = new_by_old.get(src, src), [new_by_old.get(dst, dst)]
            if link == Link.SUPERSEDES.value:
                start, ends = first if src in new_by_old else src, list(all_new_by_old.get(dst) or ends)
            for end in ends:
                if start == end and src != dst:
                    continue  # it linked two chunks that are one now
                edge = (start, end, link, new_id_by_old.get(provenance, provenance))
                first_revision, strongest = moved.get(edge, (revision, weight))
                moved[edge] = first_revision, max(strongest, weight)
        self._db.executemany(
            "INSERT INTO edge (scope, revision, src, dst, link, weight, provenance) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (self._scope_key, revision, src, dst, link, weight, provenance)
                for (src, dst, link, provenance), (revision, weight) in moved.items()
            ),
        )

    def _move_validity_ends(self, old: Iterable[int], all_new_by_old: Mapping[int, Sequence[int]]) -> None:
        moved: list[tuple[Any, ...]] = []
        for seq in old:
            query = (
                "SELECT revision, valid_to, recorded_at FROM validity_end WHERE scope = ? AND node = ? ORDER BY rowid"
            )
            for revision, valid_to, recorded_at in self._query(query, seq):
                moved += [
                    (self._scope_key, revision, new_seq, valid_to, recorded_at) for new_seq in all_new_by_old[seq]
                ]
            self._db.execute("DELETE FROM validity_end WHERE scope = ? AND node = ?", (self._scope_key, seq))
        self._db.executemany("INSERT INTO validity_end VALUES (?, ?, ?, ?, ?)", moved)

    def _move_accesses(
        self, old: Iterable[int], new_by_old: Mapping[int, int], all_new_by_old: Mapping[int, Sequence[int]]
    ) -> None:
        """Move the accesses of the old chunks and renumber them; expired accesses stay counted."""
        groups: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        counts: dict[tuple[int, int], int] = {}
        for seq in old:
            query = (
                "SELECT kind, nth, seq, revision, at, strength FROM access WHERE scope = ? AND node = ? ORDER BY seq"
            )
            last: dict[tuple[int, int], int] = {}
            for kind, nth, at_seq, *rest in self._query(query, seq):
                for index, new_seq in enumerate(all_new_by_old[seq] if kind in _MARK_CODES else (new_by_old[seq],)):
                    group = (new_seq, int(kind))
                    groups.setdefault(group, []).append((at_seq if index == 0 else self._next_seq(), *rest))
                    last[group] = max(last.get(group, 0), int(nth))
            for group, nth in last.items():
                stored = int(group[1] == _ENCODED_CODE)  # storing it was its first
                counts[group] = counts.get(group, stored) + nth - stored
            self._db.execute("DELETE FROM access WHERE scope = ? AND node = ?", (self._scope_key, seq))
            self._log_delta -= self._db.changes()
        for (node, kind), moved in groups.items():
            first = counts[node, kind] - len(moved) + 1
            for nth, (at_seq, *rest) in enumerate(sorted(moved), first):
                columns = "scope, node, kind, nth, seq, revision, at, strength"
                self._db.execute(
                    f"INSERT INTO access ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                    (self._scope_key, node, kind, nth, at_seq, *rest),
                )
            self._log_delta += len(moved)

    # ---- rows of the new chunks

    def _update_chunks(self, document: RechunkedDocument, old: Sequence[int], new: Sequence[int]) -> None:
        for seq in old[len(new) :]:
            self._db.execute("DELETE FROM node WHERE scope = ? AND seq = ?", (self._scope_key, seq))
        self._set_ids(new, map(_temporary_id, new))
        for seq, node in zip(new, document.new_chunks, strict=True):
            chunk = (node.id, node.text, node.document, node.position, node.start, node.heading)
            analysis = row_mapping.analysis_to_row(document.batch.analyses.get(node.id))
            try:
                self._db.execute(_UPDATE_CHUNK, (*chunk, *analysis, self._scope_key, seq))
            except (apsw.ConstraintError, DuplicateRow) as error:
                raise StaleWrite(f"the id {node.id!r} belongs to another memory ({error})") from error

    def _set_ids(self, seqs: Iterable[int], ids: Iterable[NodeId]) -> None:
        self._db.executemany(
            "UPDATE node SET id = ? WHERE scope = ? AND seq = ?",
            ((id_, self._scope_key, seq) for seq, id_ in zip(seqs, ids, strict=True)),
        )

    def _reassign_claims(self, document: RechunkedDocument, new: Sequence[int]) -> None:
        """Give each claim the id that follows from its new chunk, and delete the claims that no chunk makes."""
        indexes = {seq: index for index, seq in enumerate(new)}
        claims: dict[int, NodeId | None] = {}
        homes: dict[int, int] = {}
        for seq in new:
            query = """SELECT c.seq, c.text FROM edge e JOIN node c ON c.scope = e.scope AND c.seq = e.src
                       WHERE e.scope = ? AND e.dst = ? AND e.link = ?"""
            for claim, text in self._query(query, seq, Link.CLAIMED_IN.value):
                nearest = sorted(range(len(new)), key=lambda index: abs(index - indexes[seq]))
                found = [(index, id_) for index in nearest if (id_ := document.claim_id(index, str(text)))]
                home, id_ = found[0] if found else (indexes[seq], None)
                if id_ in claims.values():
                    id_ = None
                claims[int(claim)], homes[int(claim)] = id_, new[home]
        for claim in claims:
            self._db.execute(
                "UPDATE edge SET dst = ? WHERE scope = ? AND src = ? AND link = ?",
                (homes[claim], self._scope_key, claim, Link.CLAIMED_IN.value),
            )
        self._set_ids(claims, map(_temporary_id, claims))
        for claim, id_ in claims.items():
            if id_ is None:
                self._db.execute("DELETE FROM node WHERE scope = ? AND seq = ?", (self._scope_key, claim))
            else:
                self._set_ids([claim], [id_])

    def _insert_mentions(self, document: RechunkedDocument, new: Sequence[int], revision: int) -> None:
        seqs = dict(zip((node.id for node in document.new_chunks), new, strict=True))
        entities = {node.id: node for node in document.batch.nodes if node.id not in seqs}
        for edge in document.batch.edges:
            if edge.link not in MENTION_LINKS:
                continue
            if edge.dst not in seqs:
                seqs[edge.dst] = self._ensure_entity(entities[edge.dst])
            self._db.execute(
                "INSERT INTO edge (scope, revision, src, dst, link, weight, provenance) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._scope_key,
                    revision,
                    seqs[edge.src],
                    seqs[edge.dst],
                    edge.link.value,
                    edge.weight,
                    edge.provenance,
                ),
            )

    def _ensure_entity(self, node: Node) -> int:
        """Return the ``seq`` of an entity, which is inserted if it is missing."""
        query = "SELECT seq FROM node WHERE scope = ? AND id = ?"
        for (known,) in self._query(query, node.id):
            return int(known)
        seq = self._next_seq()
        values = (
            self._scope_key,
            self._revision,
            *row_mapping.node_to_row(node, seq),
            *row_mapping.analysis_to_row(None),
        )
        placeholders = ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO node (scope, revision, {FULL_NODE_COLUMNS}) VALUES ({placeholders})", values)  # noqa: S608
        return seq

    def _replace_vectors(self, document: RechunkedDocument, new: Sequence[int], revision: int) -> None:
        """Write the vectors of the scope's model; vectors of a model that it is switching to are made again later."""
        model, dim = self._scope.embedder, self._scope.dim
        for seq, node in zip(new, document.new_chunks, strict=True):
            for table in ("vector", "english_vector", "token_codes"):
                self._db.execute(f"DELETE FROM {table} WHERE scope = ? AND node = ?", (self._scope_key, seq))  # noqa: S608
            vector = document.batch.vectors.get(node.id)
            if model is not None and vector is not None:
                self._db.execute(
                    "INSERT INTO vector (scope, model, node, revision, value) VALUES (?, ?, ?, ?, ?)",
                    (
                        self._scope_key,
                        model,
                        seq,
                        revision,
                        row_mapping.vector_to_blob(vector, dim or len(vector), node.id),
                    ),
                )
        seqs = dict(zip((node.id for node in document.new_chunks), new, strict=True))
        VectorWriter(self._db, "", self._scope, revision, seqs.__getitem__).write_english(document.batch)

    def _delete_orphan_entities(self, entities: Iterable[int]) -> None:
        """Delete those entities that nothing mentions any more."""
        self._db.executemany(
            """DELETE FROM node WHERE scope = ?1 AND seq = ?2 AND kind = 'entity' AND NOT EXISTS
               (SELECT 1 FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ('mentions', 'about'))""",
            ((self._scope_key, seq) for seq in entities),
        )


def _temporary_id(seq: int) -> NodeId:
    """Return an id that no memory has, for use while ids are exchanged."""
    return f"\x01{seq}"
