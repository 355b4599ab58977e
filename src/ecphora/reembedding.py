"""Changes a scope to another embedding model while it stays in use."""

from contextlib import closing, suppress
from pathlib import Path

from . import encode
from .embedders.packaged import packaged_embedder
from .errors import StaleWrite
from .model import WriteBatch
from .ports import Embedder, Progress
from .stores.sqlite import SQLiteStore
from .validate import check_component, check_name, check_progress

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
    """
    model = (
        packaged_embedder(None) if embedder is None else check_component("embedder", embedder, "an embedder", "embed")
    )
    scope, progress = check_name("scope", scope), check_progress(progress)
    done = 0
    with closing(SQLiteStore(path)) as store:
        while True:
            info = next((info for info in store.scopes() if info.name == scope), None)
            if info is None or info.embedder in {None, model.name}:
                return done
            nodes = store.nodes(scope, store.ids_to_reembed(scope, model.name, limit=BATCH_SIZE))
            with suppress(StaleWrite):  # another process wrote or forgot something meanwhile: read again
                if nodes:
                    vectors = encode.embed_nodes(model, nodes)
                    batch = WriteBatch(vectors=vectors, embedder=model.name, read_revision=info.revision)
                    store.commit(scope, batch)
                    done += len(nodes)
                    if progress is not None:
                        progress(done, max(done, info.episodes))
                else:
                    store.commit(scope, WriteBatch(embedder=model.name, switch_embedder=True))
