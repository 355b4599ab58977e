"""The writer of one scope: it reads the graph as of the last commit of any process and commits every change."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Self

from ..errors import EmbedderMismatch, RerankerUnavailable, StaleWrite, StoreBusy
from ..model.cancellation import check_cancellation, current_cancellation, run_both
from ..model.graph import media_spaces
from ..model.graph.graph import Graph
from ..model.graph.updates import has_content_tombstone, has_memory_tombstone
from ..model.ports import (
    CodeReranker,
    CodeSource,
    Embedder,
    Extractor,
    FullLogStrategy,
    IncrementalStrategy,
    NodeSource,
    NonblockingStore,
    Reranker,
    SecondsLeft,
    Store,
    Strategy,
    TokenCodeStore,
    english_embedder,
    similarity_floor,
)
from ..model.types import Access, AccessKind, Extraction, Kind, Node, NodeId, Vector, Vectors, WriteBatch
from . import documents, encode
from .encode import embed_english, english_memories, with_english_vectors
from .graph_cache import GraphCache
from .write_recall import store_accesses, writes_on_store

MAX_RETRIES = 100
"""The number of times that a write batch is built again because another process committed first."""
RETRY_SECONDS = 0.005
"""Seconds between two tries to commit in a limited time while another process holds the lock."""


class ExtractionSource:
    """Has an extractor read the texts of nodes, each once, however often their batch is built."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._found: dict[NodeId, Extraction] = {}

    def read(self, nodes: Sequence[Node]) -> dict[NodeId, Extraction]:
        """What the texts of some nodes mention, by the nodes' ids."""
        self._found |= encode.extract(self._extractor, [node for node in nodes if node.id not in self._found])
        return {node.id: self._found[node.id] for node in nodes}


class VectorSource:
    """Has the embedders of a scope embed the texts of nodes, each once, however often their batch is built."""

    def __init__(self, writer: "ScopeWriter") -> None:
        self._writer = writer
        self._vectors: dict[NodeId, Vector] = {}
        self._english_vectors: dict[NodeId, Vector] = {}

    def embed(self, nodes: Sequence[Node]) -> dict[NodeId, Vector]:
        """The vectors of some nodes, by their ids; their English vectors are made at the same time."""
        new, second = [node for node in nodes if node.id not in self._vectors], self._writer.english_embedder
        english = [] if second is None else english_memories(new)
        embed = partial(self._writer.embed, [encode.indexed_text(node) for node in new])
        if english:
            vectors, english_vectors = run_both(embed, partial(embed_english, second, english))
            self._english_vectors |= english_vectors
        else:
            vectors = embed()
        self._vectors.update(zip((node.id for node in new), vectors, strict=True))
        return {node.id: self._vectors[node.id] for node in nodes}

    def complete(self, batch: WriteBatch) -> WriteBatch:
        """A batch of nodes that were embedded, with their English vectors, and what the reranker keeps of memories."""
        found = {node.id: self._english_vectors[node.id] for node in batch.nodes if node.id in self._english_vectors}
        return with_english_vectors(self._writer.with_token_codes(batch), found, self._writer.english_embedder)


@dataclass(frozen=True, slots=True)
class Classification:
    """Episodes to remember: new episodes, episodes that exist, and episodes blocked by a tombstone."""

    new: list[documents.CheckedEpisode]
    existing: list[documents.CheckedEpisode]
    blocked: list[documents.CheckedEpisode]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The episodes of several batches together."""
        return cls(
            [episode for part in parts for episode in part.new],
            [episode for part in parts for episode in part.existing],
            [episode for part in parts for episode in part.blocked],
        )

    @property
    def ids(self) -> tuple[tuple[NodeId, ...], tuple[NodeId, ...], tuple[NodeId, ...]]:
        """The ids of the new episodes, of the episodes that exist, and of the blocked episodes."""
        new, existing, blocked = (
            tuple(episode.id for episode in group) for group in (self.new, self.existing, self.blocked)
        )
        return new, existing, blocked

    @property
    def new_nodes(self) -> list[Node]:
        """The nodes of the new episodes."""
        return [node for episode in self.new for node in episode.chunks]


@dataclass(frozen=True, slots=True)
class ScopeWriter:
    """Writes to one scope of a store. Its callers validate the input."""

    store: Store
    scope: str
    embedder: Embedder
    extractor: Extractor
    strategy: Strategy
    cache: GraphCache
    reranker: Reranker | None = None

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; immutable, safe to keep.

        Raises ``EmbedderMismatch`` if the scope's vectors come from another model than this writer's.
        """
        graph = self.cache.refresh()
        stored = self.cache.embedder_name
        if stored is not None and stored != self.embedder.name:
            raise EmbedderMismatch(
                f"scope {self.scope!r} was embedded by {stored!r}, this memory was opened with "
                f"{self.embedder.name!r}; open it with the first, or change it over once with ecphora.reembed"
            )
        return graph

    def node_source(self, graph: Graph) -> NodeSource:
        """Fetches nodes by their rows in a graph."""
        return lambda rows: self.store.nodes(self.scope, [graph.id(row) for row in rows])

    @property
    def code_source(self) -> CodeSource | None:
        """Fetches token codes; None if the store keeps none."""
        return partial(self.store.token_codes, self.scope) if isinstance(self.store, TokenCodeStore) else None

    def with_token_codes(self, batch: WriteBatch) -> WriteBatch:
        """A batch with the token codes of its memories, if the reranker makes any and the store keeps them."""
        reranker, nodes = self.reranker, [node for node in batch.nodes if node.kind is Kind.EPISODE]
        if not nodes or not isinstance(reranker, CodeReranker) or self.code_source is None:
            return batch
        try:
            codes = reranker.encode([encode.indexed_text(node) for node in nodes])
        except RerankerUnavailable:  # they are made when they are read
            return batch
        return self.with_kept_codes(batch, dict(zip((node.id for node in nodes), codes, strict=True)))

    def with_kept_codes(self, batch: WriteBatch, codes: Mapping[NodeId, bytes]) -> WriteBatch:
        """A batch with token codes that the reranker has made; codes of forgotten memories are left out."""
        if not codes or not isinstance(self.reranker, CodeReranker):
            return batch
        return replace(batch, token_codes=codes, code_model=self.reranker.code_model)

    # ---- committing

    def try_commit(self, batch: WriteBatch, time_left: SecondsLeft | None = None) -> bool:
        """Commit a write batch; False if another process changed its basis, so that the batch must be built again.

        ``time_left`` bounds the wait for another process's lock, where the store has a handle that does not wait by
        itself; raises ``StoreBusy`` after it.
        """
        store = self.store if time_left is None else nonblocking_handle(self.store)
        while True:
            try:
                with current_cancellation().commit():
                    self.cache.apply(store.commit(self.scope, batch))
            except StaleWrite:
                return False
            except StoreBusy:
                if time_left is None or time_left() <= 0:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return True

    def commit(self, build: Callable[[Graph], WriteBatch]) -> WriteBatch:
        """Build a write batch from the current graph and commit it; an empty batch is not committed.

        The batch is built again each time another process commits first. Raises ``StoreBusy`` after ``MAX_RETRIES``.
        """
        for _ in range(MAX_RETRIES):
            batch = build(self.graph())
            if batch == WriteBatch() or self.try_commit(batch):
                return batch
        raise self.contention_error()

    def contention_error(self) -> StoreBusy:
        """The error for when other processes commit first every time."""
        return StoreBusy(f"other processes changed scope {self.scope!r} {MAX_RETRIES} times meanwhile; try again")

    # ---- remembering

    def classify(self, episodes: Sequence[documents.CheckedEpisode], *, restore: bool) -> Classification:
        """Say which episodes are new as of now, which exist, and which are blocked."""
        return self._classify(self.graph(), episodes, restore=restore)

    def _classify(self, graph: Graph, told: Sequence[documents.CheckedEpisode], *, restore: bool) -> Classification:
        episodes = [documents.place_repeat(episode, graph) for episode in told]
        existing = [episode for episode in episodes if self._is_stored(graph, episode, restore=restore)]
        existing_ids = {episode.id for episode in existing}
        blocked = [
            episode
            for episode in episodes
            if episode.id not in existing_ids and not restore and has_memory_tombstone(episode.chunks, graph.tombstones)
        ]
        skipped_ids = existing_ids.union(episode.id for episode in blocked)
        return Classification([episode for episode in episodes if episode.id not in skipped_ids], existing, blocked)

    def remember(
        self,
        episodes: Sequence[documents.CheckedEpisode],
        now: datetime,
        *,
        restore: bool,
        extractions: ExtractionSource | None = None,
    ) -> Classification:
        """Write episodes and return which were new, which existed, and which were blocked by a tombstone.

        What is new is decided against the state that the batch is committed to, whoever else writes.
        """
        extractions, vectors = extractions or ExtractionSource(self.extractor), VectorSource(self)
        for _ in range(MAX_RETRIES):
            graph = self.graph()
            found = self._classify(graph, episodes, restore=restore)
            extracted = extractions.read(found.new_nodes)
            described = [
                one for node in found.new_nodes for one in encode.descriptions(node, extracted[node.id]).values()
            ]
            batch_vectors = vectors.embed([*found.new_nodes, *described])
            batch = vectors.complete(self._encode(found, graph, batch_vectors, extracted, now))
            if (batch.nodes or batch.accesses) and not self.try_commit(batch):
                continue
            return found
        raise self.contention_error()

    def _is_stored(self, graph: Graph, episode: documents.CheckedEpisode, *, restore: bool) -> bool:
        """Whether an episode is stored already; raises ``IdCollision`` if another text has its id.

        A text that was replaced is not stored, though its id is: it is blocked unless ``restore`` is set.
        """
        ids = documents.node_ids_of(graph, episode.id)
        nodes = self.store.nodes(self.scope, ids) if ids else []
        if nodes and not restore and not documents.same_content(episode, nodes):
            was_replaced = has_content_tombstone(episode.chunks, graph.tombstones)
            if was_replaced:
                return False
        return documents.is_stored(episode, graph, nodes)

    @property
    def english_embedder(self) -> Embedder | None:
        """The embedder of English vectors; None without one, or if the scope's English vectors are of another model."""
        found = english_embedder(self.embedder)
        return None if found is None or self.cache.english_embedder_name not in {None, found.name} else found

    def embed(self, texts: Iterable[str], *, is_query: bool = False) -> Vectors:
        """The vectors of texts, ``(texts, dim)``; raises ``WrongVector`` for another shape or values not finite."""
        check_cancellation()
        return encode.embed_texts(self.embedder, texts, is_query=is_query)

    def english_query_encoder(self) -> Callable[[str], Vector] | None:
        """A function that gives the English vector of a question; None if English vectors cannot be compared."""
        embedder = self.english_embedder
        if embedder is None:
            return None
        return lambda question: encode.embed_texts(embedder, [question], is_query=True)[0]

    def _encode(
        self,
        found: Classification,
        graph: Graph,
        vectors: Mapping[NodeId, Vector],
        extractions: Mapping[NodeId, Extraction],
        now: datetime,
    ) -> WriteBatch:
        nodes = found.new_nodes
        batch = encode.encode(
            found.new,
            graph,
            vectors=vectors,
            extractions=extractions,
            embedder=self.embedder.name,
            now=now,
        )
        encoded = [
            Access(node, now, AccessKind.ENCODED)
            for episode in found.existing
            for node in documents.node_ids_of(graph, episode.id)
        ]
        stimulated: Iterable[Access] = ()
        if writes_on_store(self.strategy):
            stimulated = store_accesses(nodes, graph, self.strategy, embedder=self.embedder, vectors=vectors, now=now)
        added = media_spaces.missing_vectors(
            graph.media_spaces, (one for episode in found.existing for one in episode.media_vectors), graph.row
        )
        return replace(
            batch,
            media_vectors=(*batch.media_vectors, *added),
            accesses=(*encoded, *stimulated),
            needs_full_log=reads_full_log(self.strategy),
        )

    def process_pending(self, now: datetime) -> None:
        """Let an ``IncrementalStrategy`` process what is new in steps, each committed whole or not at all."""
        strategy = self.strategy
        if not isinstance(strategy, IncrementalStrategy):
            return
        for _ in range(MAX_RETRIES):
            graph = self.graph()
            while strategy.has_pending(graph):
                batch = strategy.process(
                    graph, self.node_source(graph), now, similarity_floor=similarity_floor(self.embedder)
                )
                ids, texts = [node.id for node in batch.nodes], map(encode.indexed_text, batch.nodes)
                vectors = dict(zip(ids, self.embed(texts), strict=True)) if ids else {}
                batch = replace(batch, vectors=vectors, embedder=self.embedder.name, read_revision=graph.revision)
                if not self.try_commit(batch):
                    break
                graph = self.graph()
            else:
                return
        raise self.contention_error()


def nonblocking_handle(store: Store) -> Store:
    """A handle of the store that blocks no reader and waits for no lock; the store itself if it has none."""
    return store.nonblocking_handle() if isinstance(store, NonblockingStore) else store


def reads_full_log(strategy: Strategy) -> bool:
    """Whether a strategy reads the whole access log, so that no access may expire in the scopes it writes to."""
    return isinstance(strategy, FullLogStrategy) and strategy.needs_full_log
