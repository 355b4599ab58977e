"""Insights: drawn from similar memories, deleted with their sources, without effect on recall.

This file is over 400 lines because all its tests share one class for graphs of synthetic topics.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.consolidation.insights.summaries import InsightWriter
from ecphora.consolidation.insights.synthesis import InsightBatch, InsightConfig, draw_insights, insight_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import NodeSource
from ecphora.model.types import Edge, Kind, Link, Node, NodeId, Tombstone, Vector, Vectors, WriteBatch
from ecphora.retrieval import insight_index
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing.samples import NOON, sample_batch, sample_entity, sample_node, sample_query

NOW = NOON + timedelta(days=9)
CONFIG = InsightConfig(memories_per_insight=4)
HIGH_COST_CONFIG = InsightConfig(memories_per_insight=4, token_cost=0.1)
"""The token cost makes a short text better than any quote."""
TOPICS = ("garden roses water", "train Porto nine", "piano Mia practice")


def _vector(topic: int, index: int, dim: int = 16) -> Vector:
    """The axis of a topic, and a small part of an axis of the memory."""
    vector = np.zeros(dim, np.float32)
    vector[topic] = 1
    vector[4 + index % (dim - 4)] += 0.4
    return vector / np.linalg.norm(vector)


@dataclass
class TopicGraph:
    """A graph and its nodes, grown step by step as in a memory."""

    graph: Graph = field(default_factory=Graph)
    nodes: dict[NodeId, Node] = field(default_factory=dict)

    def write(self, batch: WriteBatch) -> None:
        first = 1 + max((node.seq for node in self.nodes.values()), default=0)
        nodes = tuple(replace(node, seq=first + index) for index, node in enumerate(batch.nodes))
        self.nodes.update((node.id, node) for node in nodes)
        self.graph = apply_batch(self.graph, replace(batch, nodes=nodes, revision=self.graph.revision + 1))

    def remember(self, topics: Sequence[int], **fields: Any) -> None:
        """One memory for each topic, one minute apart."""
        first = len(self.nodes)
        nodes = [
            sample_node(f"e{index}", f"{TOPICS[topic]} said again {index}", minutes=index, speaker="Ana", **fields)
            for index, topic in enumerate(topics, first)
        ]
        vectors = {
            node.id: _vector(topic, first + k) for k, (node, topic) in enumerate(zip(nodes, topics, strict=True))
        }
        self.write(replace(sample_batch(*nodes), vectors=vectors))

    def read(self) -> NodeSource:
        return lambda rows: [self.nodes[self.graph.id(row)] for row in rows.tolist()]

    def draw(
        self, new: Iterable[int] | None = None, write: InsightWriter | None = None, config: InsightConfig = CONFIG
    ) -> InsightBatch:
        rows = np.flatnonzero(self.graph.episodes) if new is None else np.array(list(new), np.intp)
        return draw_insights(self.graph, rows, self.read(), NOW, write, config=config)

    def write_insights(self, found: InsightBatch, vectors: Callable[[int], Vector] | None = None) -> None:
        """Write drawn insights with the mean vector of their sources or given vectors."""
        vectors_by_id = {}
        for index, node in enumerate(found.nodes):
            rows = self.graph.rows(edge.dst for edge in found.edges if edge.src == node.id)
            mean = self.graph.vectors.view[self.graph.vector_positions[rows]].mean(axis=0)
            vectors_by_id[node.id] = vectors(index) if vectors is not None else mean / np.linalg.norm(mean)
        self.write(WriteBatch(nodes=found.nodes, edges=found.edges, vectors=vectors_by_id))

    def claim(self, new: NodeId, old: NodeId, link: Link = Link.SUPERSEDES) -> None:
        """Two memories with claims, one of which supersedes or contradicts the other."""
        claims = [sample_node(f"claim:{id_}", kind=Kind.CLAIM) for id_ in (new, old)]
        edges = [Edge(f"claim:{id_}", id_, Link.CLAIMED_IN) for id_ in (new, old)]
        self.write(WriteBatch(nodes=tuple(claims), edges=(*edges, Edge(f"claim:{new}", f"claim:{old}", link))))


def _topic_graph(count: int = 15) -> TopicGraph:
    topic_graph = TopicGraph()
    topic_graph.remember([index % 3 for index in range(count)])
    return topic_graph


def _sources(found: InsightBatch) -> dict[NodeId, set[NodeId]]:
    covered: dict[NodeId, set[NodeId]] = {node.id: set() for node in found.nodes}
    for edge in found.edges:
        assert edge.link is Link.DERIVED_FROM
        covered[edge.src].add(edge.dst)
    return covered


# ---- drawing


def test_similar_memories_get_one_insight() -> None:
    """One insight for each topic, quoting its sources, at the time of the last of them."""
    topic_graph = _topic_graph()
    found = topic_graph.draw()
    assert sorted(map(sorted, _sources(found).values())) == sorted(
        sorted(f"e{index}" for index in range(topic, 15, 3)) for topic in range(3)
    )
    for node in found.nodes:
        sources = [topic_graph.nodes[source] for source in _sources(found)[node.id]]
        assert node.kind is Kind.INSIGHT
        assert node.metadata == {"level": 1, "sources": 5}
        assert (node.happened_at, node.recorded_at) == (max(source.happened_at for source in sources), NOW)
        assert {line.removeprefix("Ana: ") for line in node.text.splitlines()} <= {source.text for source in sources}
    assert found.rejection_count == 0


def test_no_new_memories_give_no_insight() -> None:
    assert draw_insights(Graph(), np.empty(0, np.intp), lambda _rows: [], NOW) == InsightBatch()
    assert _topic_graph().draw(()) == InsightBatch()


def test_insights_are_drawn_around_new_memories_only() -> None:
    topic_graph = _topic_graph()
    (sources,) = _sources(topic_graph.draw([12])).values()
    assert sources == {"e0", "e3", "e6", "e9", "e12"}


def test_insight_id_depends_on_its_sources_only() -> None:
    """It is the same if drawn again after an undo or at another time."""
    topic_graph = _topic_graph()
    found = topic_graph.draw()
    assert topic_graph.draw() == found
    later = draw_insights(
        topic_graph.graph,
        np.flatnonzero(topic_graph.graph.episodes),
        topic_graph.read(),
        NOW + timedelta(days=99),
        config=CONFIG,
    )
    assert {node.id for node in later.nodes} == {node.id for node in found.nodes}
    assert all(id_ == insight_id(sources) for id_, sources in _sources(found).items())


@pytest.mark.medium
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=30), st.integers(1, 9))
def test_insights_are_few_and_cover_new_statements(
    turns: list[tuple[int, bool, bool]], memories_per_insight: int
) -> None:
    """Insights are few, cover several distinct statements each, mostly uncovered ones; drawing again adds none."""
    topic_graph, config = TopicGraph(), InsightConfig(memories_per_insight=memories_per_insight)
    nodes = [
        sample_node(f"e{index}", f"{TOPICS[topic]} said again {index}{'?' * is_question}", minutes=index,
                    document="whole" if is_chunk else None, position=index)
        for index, (topic, is_question, is_chunk) in enumerate(turns)
    ]  # fmt: skip
    vectors = {
        node.id: _vector(topic, index) for index, (node, (topic, _, _)) in enumerate(zip(nodes, turns, strict=True))
    }
    topic_graph.write(replace(sample_batch(*nodes), vectors=vectors))
    found = topic_graph.draw(config=config)
    covered: set[NodeId] = set()
    assert len(found.nodes) <= len(turns) // memories_per_insight
    assert list(_sources(found)) == list(dict.fromkeys(node.id for node in found.nodes))
    for node in found.nodes:
        sources = _sources(found)[node.id]
        assert len(sources) <= 12
        assert len({topic_graph.nodes[insight].document or insight for insight in sources}) >= 3
        assert not any(topic_graph.nodes[insight].text.endswith("?") for insight in sources)
        assert len(sources & covered) <= len(sources) / 2
        covered |= sources
    topic_graph.write_insights(found)
    repeated = topic_graph.draw(config=config)
    assert all(len(sources & covered) <= len(sources) / 2 for sources in _sources(repeated).values())


def test_greetings_get_no_insight() -> None:
    """Greetings carry less content than other memories and are not quoted."""
    topic_graph = _topic_graph()
    nodes = [sample_node(f"h{index}", "hello Ana", minutes=60 + index) for index in range(5)]
    vectors = {node.id: _vector(3, index) for index, node in enumerate(nodes)}
    topic_graph.write(replace(sample_batch(*nodes), vectors=vectors))
    assert not any(sources & {"h0", "h1"} for sources in _sources(topic_graph.draw()).values())


def test_insight_count_is_limited_by_memories() -> None:
    assert len(_topic_graph().draw(config=InsightConfig(memories_per_insight=7)).nodes) == 2
    assert _topic_graph().draw(config=InsightConfig(memories_per_insight=16)) == InsightBatch()


def test_covered_memories_get_no_second_insight() -> None:
    topic_graph = _topic_graph()
    topic_graph.write_insights(topic_graph.draw())
    assert topic_graph.draw() == InsightBatch()
    topic_graph.remember([0, 0])
    assert topic_graph.draw([18, 19]) == InsightBatch()  # five of seven memories are covered
    topic_graph.remember([0, 0, 0, 0])
    (sources,) = _sources(topic_graph.draw(range(18, 24), config=InsightConfig(memories_per_insight=1))).values()
    assert len(sources & {f"e{index}" for index in range(0, 15, 3)}) <= len(sources) / 2


# ---- forgetting and superseding


def test_insight_is_deleted_with_any_of_its_sources() -> None:
    topic_graph = _topic_graph()
    found = topic_graph.draw()
    topic_graph.write_insights(found)
    for id_, sources in _sources(found).items():
        for source in sources:
            after = apply_batch(topic_graph.graph, WriteBatch(tombstones=(Tombstone(source, b""),), revision=9))
            assert after.row(id_) is None
            assert len(insight_index.all_insights(after)) == len(found.nodes) - 1


def test_forgotten_insight_is_not_drawn_again() -> None:
    topic_graph = _topic_graph()
    found = topic_graph.draw()
    topic_graph.write_insights(found)
    topic_graph.graph = apply_batch(
        topic_graph.graph, WriteBatch(tombstones=(Tombstone(found.nodes[0].id, b""),), revision=9)
    )
    assert found.nodes[0].id not in {node.id for node in topic_graph.draw().nodes}


@pytest.mark.medium
@pytest.mark.parametrize("link", [Link.SUPERSEDES, Link.CONTRADICTS])
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=4))
def test_insight_never_covers_a_fact_and_its_successor(link: Link, pairs: list[tuple[int, int]]) -> None:
    topic_graph = _topic_graph()
    pairs = [(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]]
    for number, (new, old) in enumerate(pairs):
        claims = [sample_node(f"claim:{number}{side}", kind=Kind.CLAIM) for side in "ab"]
        edges = [
            Edge(f"claim:{number}a", f"e{new}", Link.CLAIMED_IN),
            Edge(f"claim:{number}b", f"e{old}", Link.CLAIMED_IN),
        ]
        topic_graph.write(
            WriteBatch(nodes=tuple(claims), edges=(*edges, Edge(f"claim:{number}a", f"claim:{number}b", link)))
        )
    for sources in _sources(topic_graph.draw()).values():
        assert not any({f"e{new}", f"e{old}"} <= sources for new, old in pairs)
        assert link is Link.CONTRADICTS or not sources & {f"e{old}" for _, old in pairs}


def test_superseded_memory_is_not_a_source() -> None:
    topic_graph = _topic_graph()
    topic_graph.write(WriteBatch(edges=(Edge("e3", "e0", Link.SUPERSEDES),)))
    covered = _sources(topic_graph.draw()).values()
    assert not any("e0" in sources for sources in covered)
    assert any("e3" in sources for sources in covered)


def test_insight_over_a_superseded_memory_is_invalid() -> None:
    """It is listed as invalid, no query finds it, and its other sources may be covered again."""
    topic_graph = _topic_graph()
    first = topic_graph.draw()
    topic_graph.write_insights(first)
    topic_graph.remember([0])
    topic_graph.claim("e18", "e0")
    invalid = next(insight for insight in insight_index.newest_insights(topic_graph.graph) if 0 in insight.sources)
    assert not invalid.is_valid
    assert all(
        insight.is_valid for insight in insight_index.newest_insights(topic_graph.graph) if insight.row != invalid.row
    )
    assert invalid.row not in [
        insight.row for insight, _ in insight_index.nearest_insights(topic_graph.graph, _vector(0, 0))
    ]
    (sources,) = _sources(topic_graph.draw([18], config=InsightConfig(memories_per_insight=1))).values()
    assert sources == {"e3", "e6", "e9", "e12", "e18"}


# ---- levels


def _levels() -> tuple[TopicGraph, InsightBatch]:
    """Three insights with similar vectors, and the insight drawn over them."""
    topic_graph = TopicGraph()
    topic_graph.remember([index % 3 for index in range(15)])
    topic_graph.write_insights(topic_graph.draw(), lambda index: _vector(3, index))
    return topic_graph, topic_graph.draw(())


def test_similar_insights_give_one_of_the_next_level() -> None:
    topic_graph, found = _levels()
    (node,) = found.nodes
    assert node.metadata == {"level": 2, "sources": 3}
    assert _sources(found)[node.id] == {id_ for id_, source in topic_graph.nodes.items() if source.kind is Kind.INSIGHT}
    assert {line.removeprefix("Ana: ") for line in node.text.splitlines()} <= {
        source.text for source in topic_graph.nodes.values()
    }
    topic_graph.write_insights(found)
    assert topic_graph.draw() == InsightBatch()
    top, *lower = insight_index.newest_insights(topic_graph.graph)
    assert (top.level, top.sources.tolist()) == (2, list(range(15)))
    assert [insight.level for insight in lower] == [1, 1, 1]
    after_forgetting = apply_batch(topic_graph.graph, WriteBatch(tombstones=(Tombstone("e0", b""),), revision=9))
    assert after_forgetting.row(node.id) is None


def test_insights_of_one_run_are_of_level_one() -> None:
    topic_graph = _topic_graph()
    assert {node.metadata["level"] for node in topic_graph.draw().nodes} == {1}


def test_higher_insight_never_covers_a_contradiction() -> None:
    topic_graph, _ = _levels()
    topic_graph.claim("e1", "e0", Link.CONTRADICTS)
    assert topic_graph.draw(()) == InsightBatch()


def test_cyclic_insights_are_ignored() -> None:
    """An import may contain any links."""
    topic_graph = _topic_graph()
    circle = [sample_node(f"insight:{name}", kind=Kind.INSIGHT) for name in "ab"]
    link_pairs = [
        ("insight:a", "insight:b"),
        ("insight:b", "insight:a"),
        ("insight:b", "e1"),
        ("insight:b", "insight:b"),
    ]
    topic_graph.write(
        WriteBatch(nodes=tuple(circle), edges=tuple(Edge(src, dst, Link.DERIVED_FROM) for src, dst in link_pairs))
    )
    assert [
        (insight.level, insight.sources.tolist()) for insight in insight_index.newest_insights(topic_graph.graph)
    ] == [(1, [1])]
    assert len(topic_graph.draw(config=InsightConfig(memories_per_insight=3)).nodes) == 3


# ---- listing and search


def test_newest_insights_are_sorted_by_time_and_sources() -> None:
    topic_graph = _topic_graph(16)
    first = topic_graph.draw()
    topic_graph.write_insights(first)
    assert [len(insight.sources) for insight in insight_index.newest_insights(topic_graph.graph)] == [6, 5, 5]
    topic_graph.remember([0] * 7)
    later = draw_insights(
        topic_graph.graph,
        np.arange(19, 26),
        topic_graph.read(),
        NOW + timedelta(days=1),
        config=InsightConfig(memories_per_insight=1),
    )
    topic_graph.write_insights(later)
    assert topic_graph.graph.id(insight_index.newest_insights(topic_graph.graph)[0].row) in {
        node.id for node in later.nodes
    }


def test_nearest_insight_is_that_of_the_topic() -> None:
    topic_graph = _topic_graph()
    assert insight_index.nearest_insights(topic_graph.graph, _vector(0, 0)) == ()
    topic_graph.write_insights(topic_graph.draw())
    found = insight_index.nearest_insights(topic_graph.graph, _vector(1, 1), limit=2)
    assert len(found) == 2
    assert found[0][0].sources.tolist() == [1, 4, 7, 10, 13]
    assert found[0][1] > 0.9 > found[1][1]
    assert insight_index.nearest_insights(topic_graph.graph, _vector(1, 1), limit=0) == ()


# ---- a language model


TOPIC = np.eye(16, dtype=np.float32)


def _writer(text: str | None, vector: Callable[[str], Vector]) -> tuple[InsightWriter, list[str]]:
    embedded: list[str] = []

    def embed(sentences: Sequence[str]) -> Vectors:
        embedded.extend(sentences)
        return np.stack([vector(sentence) for sentence in sentences])

    return InsightWriter(lambda _sources: text, embed), embedded


def test_better_text_replaces_quotes() -> None:
    topic_graph = _topic_graph()
    write, embedded = _writer("All roses.", lambda _: TOPIC[0])
    found = topic_graph.draw([0], write, HIGH_COST_CONFIG)
    assert [node.text for node in found.nodes] == ["All roses."]
    assert found.rejection_count == 0
    assert embedded == ["All roses."]
    assert _sources(found) == _sources(topic_graph.draw([0]))  # the same id and sources as with quotes


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("All roses. And unicorns.", lambda sentence: TOPIC[0 if "roses" in sentence else 3]),  # no source supports it
        ("All roses, " + "and so on " * 150, lambda _sentence: TOPIC[0]),  # too long for its content
        ("All trains.", lambda _sentence: TOPIC[1]),
        ("...", lambda _sentence: TOPIC[0]),
    ],
)
def test_unsupported_or_long_text_is_rejected(text: str, vector: Callable[[str], Vector]) -> None:
    topic_graph = _topic_graph()
    for config in (CONFIG, HIGH_COST_CONFIG):
        found = topic_graph.draw([0], _writer(text, vector)[0], config)
        assert found == replace(topic_graph.draw([0], config=config), rejection_count=1)


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_insight_without_text_quotes_its_sources(text: str | None) -> None:
    topic_graph = _topic_graph()
    assert topic_graph.draw([0], _writer(text, lambda _: TOPIC[0])[0]) == topic_graph.draw([0])


def test_support_counts_from_the_similarity_floor() -> None:
    """The least supporting cosine counts from the similarity floor of the embedder."""
    topic_graph = _topic_graph()
    half_related = (0.6 * TOPIC[0] + 0.8 * TOPIC[3]).astype(np.float32)
    write, _ = _writer("Roses.", lambda _: half_related)
    assert topic_graph.draw([0], write, HIGH_COST_CONFIG).rejection_count == 0
    assert topic_graph.draw([0], replace(write, similarity_floor=0.4), HIGH_COST_CONFIG).rejection_count == 1


def test_sentences_are_embedded_one_by_one() -> None:
    topic_graph = _topic_graph()
    write, embedded = _writer("Mrs. Lee met Dr. Silva. 花が咲いた。水をやる。\nThe end", lambda _: TOPIC[0])
    topic_graph.draw([0], write)
    assert embedded == ["Mrs. Lee met Dr. Silva.", "花が咲いた。", "水をやる。", "The end"]


# ---- effect on recall


@pytest.mark.medium
@given(st.sampled_from(TOPICS), st.integers(0, 3))
def test_recall_is_the_same_with_and_without_insights(text: str, topic: int) -> None:
    """Insights are not episodes and their terms are not indexed, so they never displace evidence."""
    topic_graph = _topic_graph()
    names = [sample_entity(name) for name in ("Porto", "Mia")]
    mentions = [Edge(f"e{index}", names[index % 2].id, Link.MENTIONS) for index in range(15) if index % 3]
    topic_graph.write(WriteBatch(nodes=tuple(names), edges=tuple(mentions)))
    query = replace(sample_query(f"What of {text}?"), vector=_vector(topic, 0))
    before, n = Fused().activate(query, topic_graph.graph), len(topic_graph.graph)
    topic_graph.write_insights(topic_graph.draw(), lambda index: _vector(topic, index))
    topic_graph.write_insights(topic_graph.draw(()), lambda _: _vector(topic, 0))
    assert len(insight_index.all_insights(topic_graph.graph)) == 4
    after = Fused().activate(query, topic_graph.graph)
    assert after.scores[:n].tolist() == before.scores.tolist()
    assert not after.scores[n:].any()
    assert after.confidence == before.confidence
    assert {name: column[:n].tolist() for name, column in after.contributions.items()} == {
        name: column.tolist() for name, column in before.contributions.items()
    }
