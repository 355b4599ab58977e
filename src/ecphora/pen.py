"""The pen of one scope: its graph as of the last commit of any process, and everything that ends in a commit."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from . import encode
from .errors import EmbedderMismatch, StaleChange, StoreBusy, WrongVector
from .graph import Graph
from .model import Access, Change, Node, NodeId, Touch, Vector, Vectors
from .ports import Activation, Embedder, Extractor, Left, Reader, Sleeper, Store, StoringIsQuerying, Strategy, WholeLog

TRIES = 100
"""How often a change is made anew because another process was quicker."""
RETRY = 0.005
"""Seconds between two tries to commit in a limited time while another process holds the lock."""


class LiveGraph:
    """The graph of one scope, kept up to date by what its store says was committed since."""

    def __init__(self, store: Store, scope: str) -> None:
        self._store = store
        self._scope = scope
        self._lock = threading.Lock()
        self._graph = Graph()
        self.embedder: str | None = None

    def now(self) -> Graph:
        """The graph as of the last commit of any process."""
        with self._lock:
            return self._grown(self._store.changes(self._scope, self._graph.revision))

    def add(self, written: Change) -> Graph:
        """Grow by a change that was committed, and return the graph."""
        with self._lock:
            if written.revision == self._graph.revision + 1 and not written.adopt and written.undo is None:
                return self._grown(written)
            return self._grown(self._store.changes(self._scope, self._graph.revision))

    def _grown(self, change: Change) -> Graph:
        if change.adopt:  # other vectors: nothing of the old ones may stay
            self._graph = Graph()
            change = self._store.changes(self._scope, 0)
        self.embedder = change.embedder or self.embedder
        if change.revision > self._graph.revision:
            self._graph = self._graph.plus(change)
        return self._graph


@dataclass(frozen=True, slots=True)
class Pen:
    """What writes to one scope of a store. It checks no input; what it is handed was checked."""

    store: Store
    scope: str
    embedder: Embedder
    extractor: Extractor
    strategy: Strategy
    live: LiveGraph

    def graph(self) -> Graph:
        """The memory graph as of the last commit of any process; never changed, safe to keep.

        Raises ``EmbedderMismatch`` if the scope's vectors come from another model than this pen's.
        """
        graph = self.live.now()
        stored = self.live.embedder
        if stored is not None and stored != self.embedder.name:
            raise EmbedderMismatch(
                f"scope {self.scope!r} was embedded by {stored!r}, this memory was opened with "
                f"{self.embedder.name!r}; open it with the first, or change it over once with ecphora.reembed"
            )
        return graph

    def reader(self, graph: Graph) -> Reader:
        """Fetches nodes by their rows in a graph."""
        return lambda rows: self.store.nodes(self.scope, [graph.id(row) for row in rows])

    # ---- committing

    def try_commit(self, change: Change, left: Left | None = None) -> bool:
        """Commit, unless another process has changed what the change was made from: then it must be made anew.

        ``left`` bounds the wait for another process's lock, where the store has a handle that does not wait by itself;
        raises ``StoreBusy`` after it.
        """
        store = self.store if left is None else second_handle(self.store)
        while True:
            try:
                self.live.add(store.commit(self.scope, change))
            except StaleChange:
                return False
            except StoreBusy:
                if left is None or left() <= 0:
                    raise
                time.sleep(RETRY)
            else:
                return True

    def commit(self, make: Callable[[Graph], Change]) -> Change:
        """Commit what is made of the graph as it stands, made anew while other processes are quicker; nothing if empty.

        Raises ``StoreBusy`` if they are so every time.
        """
        for _ in range(TRIES):
            change = make(self.graph())
            if change == Change() or self.try_commit(change):
                return change
        raise self.outrun()

    def outrun(self) -> StoreBusy:
        """The error where other processes are quicker every time."""
        return StoreBusy(f"other processes changed scope {self.scope!r} {TRIES} times meanwhile; try again")

    # ---- remembering

    def remember(
        self, drafts: Sequence[encode.Draft], now: datetime, *, restore: bool
    ) -> tuple[list[NodeId], list[NodeId], list[NodeId]]:
        """Write a batch; what is new is decided against the state it is written to, whoever else writes."""
        vectors: dict[NodeId, Vector] = {}
        for _ in range(TRIES):
            graph = self.graph()
            known = [one for one in drafts if self.known(graph, one)]
            there = {one.id for one in known}
            refused = [one for one in drafts if one.id not in there and not restore and encode.barred(one, graph)]
            settled = there.union(one.id for one in refused)
            fresh = [one for one in drafts if one.id not in settled]
            nodes = [node for one in fresh for node in one.pieces if node.id not in vectors]
            vectors.update(zip((node.id for node in nodes), self.embedded(map(encode.spoken, nodes)), strict=True))
            change = self._encoded(fresh, known, graph, vectors, now)
            if (change.nodes or change.accesses) and not self.try_commit(change):
                continue
            return [one.id for one in fresh], [one.id for one in known], [one.id for one in refused]
        raise self.outrun()

    def known(self, graph: Graph, draft: encode.Draft) -> bool:
        """Whether a draft stands there already; raises ``IdCollision`` where another text has its id."""
        ids = encode.rows_of(graph, draft.id)
        stored = self.store.nodes(self.scope, ids) if ids else []
        if not encode.same(draft, stored) if stored else any(graph.row(node.id) is not None for node in draft.pieces):
            raise encode.collision(draft)
        return bool(stored)

    def embedded(self, texts: Iterable[str], *, cue: bool = False) -> Vectors:
        """The vectors of some texts; raises ``WrongVector`` for any of another size, or not finite."""
        asked = list(texts)
        vectors, expected = self.embedder.embed(asked, cue=cue), (len(asked), self.embedder.dim)
        if vectors.shape != expected:
            raise WrongVector(
                f"{self.embedder.name} gave vectors of shape {vectors.shape}, not {expected}; mend the embedder"
            )
        if not np.isfinite(vectors).all():
            raise WrongVector(f"{self.embedder.name} gave numbers that are not finite; mend the embedder")
        return vectors

    def _encoded(
        self,
        fresh: Sequence[encode.Draft],
        known: Sequence[encode.Draft],
        graph: Graph,
        vectors: Mapping[NodeId, Vector],
        now: datetime,
    ) -> Change:
        nodes = [node for one in fresh for node in one.pieces]
        mentions = self.extractor.extract([node.text for node in nodes])
        change = encode.encode(
            fresh,
            graph,
            vectors={node.id: vectors[node.id] for node in nodes},
            mentions=dict(zip((node.id for node in nodes), mentions, strict=True)),
            embedder=self.embedder.name,
            now=now,
        )
        again = [Access(node, now, Touch.ENCODED) for one in known for node in encode.rows_of(graph, one.id)]
        stirred = self._stirred(nodes, graph, vectors, now) if self.storing_is_querying else ()
        return replace(change, accesses=(*again, *stirred), whole_log=keeps_log(self.strategy))

    @property
    def storing_is_querying(self) -> bool:
        """Whether new episodes are cues of what was there before them."""
        return isinstance(self.strategy, StoringIsQuerying) and self.strategy.storing_is_querying

    def _stirred(
        self, nodes: Sequence[Node], graph: Graph, vectors: Mapping[NodeId, Vector], now: datetime
    ) -> Iterator[Access]:
        """What new episodes stir as cues of what was there before them."""
        for node in nodes:
            cue = encode.cue(node.text, now, vector=vectors[node.id], meaning=self.embedder.reads(node.text))
            yield from felt(graph, self.strategy.activate(cue, graph), now)

    def sleep(self, now: datetime) -> None:
        """Let a strategy that sleeps work on what is new, piece by piece, each committed whole or not at all."""
        sleeper = self.strategy
        if not isinstance(sleeper, Sleeper):
            return
        for _ in range(TRIES):
            graph = self.graph()
            while sleeper.due(graph):
                change = sleeper.sleep(graph, self.reader(graph), now)
                ids, texts = [node.id for node in change.nodes], map(encode.spoken, change.nodes)
                vectors = dict(zip(ids, self.embedded(texts), strict=True)) if ids else {}
                whole = replace(change, vectors=vectors, embedder=self.embedder.name)
                if not self.try_commit(whole):
                    break
                graph = self.graph()
            else:
                return
        raise self.outrun()


def second_handle(store: Store) -> Store:
    """A handle of the store that holds up no reader and waits for no lock, where it has one."""
    second = getattr(store, "second_handle", None)
    return store if second is None else second()


def keeps_log(strategy: Strategy) -> bool:
    """Whether a strategy reads the whole access log, so that nothing of it may expire where it wrote."""
    return isinstance(strategy, WholeLog) and strategy.whole_log


def felt(graph: Graph, activation: Activation, now: datetime) -> Iterator[Access]:
    """The accesses of the rows that a cue stirred, by row."""
    for row in np.flatnonzero(activation.stimulus).tolist():
        yield Access(graph.id(row), now, Touch.STIMULATED, float(activation.stimulus[row]))
