"""Strategies that write: stimuli of storing, episodes of recalls, background processing, and derived columns."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from ecphora import RecallOptions
from ecphora.errors import StaleWrite, StoreBusy
from ecphora.memory import Memory
from ecphora.model.graph.graph import CachedDerivation, Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, NodeSource
from ecphora.model.types import Access, AccessKind, Edge, Episode, Kind, Link, Mark, Node, Query, Tombstone, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import dense, entity_links
from ecphora.strategies.eisa.chronology import chronology_weight
from ecphora.testing import FakeClock, sample_batch, sample_entity, sample_graph, sample_node, sample_vector


@dataclass(frozen=True, slots=True)
class StimulatingStrategy:
    """Every row of positive cosine is stimulated."""

    writes_on_store: bool = True
    name: str = "stimulating"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        similarity = np.maximum(0, dense.cosine(graph, query)) * graph.episodes
        return Activation(similarity, {"similarity": similarity}, stimulus=similarity)


@dataclass(frozen=True, slots=True)
class NewEpisodeStrategy:
    """Every question becomes an episode."""

    name: str = "new episodes"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        similarity = np.maximum(0, dense.cosine(graph, query)) * graph.episodes
        return Activation(similarity, {"similarity": similarity}, new_episode=Episode(query.text, source="recall"))


@dataclass(frozen=True, slots=True)
class InsightStrategy:
    """One insight for every three episodes."""

    batch_sizes: list[int] = field(default_factory=list)
    name: str = "insights"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        return Activation(graph.zeros())

    def has_pending(self, graph: Graph, /) -> bool:
        return len(self._new(graph)) >= 3

    def process(self, graph: Graph, read_nodes: NodeSource, now: datetime, /, **_tools: object) -> WriteBatch:
        rows = self._new(graph)[:3]
        nodes = read_nodes(rows)
        self.batch_sizes.append(len(nodes))
        insight = Node(f"insight:{nodes[0].id}", Kind.INSIGHT, " ".join(node.text for node in nodes), now, now)
        edges = tuple(Edge(insight.id, node.id, Link.DERIVED_FROM) for node in nodes)
        return WriteBatch(nodes=(insight,), edges=edges, cursors={self.name: nodes[-1].seq})

    def _new(self, graph: Graph) -> np.ndarray:
        return np.flatnonzero(graph.episodes & (graph.nodes["seq"] > graph.cursors.get(self.name, 0)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def open_memory(path: Path, strategy: object, clock: FakeClock | None = None) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), strategy=strategy, clock=clock or FakeClock())  # type: ignore[arg-type]


def accessed_ids(graph: Graph, kind: AccessKind | Mark) -> list[str]:
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(kind)].tolist()]


# ---- stimuli when storing


def test_storing_stimulates_similar_earlier_memories(path: Path) -> None:
    with open_memory(path, StimulatingStrategy()) as memory:
        memory.remember([Episode("the river runs", id="a"), Episode("the river rests", id="b")])
        assert accessed_ids(memory.graph(), AccessKind.STIMULATED) == ["a"]
        memory.remember("the river sings", id="c")
        assert accessed_ids(memory.graph(), AccessKind.STIMULATED) == ["a", "a", "b"]
        accesses = memory.graph().accesses
        newest = memory.graph().nodes["seq"][memory.graph().row("c")]
        assert accesses["seq"][-1] > newest  # the node comes first, then its stimuli


def test_stimuli_do_not_depend_on_the_batch_size(path: Path, tmp_path: Path) -> None:
    texts = [Episode(f"the river {word}", id=word) for word in ("runs", "rests", "sings", "sleeps")]
    with (
        open_memory(path, StimulatingStrategy()) as together,
        open_memory(tmp_path / "other.db", StimulatingStrategy()) as one_by_one,
    ):
        together.remember(texts)
        for text in texts:
            one_by_one.remember(text)
        assert accessed_ids(together.graph(), AccessKind.STIMULATED) == accessed_ids(
            one_by_one.graph(), AccessKind.STIMULATED
        )


def test_recall_logs_its_stimuli(path: Path) -> None:
    with open_memory(path, StimulatingStrategy(writes_on_store=False)) as memory:
        memory.remember([Episode("the river runs", id="a"), Episode("bread and butter", id="b")])
        assert accessed_ids(memory.graph(), AccessKind.STIMULATED) == []
        memory.recall("the river", limit=1, options=RecallOptions(log_access=False))
        assert accessed_ids(memory.graph(), AccessKind.STIMULATED) == []
        memory.recall("the river", limit=1)
        assert "a" in accessed_ids(memory.graph(), AccessKind.STIMULATED)
        assert accessed_ids(memory.graph(), AccessKind.RECALLED) == ["a"]


# ---- episodes and accesses of recalls


def test_recall_may_store_an_episode(path: Path) -> None:
    with open_memory(path, NewEpisodeStrategy()) as memory:
        memory.remember("the river runs", id="a")
        memory.recall("does the river run?", options=RecallOptions(log_access=False))
        assert len(memory) == 1
        memory.recall("does the river run?")
        memory.recall("does the river run?")  # the same question is one memory with another access
        assert len(memory) == 2
        question_id = memory.graph().id(1)
        node = memory.get(question_id)
        assert node is not None
        assert (node.text, node.source) == ("does the river run?", "recall")
        assert accessed_ids(memory.graph(), AccessKind.ENCODED) == ["a", question_id, question_id]


def test_recalled_memories_are_logged_in_order_of_last_access(path: Path) -> None:
    """Regardless of rank, the row with the oldest access is logged first."""
    with open_memory(path, "dense") as memory:
        memory.remember([Episode("river", id="a"), Episode("river run", id="b"), Episode("river run fast", id="c")])
        found = [hit.id for hit in memory.recall("river run fast")]
        assert found == ["c", "b", "a"]
        assert accessed_ids(memory.graph(), AccessKind.RECALLED) == ["a", "b", "c"]
        graph = memory.graph()
        assert chronology_weight(graph, graph.episodes).tolist() == pytest.approx([1 / 3, 2 / 3, 1])


# ---- background processing


def test_processing_runs_when_enough_is_pending(path: Path) -> None:
    with open_memory(path, InsightStrategy()) as memory:
        memory.remember(["one", "two"])
        assert not memory.graph().of_kind(Kind.INSIGHT).any()
        memory.remember(["three", "four", "five", "six", "seven"])
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 2
        insight = memory.get(memory.graph().id(int(np.flatnonzero(memory.graph().of_kind(Kind.INSIGHT))[0])))
        assert insight is not None
        assert insight.text == "one two three"
    with open_memory(path, InsightStrategy()) as memory:  # the cursor is in the file
        memory.remember("eight")
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 2
        memory.remember("nine")
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 3


def test_processing_retries_after_a_concurrent_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = InsightStrategy()
    with open_memory(path, strategy) as memory:
        memory.remember(["one", "two"])
        commit, tries = memory._store.commit, [0]

        def commit_stale(scope: str, batch: WriteBatch) -> WriteBatch:
            if batch.cursors and not tries[0]:
                tries[0] += 1
                raise StaleWrite("another process was quicker")
            return commit(scope, batch)

        monkeypatch.setattr(memory._store, "commit", commit_stale)
        memory.remember("three")
        assert strategy.batch_sizes == [3, 3]
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 1


def test_processing_fails_after_repeated_concurrent_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(path, InsightStrategy()) as memory:
        commit = memory._store.commit

        def commit_stale(scope: str, batch: WriteBatch) -> WriteBatch:
            if batch.cursors:
                raise StaleWrite("another process was quicker")
            return commit(scope, batch)

        monkeypatch.setattr(memory._store, "commit", commit_stale)
        with pytest.raises(StoreBusy, match="try again"):
            memory.remember(["one", "two", "three"])
        assert len(memory) == 3  # the memories were committed before


# ---- derived columns


def test_derived_value_is_computed_once_and_then_extended() -> None:
    previous_values: list[int | None] = []

    def count_rows(graph: Graph, previous: CachedDerivation[int] | None) -> int:
        previous_values.append(None if previous is None else previous.value)
        return len(graph)

    first = sample_graph(3)
    size = len(first)
    assert first.derive("size", count_rows) == first.derive("size", count_rows) == size
    grown = apply_batch(first, replace(sample_batch(sample_node("new", seq=99)), revision=2))
    assert grown.derive("size", count_rows) == size + 1
    assert first.derive("size", count_rows) == size
    assert previous_values == [None, size]
    forgotten = apply_batch(grown, WriteBatch(tombstones=(Tombstone("new", b""),), revision=3))
    assert forgotten.derive("size", count_rows) == size
    assert previous_values == [None, size, None]  # forgetting discards the cached value


def test_value_derived_late_is_there_after_an_access() -> None:
    """A recall logs its accesses before its reasons are read: what they derive is for the next recall too."""
    graph = sample_graph(3)
    now = sample_node("n").recorded_at
    logged = apply_batch(
        graph, WriteBatch(accesses=(Access(graph.id(0), now, AccessKind.USED, 1.0, seq=50),), revision=2)
    )
    grown = apply_batch(graph, replace(sample_batch(sample_node("new", seq=99)), revision=2))
    assert graph.derive("size", lambda one, _: len(one)) == len(graph)
    log_size = graph.derive("log size", lambda one, _: len(one.accesses), depends_on_log=True)

    def fail(_graph: Graph, previous: CachedDerivation[int] | None) -> int:
        raise AssertionError(previous)

    assert logged.derive("size", fail) == len(graph)
    assert logged.derive("log size", lambda one, _: len(one.accesses), depends_on_log=True) == log_size + 1
    assert grown.derive("size", lambda one, before: len(one) if before is None else -1) == len(graph) + 1
    assert graph.derive("size", fail) == len(graph)


def test_entity_vector_is_the_sum_of_its_mentions() -> None:
    """The vector is the sum over its mentions; an entity without mentions has none."""
    ana, ben = sample_entity("Ana"), sample_entity("Ben")
    nodes = [replace(sample_node(name, name), seq=seq) for seq, name in enumerate("ab", 1)]
    edges = tuple(Edge(node.id, ana.id, Link.MENTIONS) for node in nodes)
    batch = sample_batch(*nodes, edges=edges)
    graph = apply_batch(Graph(), replace(batch, nodes=(*nodes, replace(ana, seq=3), replace(ben, seq=4)), revision=1))
    found = entity_links.entity_vectors(graph)
    assert [graph.id(row) for row in found.rows.tolist()] == [ana.id, ben.id]
    assert found.sums[0] == pytest.approx(sum(batch.vectors.values()), abs=1e-5)
    assert not found.sums[1].any()
    assert sample_vector("x").shape == found.sums[0].shape
