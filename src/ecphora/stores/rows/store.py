"""What every store of rows does in the same way, whatever its database."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from ...errors import InvalidInput, StaleWrite, StoreDamaged, UnknownName
from ...model.ports import StoredSnapshot
from ...model.reprs import OpenInEachProcess
from ...model.types import Node, NodeId, ScopeInfo, UndoBatch, WriteBatch
from . import batch_reader, batch_writer, undo_batches
from .database import Database
from .rechunk_writer import RechunkedDocument, RechunkWriter
from .row_copy import ScopeRows, count_rows, find_difference, write_rows
from .scopes import ScopeRow

T = TypeVar("T")
MAX_NAMED_VECTORS = 10
"""Nodes with damaged vectors that a warning names."""
MAX_NAMED_SCOPES = 10
"""Scopes that an error names."""

_log = logging.getLogger("ecphora")


class RowStore(OpenInEachProcess, ABC):
    """A store of rows. What it reads in one call is one state of the scope."""

    def __init__(self, place: str) -> None:
        self._place = place
        """Where the rows are, for messages."""
        self._warned_nodes: set[tuple[str, NodeId]] = set()

    @abstractmethod
    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        """Write all of a batch or nothing; return it as every reader will see it."""

    @abstractmethod
    def changes_since(self, scope: str, revision: int, /) -> WriteBatch:
        """Return everything committed to a scope after a revision; 0 reads the whole scope."""

    @abstractmethod
    def scopes(self) -> list[ScopeInfo]:
        """Return every scope that holds anything, by name."""

    @abstractmethod
    def rename_scope(self, scope: str, new_name: str, /) -> None:
        """Give a scope another name; a memory open on it has to be opened by the new one."""

    @abstractmethod
    def clone_scope(self, scope: str, new_name: str, /) -> None:
        """Copy a scope, with its log, tombstones and undo batches, to a new one."""

    @abstractmethod
    def close(self) -> None:
        """Close the file or the connections; closing twice is harmless."""

    @abstractmethod
    def _read(self, scope: str, work: Callable[[Database, ScopeRow], T], default: T, *, streams: bool = False) -> T:
        """What ``work`` reads of a scope in a transaction, ``default`` if nothing was written to the scope.

        With ``streams`` it may call :meth:`_stream`.
        """

    @abstractmethod
    def _write(self, scope: str, work: Callable[[Database, ScopeRow | None], None]) -> None:
        """Write to a scope in a transaction."""

    @abstractmethod
    def _create_scope(self, db: Database, name: str) -> ScopeRow:
        """Create a scope in a transaction that writes to it, or find the one that another process has created."""

    @abstractmethod
    def _translate_errors(self) -> AbstractContextManager[None]:
        """Raise the database's errors as errors of this package."""

    def _stream(self, db: Database, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """The rows of a query, few of them in memory at a time."""
        return iter(db.execute(sql, values))

    def nodes(self, scope: str, ids: Sequence[NodeId], /) -> list[Node]:
        """Return the nodes with these ids, in their order; missing ones are left out."""
        return self._read(scope, lambda db, target: batch_reader.read_nodes(db, target.key, ids), [])

    def graph_snapshot(self, scope: str, /) -> StoredSnapshot | None:
        """Return the snapshot from which ``changes_since`` leads on; None if there is none."""

        def read(db: Database, target: ScopeRow) -> StoredSnapshot | None:
            with batch_reader.pause_gc():
                return batch_reader.read_snapshot(db, target)

        return self._read(scope, read, None)

    def token_codes(self, scope: str, model: str, ids: Sequence[NodeId], /) -> Mapping[NodeId, bytes]:
        """Return the token codes of nodes, as far as this model has made them."""
        return self._read(scope, lambda db, target: batch_reader.read_token_codes(db, target.key, model, ids), {})

    def undo_batches(self, scope: str, /) -> list[UndoBatch]:
        """Return the undo batches, the batch that wrote last at the end."""
        return self._read(scope, lambda db, target: undo_batches.read_undo_batches(db, target.key), [])

    def node_ids_of_batch(self, scope: str, batch: str, /) -> list[NodeId]:
        """Return the nodes that an undo batch has written, as far as they are still there."""
        return self._read(scope, lambda db, target: undo_batches.read_node_ids(db, target.key, batch), [])

    def ids_to_reembed(self, scope: str, model: str, /, *, limit: int) -> list[NodeId]:
        """Return up to ``limit`` nodes that have a vector of the scope's model, but none of this model."""
        return self._read(scope, lambda db, target: batch_writer.ids_to_reembed(db, target, model, limit), [])

    def ids_without_english_vector(self, scope: str, /, *, after_seq: int, limit: int) -> list[NodeId]:
        """Return up to ``limit`` episodes without an English vector, the first whose ``seq`` is over ``after_seq``."""

        def read(db: Database, target: ScopeRow) -> list[NodeId]:
            return batch_writer.ids_without_english_vector(db, target, after_seq, limit)

        return self._read(scope, read, [])

    def document_chunks(self, scope: str, /) -> Mapping[NodeId, Sequence[NodeId]]:
        """Return the ids of the chunks of every chunked text, in their order, by the text's id."""
        return self._read(scope, lambda db, target: batch_reader.read_document_chunks(db, target.key), {})

    def rechunk(self, scope: str, documents: Sequence[RechunkedDocument], /) -> None:
        """Replace the chunks of some texts, all or none.

        Raises ``StaleWrite`` if any of the texts has changed since it was read.
        """

        def write(db: Database, target: ScopeRow | None) -> None:
            if target is None:
                raise StaleWrite(f"there is no scope {scope!r} any more")
            RechunkWriter(db, target).write(documents)

        self._write(scope, write)

    def count_rows(self, scope: str, /) -> int:
        """How many rows a copy of a scope has; raises ``UnknownName`` if there is no such scope."""
        found = self._read(scope, count_rows, None)
        if found is None:
            raise self._unknown(scope)
        return found

    def copy_scope(self, scope: str, target: "RowStore", advance: Callable[[int], None], /) -> bool:
        """Copy one state of a scope to another store; return False if an equal one is there already.

        The copy is compared with this scope before its commit: it appears whole and verified, or not at all.
        ``advance`` gets the numbers of rows written, then compared. Raises ``UnknownName`` if there is no such scope,
        ``InvalidInput`` if another one of the name is there, and ``StoreDamaged`` if the copy differs.
        """

        def send(db: Database, row: ScopeRow) -> bool:
            return target.receive_scope(scope, ScopeRows(row, partial(self._stream_translated, db)), advance)

        is_new = self._read(scope, send, None, streams=True)
        if is_new is None:
            raise self._unknown(scope)
        return is_new

    def receive_scope(self, scope: str, source: ScopeRows, advance: Callable[[int], None], /) -> bool:
        """Write the rows of another store's scope, as :meth:`copy_scope` says."""

        def compare(db: Database, row: ScopeRow) -> bool:
            difference = find_difference(source, ScopeRows(row, partial(self._stream, db)), advance)
            if difference is not None:
                raise InvalidInput(
                    f"scope {scope!r} is in {self._place} already and differs ({difference}): one of the two was "
                    "written to; nothing was overwritten: rename that one (ecphora rename-scope), or leave the scope "
                    "out (--scope)"
                )
            return True

        def write(db: Database, row: ScopeRow | None) -> None:
            new = row or self._create_scope(db, scope)
            if new.revision:  # of another process, or of an attempt of this one whose answer was lost
                compare(db, new)
                return
            written = ScopeRows(write_rows(db, source, new, advance), partial(self._stream, db))
            difference = find_difference(source, written, advance)
            if difference is not None:
                raise StoreDamaged(
                    f"{self._place} did not keep scope {scope!r} as it was written ({difference}), so nothing of it "
                    "was kept: look for triggers and damage there"
                )

        if self._read(scope, compare, False, streams=True):
            return False
        self._write(scope, write)
        return True

    def _unknown(self, scope: str) -> UnknownName:
        names = ", ".join(repr(info.name) for info in self.scopes()[:MAX_NAMED_SCOPES])
        return UnknownName(f"there is no scope {scope!r} in {self._place}; it holds {names or 'nothing'}")

    def _stream_translated(self, db: Database, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """Rows whose errors are of this store, in the midst of another's work."""
        with self._translate_errors():
            yield from self._stream(db, sql, values)

    def _warn_damaged_vectors(self, scope: str, nodes: Iterable[NodeId]) -> None:
        """Log once which nodes are treated as having no vector, because theirs is damaged."""
        new = [node for node in nodes if (scope, node) not in self._warned_nodes]
        self._warned_nodes.update((scope, node) for node in new)
        if new:
            named = ", ".join(map(repr, new[:MAX_NAMED_VECTORS])) + (
                f" and {len(new) - MAX_NAMED_VECTORS:,} more" if len(new) > MAX_NAMED_VECTORS else ""
            )
            _log.warning(
                "%s: scope %r has %d damaged vectors, ignored until ecphora doctor --fix makes them again: %s",
                self._place, scope, len(new), named,
            )  # fmt: skip
