"""The pen of one scope: its graph as of the last commit of any process, and everything that ends in a commit."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from . import checked_episode, documents, encode
from .errors import EmbedderMismatch, StaleWrite, StoreBusy, WrongVector
from .forget import is_tombstoned
from .graph import Graph
from .graph_cache import GraphCache
from .model import Access, AccessKind, Node, NodeId, Vector, Vectors, WriteBatch
from .ports import (
    Activation,
    Embedder,
    Extractor,
    FullLogStrategy,
    IncrementalStrategy,
    NodeReader,
    NonblockingStore,
    SecondsLeft,
    Store,
    Strategy,
    WritesOnStore,
    embedder_coverage,
)
from .query import build_query

MAX_RETRIES = 100
"""How often a change is made anew because another process was quicker."""
RETRY_SECONDS = 0.005
"""Seconds between two tries to commit in a limited time while another process holds the lock."""


@dataclass(frozen=True, slots=True)
class ScopeWriter:
    """What writes to one scope of a store. It checks no input; what it is handed was checked."""

    store: Store
    scope: str
    embedder: Embedder
    extractor: Extractor
    strategy: Strategy
    cache: GraphCache

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; never changed, safe to keep.

        Raises ``EmbedderMismatch`` if the scope's vectors come from another model than this pen's.
        """
        graph = self.cache.refresh()
        stored = self.cache.embedder_name
        if stored is not None and stored != self.embedder.name:
            raise EmbedderMismatch(
                f"scope {self.scope!r} was embedded by {stored!r}, this memory was opened with "
                f"{self.embedder.name!r}; open it with the first, or change it over once with ecphora.reembed"
            )
        return graph

    def reader(self, graph: Graph) -> NodeReader:
        """Fetches nodes by their rows in a graph."""
        return lambda rows: self.store.nodes(self.scope, [graph.id(row) for row in rows])

    # ---- committing

    def try_commit(self, batch: WriteBatch, time_left: SecondsLeft | None = None) -> bool:
        """Commit, unless another process has changed what the change was made from: then it must be made anew.

        ``left`` bounds the wait for another process's lock, where the store has a handle that does not wait by itself;
        raises ``StoreBusy`` after it.
        """
        store = self.store if time_left is None else nonblocking_handle(self.store)
        while True:
            try:
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
        """Commit what is made of the graph as it stands, made anew while other processes are quicker; nothing if empty.

        Raises ``StoreBusy`` if they are so every time.
        """
        for _ in range(MAX_RETRIES):
            change = build(self.graph())
            if change == WriteBatch() or self.try_commit(change):
                return change
        raise self.contention_error()

    def contention_error(self) -> StoreBusy:
        """The error where other processes are quicker every time."""
        return StoreBusy(f"other processes changed scope {self.scope!r} {MAX_RETRIES} times meanwhile; try again")

    # ---- remembering

    def remember(
        self, episodes: Sequence[checked_episode.CheckedEpisode], now: datetime, *, restore: bool
    ) -> tuple[list[NodeId], list[NodeId], list[NodeId]]:
        """Write a batch; what is new is decided against the state it is written to, whoever else writes."""
        vectors: dict[NodeId, Vector] = {}
        for _ in range(MAX_RETRIES):
            graph = self.graph()
            known = [one for one in episodes if self.is_stored(graph, one)]
            there = {one.id for one in known}
            refused = [one for one in episodes if one.id not in there and not restore and is_tombstoned(one, graph)]
            settled = there.union(one.id for one in refused)
            fresh = [one for one in episodes if one.id not in settled]
            nodes = [node for one in fresh for node in one.chunks if node.id not in vectors]
            vectors.update(zip((node.id for node in nodes), self.embed(map(encode.indexed_text, nodes)), strict=True))
            change = self._encode(fresh, known, graph, vectors, now)
            if (change.nodes or change.accesses) and not self.try_commit(change):
                continue
            return [one.id for one in fresh], [one.id for one in known], [one.id for one in refused]
        raise self.contention_error()

    def is_stored(self, graph: Graph, episode: checked_episode.CheckedEpisode) -> bool:
        """Whether a draft stands there already; raises ``IdCollision`` where another text has its id."""
        ids = documents.node_ids_of(graph, episode.id)
        stored = self.store.nodes(self.scope, ids) if ids else []
        if (
            not checked_episode.same_content(episode, stored)
            if stored
            else any(graph.row(node.id) is not None for node in episode.chunks)
        ):
            raise checked_episode.collision_error(episode)
        return bool(stored)

    def embed(self, texts: Iterable[str], *, is_query: bool = False) -> Vectors:
        """The vectors of some texts; raises ``WrongVector`` for any of another size, or not finite."""
        asked = list(texts)
        vectors, expected = self.embedder.embed(asked, is_query=is_query), (len(asked), self.embedder.dim)
        if vectors.shape != expected:
            raise WrongVector(
                f"{self.embedder.name} gave vectors of shape {vectors.shape}, not {expected}; mend the embedder"
            )
        if not np.isfinite(vectors).all():
            raise WrongVector(f"{self.embedder.name} gave numbers that are not finite; mend the embedder")
        return vectors

    def _encode(
        self,
        new_episodes: Sequence[checked_episode.CheckedEpisode],
        existing_episodes: Sequence[checked_episode.CheckedEpisode],
        graph: Graph,
        vectors: Mapping[NodeId, Vector],
        now: datetime,
    ) -> WriteBatch:
        nodes = [node for one in new_episodes for node in one.chunks]
        mentions = self.extractor.extract([node.text for node in nodes])
        change = encode.encode(
            new_episodes,
            graph,
            vectors={node.id: vectors[node.id] for node in nodes},
            mentions=dict(zip((node.id for node in nodes), mentions, strict=True)),
            embedder=self.embedder.name,
            now=now,
        )
        again = [
            Access(node, now, AccessKind.ENCODED)
            for one in existing_episodes
            for node in documents.node_ids_of(graph, one.id)
        ]
        stirred = self._store_accesses(nodes, graph, vectors, now) if self.writes_on_store else ()
        return replace(change, accesses=(*again, *stirred), needs_full_log=reads_full_log(self.strategy))

    @property
    def writes_on_store(self) -> bool:
        """Whether new episodes are cues of what was there before them."""
        return isinstance(self.strategy, WritesOnStore) and self.strategy.writes_on_store

    def _store_accesses(
        self, nodes: Sequence[Node], graph: Graph, vectors: Mapping[NodeId, Vector], now: datetime
    ) -> Iterator[Access]:
        """What new episodes stir as cues of what was there before them."""
        for node in nodes:
            cue = build_query(
                node.text, now, vector=vectors[node.id], embedder_coverage=embedder_coverage(self.embedder, node.text)
            )
            yield from stimulus_accesses(graph, self.strategy.activate(cue, graph), now)

    def process_pending(self, now: datetime) -> None:
        """Let a strategy that sleeps work on what is new, piece by piece, each committed whole or not at all."""
        sleeper = self.strategy
        if not isinstance(sleeper, IncrementalStrategy):
            return
        for _ in range(MAX_RETRIES):
            graph = self.graph()
            while sleeper.has_pending(graph):
                change = sleeper.process(graph, self.reader(graph), now)
                ids, texts = [node.id for node in change.nodes], map(encode.indexed_text, change.nodes)
                vectors = dict(zip(ids, self.embed(texts), strict=True)) if ids else {}
                whole = replace(change, vectors=vectors, embedder=self.embedder.name)
                if not self.try_commit(whole):
                    break
                graph = self.graph()
            else:
                return
        raise self.contention_error()


def nonblocking_handle(store: Store) -> Store:
    """A handle of the store that holds up no reader and waits for no lock, where it has one."""
    return store.nonblocking_handle() if isinstance(store, NonblockingStore) else store


def reads_full_log(strategy: Strategy) -> bool:
    """Whether a strategy reads the whole access log, so that nothing of it may expire where it wrote."""
    return isinstance(strategy, FullLogStrategy) and strategy.needs_full_log


def stimulus_accesses(graph: Graph, activation: Activation, now: datetime) -> Iterator[Access]:
    """The accesses of the rows that a cue stirred, by row."""
    for row in np.flatnonzero(activation.stimulus).tolist():
        yield Access(graph.id(row), now, AccessKind.STIMULATED, float(activation.stimulus[row]))
