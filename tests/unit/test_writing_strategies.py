"""Strategies that write: what storing stirs, what recalling leaves, and sleep; and the columns they derive."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import StaleWrite, StoreBusy
from ecphora.graph import CachedDerivation, Graph
from ecphora.graph_updates import apply_batch
from ecphora.memory import Memory
from ecphora.model import (
    AccessKind,
    Edge,
    Episode,
    Kind,
    Link,
    Mark,
    Node,
    Query,
    Tombstone,
    WriteBatch,
)
from ecphora.ports import Activation, NodeReader
from ecphora.stages.eisa import chronology
from ecphora.stages.retrieval import dense, entity_vectors
from ecphora.testing import FakeClock, sample_batch, sample_entity, sample_graph, sample_node, sample_vector


@dataclass(frozen=True, slots=True)
class Stirring:
    """Everything of positive cosine is felt."""

    writes_on_store: bool = True
    name: str = "stirring"

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        meaning = np.maximum(0, dense.cosine(graph, cue)) * graph.episodes
        return Activation(meaning, {"meaning": meaning}, stimulus=meaning)


@dataclass(frozen=True, slots=True)
class Leaving:
    """Every question becomes an episode."""

    name: str = "leaving"

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        meaning = np.maximum(0, dense.cosine(graph, cue)) * graph.episodes
        return Activation(meaning, {"meaning": meaning}, new_episode=Episode(cue.text, source="recall"))


@dataclass(frozen=True, slots=True)
class Sleeping:
    """One insight for every three episodes."""

    seen: list[int] = field(default_factory=list)
    name: str = "sleeping"

    def activate(self, _cue: Query, graph: Graph, /) -> Activation:
        return Activation(graph.zeros())

    def has_pending(self, graph: Graph, /) -> bool:
        return len(self._new(graph)) >= 3

    def process(self, graph: Graph, read: NodeReader, now: datetime, /) -> WriteBatch:
        rows = self._new(graph)[:3]
        nodes = read(rows)
        self.seen.append(len(nodes))
        insight = Node(f"insight:{nodes[0].id}", Kind.INSIGHT, " ".join(node.text for node in nodes), now, now)
        edges = tuple(Edge(insight.id, node.id, Link.DERIVED_FROM) for node in nodes)
        return WriteBatch(nodes=(insight,), edges=edges, cursors={self.name: nodes[-1].seq})

    def _new(self, graph: Graph) -> np.ndarray:
        return np.flatnonzero(graph.episodes & (graph.nodes["seq"] > graph.cursors.get(self.name, 0)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def opened(path: Path, strategy: object, clock: FakeClock | None = None) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), strategy=strategy, clock=clock or FakeClock())  # type: ignore[arg-type]


def touched(graph: Graph, touch: AccessKind | Mark) -> list[str]:
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(touch)].tolist()]


# ---- storing is querying


def test_what_is_stored_stirs_what_was_there_before(path: Path) -> None:
    with opened(path, Stirring()) as memory:
        memory.remember([Episode("the river runs", id="a"), Episode("the river rests", id="b")])
        assert touched(memory.graph(), AccessKind.STIMULATED) == ["a"]
        memory.remember("the river sings", id="c")
        assert touched(memory.graph(), AccessKind.STIMULATED) == ["a", "a", "b"]
        accesses = memory.graph().accesses
        newest = memory.graph().nodes["seq"][memory.graph().row("c")]
        assert accesses["seq"][-1] > newest  # the node comes first, then what it stirred


def test_one_at_a_time_or_many_is_the_same(path: Path, tmp_path: Path) -> None:
    texts = [Episode(f"the river {word}", id=word) for word in ("runs", "rests", "sings", "sleeps")]
    with opened(path, Stirring()) as many, opened(tmp_path / "other.db", Stirring()) as single:
        many.remember(texts)
        for text in texts:
            single.remember(text)
        assert touched(many.graph(), AccessKind.STIMULATED) == touched(single.graph(), AccessKind.STIMULATED)


def test_a_recall_logs_what_it_stirred(path: Path) -> None:
    with opened(path, Stirring(writes_on_store=False)) as memory:
        memory.remember([Episode("the river runs", id="a"), Episode("bread and butter", id="b")])
        assert touched(memory.graph(), AccessKind.STIMULATED) == []
        memory.recall("the river", limit=1, log_access=False)
        assert touched(memory.graph(), AccessKind.STIMULATED) == []
        memory.recall("the river", limit=1)
        assert "a" in touched(memory.graph(), AccessKind.STIMULATED)
        assert touched(memory.graph(), AccessKind.RECALLED) == ["a"]


# ---- what recalling leaves


def test_a_recall_may_leave_an_episode(path: Path) -> None:
    with opened(path, Leaving()) as memory:
        memory.remember("the river runs", id="a")
        memory.recall("does the river run?", log_access=False)
        assert len(memory) == 1
        memory.recall("does the river run?")
        memory.recall("does the river run?")  # the same question is one memory, touched again
        assert len(memory) == 2
        asked = memory.graph().id(1)
        node = memory.get(asked)
        assert node is not None
        assert (node.text, node.source) == ("does the river run?", "recall")
        assert touched(memory.graph(), AccessKind.ENCODED) == ["a", asked, asked]


def test_what_comes_back_keeps_its_order_among_itself(path: Path) -> None:
    """However they rank, the one touched longest ago is touched first."""
    with opened(path, "dense") as memory:
        memory.remember([Episode("river", id="a"), Episode("river run", id="b"), Episode("river run fast", id="c")])
        found = [hit.id for hit in memory.recall("river run fast")]
        assert found == ["c", "b", "a"]
        assert touched(memory.graph(), AccessKind.RECALLED) == ["a", "b", "c"]
        graph = memory.graph()
        assert chronology.chronology_weight(graph, graph.episodes).tolist() == pytest.approx([1 / 3, 2 / 3, 1])


# ---- sleep


def test_sleep_follows_what_is_new(path: Path) -> None:
    with opened(path, Sleeping()) as memory:
        memory.remember(["one", "two"])
        assert not memory.graph().of_kind(Kind.INSIGHT).any()
        memory.remember(["three", "four", "five", "six", "seven"])
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 2
        insight = memory.get(memory.graph().id(int(np.flatnonzero(memory.graph().of_kind(Kind.INSIGHT))[0])))
        assert insight is not None
        assert insight.text == "one two three"
    with opened(path, Sleeping()) as memory:  # the mark is in the file
        memory.remember("eight")
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 2
        memory.remember("nine")
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 3


def test_sleep_begins_anew_when_the_memory_changed_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = Sleeping()
    with opened(path, sleeper) as memory:
        memory.remember(["one", "two"])
        commit, tries = memory._store.commit, [0]

        def outrun(scope: str, change: WriteBatch) -> WriteBatch:
            if change.cursors and not tries[0]:
                tries[0] += 1
                raise StaleWrite("another process was quicker")
            return commit(scope, change)

        monkeypatch.setattr(memory._store, "commit", outrun)
        memory.remember("three")
        assert sleeper.seen == [3, 3]
        assert memory.graph().of_kind(Kind.INSIGHT).sum() == 1


def test_sleep_gives_up_where_it_is_always_outrun(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path, Sleeping()) as memory:
        commit = memory._store.commit

        def outrun(scope: str, change: WriteBatch) -> WriteBatch:
            if change.cursors:
                raise StaleWrite("another process was quicker")
            return commit(scope, change)

        monkeypatch.setattr(memory._store, "commit", outrun)
        with pytest.raises(StoreBusy, match="try again"):
            memory.remember(["one", "two", "three"])
        assert len(memory) == 3  # what was acknowledged by its own commit is there


# ---- derived columns grow with the graph


def test_a_derived_value_is_made_once_and_then_grown() -> None:
    made: list[int | None] = []

    def make(graph: Graph, before: CachedDerivation[int] | None) -> int:
        made.append(None if before is None else before.value)
        return len(graph)

    first = sample_graph(3)
    size = len(first)
    assert first.derive("size", make) == first.derive("size", make) == size
    grown = apply_batch(first, replace(sample_batch(sample_node("new", seq=99)), revision=2))
    assert grown.derive("size", make) == size + 1
    assert first.derive("size", make) == size
    assert made == [None, size]
    forgotten = apply_batch(grown, WriteBatch(tombstones=(Tombstone("new", b""),), revision=3))
    assert forgotten.derive("size", make) == size
    assert made == [None, size, None]  # forgetting begins a new line


def test_an_engram_lies_where_it_is_spoken_of() -> None:
    """The sum of its mentions; a name that nothing with a vector mentions has none."""
    ana, ben = sample_entity("Ana"), sample_entity("Ben")
    nodes = [replace(sample_node(name, name), seq=place) for place, name in enumerate("ab", 1)]
    edges = tuple(Edge(node.id, ana.id, Link.MENTIONS) for node in nodes)
    whole = sample_batch(*nodes, edges=edges)
    graph = apply_batch(Graph(), replace(whole, nodes=(*nodes, replace(ana, seq=3), replace(ben, seq=4)), revision=1))
    found = entity_vectors.entity_vectors(graph)
    assert [graph.id(row) for row in found.rows.tolist()] == [ana.id, ben.id]
    assert found.sums[0] == pytest.approx(sum(whole.vectors.values()), abs=1e-5)
    assert not found.sums[1].any()
    assert sample_vector("x").shape == found.sums[0].shape
