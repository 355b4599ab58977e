"""Changes a scope to another embedding model while it stays in use, and makes the English vectors that it lacks."""

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from ..errors import StaleWrite
from ..model.ports import Embedder, Progress, english_embedder
from ..model.types import NodeId, ScopeInfo, WriteBatch
from ..model.validation import check_component, check_name, check_progress
from ..models.embedders.from_setting import packaged_embedder
from ..remember import encode
from ..remember.encode import embed_english, with_english_vectors
from ..stores.opening import open_store
from ..stores.rows.store import RowStore

BATCH_SIZE = 512
"""Memories embedded between two commits."""


def reembed(
    path: str | Path,
    *,
    scope: str = "default",
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> int:
    """Change a scope to another embedding model; return the number of memories embedded.

    The memory stays in use meanwhile: recalls use the old vectors until all new ones are written, and then one commit
    switches to the new. A call that was interrupted continues when called again. Memories that other processes write
    meanwhile are embedded too. Those processes must then reopen the memory with the new embedder; an error tells them.

    Then, and if the scope has this embedder already, English memories without an English vector get one, if the
    embedder has a second one for English.
    """
    model = (
        packaged_embedder(None) if embedder is None else check_component("embedder", embedder, "an embedder", "embed")
    )
    scope, progress = check_name("scope", scope), check_progress(progress)
    with closing(open_store(path)) as store:
        run = _Reembedding(store, scope, model, progress)
        run.change_embedder()
        run.add_english_vectors()
        return len(run.done)


class _Reembedding:
    """The embedding of one scope by a model; ``done`` are the nodes embedded so far."""

    def __init__(self, store: RowStore, scope: str, model: Embedder, progress: Progress | None) -> None:
        self.done: set[NodeId] = set()
        self._store = store
        self._scope = scope
        self._model = model
        self._progress = progress

    def _scope_info(self) -> ScopeInfo | None:
        return next((info for info in self._store.scopes() if info.name == self._scope), None)

    def change_embedder(self) -> None:
        """Embed all nodes by the model, and switch the scope to it, unless the scope has it already."""
        store, scope, model = self._store, self._scope, self._model
        second = english_embedder(model)
        while True:
            info = self._scope_info()
            if info is None or info.embedder in {None, model.name}:
                return
            nodes = store.nodes(scope, store.ids_to_reembed(scope, model.name, limit=BATCH_SIZE))
            with suppress(StaleWrite):  # another process wrote or forgot something meanwhile: read again
                if nodes:
                    vectors = encode.embed_nodes(model, nodes)
                    batch = WriteBatch(vectors=vectors, embedder=model.name, read_revision=info.revision)
                    store.commit(scope, batch)
                    self._count(vectors, info)
                else:
                    self._switch(second)

    def add_english_vectors(self) -> None:
        """Make the missing English vectors; vectors of another English model are deleted first."""
        second, after = english_embedder(self._model), 0
        while second is not None:
            info = self._scope_info()
            if info is None or info.embedder != self._model.name:
                return
            known = self._store.changes_since(self._scope, info.revision).english_embedder
            if known not in {None, second.name}:
                self._switch(second)
                after = 0
                continue
            ids = self._store.ids_without_english_vector(self._scope, after_seq=after, limit=BATCH_SIZE)
            nodes = self._store.nodes(self._scope, ids)
            if not ids:
                return
            vectors = embed_english(second, nodes)
            batch = WriteBatch(embedder=self._model.name, read_revision=info.revision)
            with suppress(StaleWrite):
                if vectors:
                    self._store.commit(self._scope, with_english_vectors(batch, vectors, second))
                    self._count(vectors, info)
                after = max((node.seq for node in nodes), default=after)

    def _switch(self, second: Embedder | None) -> None:
        english_name = None if second is None else second.name
        batch = WriteBatch(embedder=self._model.name, english_embedder=english_name, switch_embedder=True)
        self._store.commit(self._scope, batch)

    def _count(self, nodes: Iterable[NodeId], info: ScopeInfo) -> None:
        self.done.update(nodes)
        if self._progress is not None:
            self._progress(len(self.done), max(len(self.done), info.episodes))
