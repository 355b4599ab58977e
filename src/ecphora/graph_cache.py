"""A cache of the graph of one scope, updated from its store."""

import threading

from . import graph_snapshot
from .errors import StoreReplaced
from .graph import Graph
from .graph_updates import apply_batch
from .model import WriteBatch
from .ports import SnapshotStore, Store


class GraphCache:
    """The graph of one scope, kept up to date from the changes that its store reports."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._graph = Graph()
        self._saved_rows = 0
        self._is_loaded = False
        self.embedder_name: str | None = None
        self.english_embedder_name: str | None = None

    def refresh(self) -> Graph:
        """The graph as of the last commit of any process."""
        with self._lock:
            if not self._is_loaded:
                self._load_snapshot()
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def save(self) -> None:
        """Keep a snapshot of the graph with its store, if much of it is not in the latest one."""
        with self._lock:
            if isinstance(self._store, SnapshotStore) and graph_snapshot.is_due(self._graph, self._saved_rows):
                value = graph_snapshot.to_bytes(self._graph)
                self._store.write_graph_snapshot(self._scope, self._graph.revision, value)
                self._saved_rows = len(self._graph)

    def apply(self, batch: WriteBatch) -> Graph:
        """Add a committed write batch, and return the graph."""
        with self._lock:
            if batch.revision == self._graph.revision + 1 and not batch.switch_embedder and batch.undoes is None:
                return self._grow(batch)
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def _load_snapshot(self) -> None:
        """Start from the snapshot that the store has, if it is sound."""
        stored = self._store.graph_snapshot(self._scope) if isinstance(self._store, SnapshotStore) else None
        found = None if stored is None else graph_snapshot.to_graph(stored)
        if found is not None:
            self._graph, self._saved_rows = found, len(found)
        self._is_loaded = True

    def _grow(self, batch: WriteBatch) -> Graph:
        if batch.switch_embedder:  # other vectors: nothing of the old ones may stay
            self._graph, self._saved_rows, self.english_embedder_name = Graph(), 0, None
            batch = self._store.changes_since(self._scope, 0)
        if batch.revision < self._graph.revision:  # revisions only grow: it is another scope, or none any more
            raise StoreReplaced(
                f"scope {self._scope!r} was renamed, or replaced by another, while the memory was open; close this "
                "memory and open it again, by the scope's new name"
            )
        self.embedder_name = batch.embedder or self.embedder_name
        self.english_embedder_name = batch.english_embedder or self.english_embedder_name
        if batch.revision > self._graph.revision:
            self._graph = apply_batch(self._graph, batch)
        return self._graph
