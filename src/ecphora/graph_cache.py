"""A cache of the graph of one scope, updated from its store."""

import threading

from .errors import StoreReplaced
from .graph import Graph
from .graph_updates import apply_batch
from .model import WriteBatch
from .ports import (
    Store,
)


class GraphCache:
    """The graph of one scope, kept up to date from the changes that its store reports."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._graph = Graph()
        self.embedder_name: str | None = None
        self.english_embedder_name: str | None = None

    def refresh(self) -> Graph:
        """The graph as of the last commit of any process."""
        with self._lock:
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def apply(self, batch: WriteBatch) -> Graph:
        """Add a committed write batch, and return the graph."""
        with self._lock:
            if batch.revision == self._graph.revision + 1 and not batch.switch_embedder and batch.undoes is None:
                return self._grow(batch)
            return self._grow(self._store.changes_since(self._scope, self._graph.revision))

    def _grow(self, batch: WriteBatch) -> Graph:
        if batch.switch_embedder:  # other vectors: nothing of the old ones may stay
            self._graph, self.english_embedder_name = Graph(), None
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
