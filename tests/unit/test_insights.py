"""Insights: drawn from what is alike, gone with their sources, never over what was replaced, and in no one's way.

This file is over 400 lines because all its tests share one bench of made-up topics.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.consolidation import insights
from ecphora.consolidation.insights import InsightBatch, InsightConfig
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Edge, Kind, Link, Node, NodeId, Tombstone, Vector, Vectors, WriteBatch
from ecphora.ports import NodeReader
from ecphora.stages.retrieval import insight_index
from ecphora.stages.weave.generative_summary import InsightWriter
from ecphora.stages.weave.insight_aggregate import insight_id
from ecphora.strategies.fused import Fused
from ecphora.testing.samples import NOON, sample_batch, sample_entity, sample_node, sample_query, sample_vector

NOW = NOON + timedelta(days=9)
OFTEN = InsightConfig(memories_per_insight=4)
DEAR = InsightConfig(memories_per_insight=4, token_cost=0.1)
"""Each word costs so much that a short text is better than any quote."""
TOPICS = ("garden roses water", "train Porto nine", "piano Mia practice")


def _vector(topic: int, place: int, dim: int = 16) -> Vector:
    """A topic's axis, and a little of another that is each memory's own."""
    vector = np.zeros(dim, np.float32)
    vector[topic] = 1
    vector[4 + place % (dim - 4)] += 0.4
    return vector / np.linalg.norm(vector)


@dataclass
class Bench:
    """A graph and the nodes in it, grown step by step as a memory would."""

    graph: Graph = field(default_factory=Graph)
    nodes: dict[NodeId, Node] = field(default_factory=dict)

    def write(self, change: WriteBatch) -> None:
        first = 1 + max((node.seq for node in self.nodes.values()), default=0)
        nodes = tuple(replace(node, seq=first + place) for place, node in enumerate(change.nodes))
        self.nodes.update((node.id, node) for node in nodes)
        self.graph = apply_batch(self.graph, replace(change, nodes=nodes, revision=self.graph.revision + 1))

    def remember(self, topics: Sequence[int], **fields: object) -> None:
        """One memory a topic, some minutes apart."""
        first = len(self.nodes)
        nodes = [
            sample_node(f"e{place}", f"{TOPICS[topic]} told again {place}", minutes=place, speaker="Ana", **fields)
            for place, topic in enumerate(topics, first)
        ]
        vectors = {
            node.id: _vector(topic, first + k) for k, (node, topic) in enumerate(zip(nodes, topics, strict=True))
        }
        self.write(replace(sample_batch(*nodes), vectors=vectors))

    def read(self) -> NodeReader:
        return lambda rows: [self.nodes[self.graph.id(row)] for row in rows.tolist()]

    def draw(
        self, new: Iterable[int] | None = None, write: InsightWriter | None = None, how: InsightConfig = OFTEN
    ) -> InsightBatch:
        rows = np.flatnonzero(self.graph.episodes) if new is None else np.array(list(new), np.intp)
        return insights.draw_insights(self.graph, rows, self.read(), NOW, write, config=how)

    def sleep(self, found: InsightBatch, vectors: Callable[[int], Vector] | None = None) -> None:
        """Write what was drawn, with the mean of its sources' vectors or others."""
        made = {}
        for place, node in enumerate(found.nodes):
            rows = self.graph.rows(edge.dst for edge in found.edges if edge.src == node.id)
            mean = self.graph.vectors.view[self.graph.vector_positions[rows]].mean(axis=0)
            made[node.id] = vectors(place) if vectors is not None else mean / np.linalg.norm(mean)
        self.write(WriteBatch(nodes=found.nodes, edges=found.edges, vectors=made))

    def claim(self, new: NodeId, old: NodeId, link: Link = Link.SUPERSEDES) -> None:
        """Each of two memories claims something, and one claim replaces or contradicts the other."""
        claims = [sample_node(f"claim:{id_}", kind=Kind.CLAIM) for id_ in (new, old)]
        edges = [Edge(f"claim:{id_}", id_, Link.CLAIMED_IN) for id_ in (new, old)]
        self.write(WriteBatch(nodes=tuple(claims), edges=(*edges, Edge(f"claim:{new}", f"claim:{old}", link))))


def _bench(count: int = 15) -> Bench:
    bench = Bench()
    bench.remember([place % 3 for place in range(count)])
    return bench


def _sources(found: InsightBatch) -> dict[NodeId, set[NodeId]]:
    told: dict[NodeId, set[NodeId]] = {node.id: set() for node in found.nodes}
    for edge in found.edges:
        assert edge.link is Link.DERIVED_FROM
        told[edge.src].add(edge.dst)
    return told


# ---- what is drawn


def test_what_is_alike_is_told_together() -> None:
    """One insight a topic, in the words of its sources, happening when the last of them did."""
    bench = _bench()
    found = bench.draw()
    assert sorted(map(sorted, _sources(found).values())) == sorted(
        sorted(f"e{place}" for place in range(topic, 15, 3)) for topic in range(3)
    )
    for node in found.nodes:
        sources = [bench.nodes[source] for source in _sources(found)[node.id]]
        assert node.kind is Kind.INSIGHT
        assert node.metadata == {"level": 1, "sources": 5}
        assert (node.happened_at, node.recorded_at) == (max(one.happened_at for one in sources), NOW)
        assert {line.removeprefix("Ana: ") for line in node.text.splitlines()} <= {one.text for one in sources}
    assert found.rejection_count == 0


def test_nothing_new_draws_nothing() -> None:
    assert insights.draw_insights(Graph(), np.empty(0, np.intp), lambda _rows: [], NOW) == InsightBatch()
    assert _bench().draw(()) == InsightBatch()


def test_only_around_what_is_new() -> None:
    bench = _bench()
    (sources,) = _sources(bench.draw([12])).values()
    assert sources == {"e0", "e3", "e6", "e9", "e12"}


def test_the_id_follows_from_the_sources() -> None:
    """Drawn again after an undo, or at another time in other words, it is the same."""
    bench = _bench()
    found = bench.draw()
    assert bench.draw() == found
    later = insights.draw_insights(
        bench.graph, np.flatnonzero(bench.graph.episodes), bench.read(), NOW + timedelta(days=99), config=OFTEN
    )
    assert {node.id for node in later.nodes} == {node.id for node in found.nodes}
    assert all(id_ == insight_id(sources) for id_, sources in _sources(found).items())


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=30), st.integers(1, 9))
def test_what_always_holds(turns: list[tuple[int, bool, bool]], every: int) -> None:
    """Few, over several distinct statements each, and mostly of what nothing tells yet; again it draws nothing."""
    bench, how = Bench(), InsightConfig(memories_per_insight=every)
    nodes = [
        sample_node(f"e{place}", f"{TOPICS[topic]} told again {place}{'?' * asks}", minutes=place,
                    document="whole" if piece else None, position=place)
        for place, (topic, asks, piece) in enumerate(turns)
    ]  # fmt: skip
    vectors = {
        node.id: _vector(topic, place) for place, (node, (topic, _, _)) in enumerate(zip(nodes, turns, strict=True))
    }
    bench.write(replace(sample_batch(*nodes), vectors=vectors))
    found = bench.draw(how=how)
    told: set[NodeId] = set()
    assert len(found.nodes) <= len(turns) // every
    assert list(_sources(found)) == list(dict.fromkeys(node.id for node in found.nodes))
    for node in found.nodes:
        sources = _sources(found)[node.id]
        assert len(sources) <= 12
        assert len({bench.nodes[one].document or one for one in sources}) >= 3
        assert not any(bench.nodes[one].text.endswith("?") for one in sources)
        assert len(sources & told) <= len(sources) / 2
        told |= sources
    bench.sleep(found)
    again = bench.draw(how=how)
    assert all(len(sources & told) <= len(sources) / 2 for sources in _sources(again).values())


def test_a_greeting_is_no_statement() -> None:
    """Who says less than the others is not quoted: nothing is drawn over five times hello."""
    bench = _bench()
    nodes = [sample_node(f"h{place}", "hello Ana", minutes=60 + place) for place in range(5)]
    vectors = {node.id: _vector(3, place) for place, node in enumerate(nodes)}
    bench.write(replace(sample_batch(*nodes), vectors=vectors))
    assert not any(sources & {"h0", "h1"} for sources in _sources(bench.draw()).values())


def test_one_insight_for_so_many_memories() -> None:
    assert len(_bench().draw(how=InsightConfig(memories_per_insight=7)).nodes) == 2
    assert _bench().draw(how=InsightConfig(memories_per_insight=16)) == InsightBatch()


def test_what_is_told_is_not_told_again() -> None:
    bench = _bench()
    bench.sleep(bench.draw())
    assert bench.draw() == InsightBatch()
    bench.remember([0, 0])
    assert bench.draw([18, 19]) == InsightBatch()  # of seven memories five are told
    bench.remember([0, 0, 0, 0])
    (sources,) = _sources(bench.draw(range(18, 24), how=InsightConfig(memories_per_insight=1))).values()
    assert len(sources & {f"e{place}" for place in range(0, 15, 3)}) <= len(sources) / 2


# ---- forgetting and replacing


def test_an_insight_goes_with_any_of_its_sources() -> None:
    bench = _bench()
    found = bench.draw()
    bench.sleep(found)
    for id_, sources in _sources(found).items():
        for source in sources:
            after = apply_batch(bench.graph, WriteBatch(tombstones=(Tombstone(source, b""),), revision=9))
            assert after.row(id_) is None
            assert len(insight_index.all_insights(after)) == len(found.nodes) - 1


def test_a_forgotten_insight_stays_forgotten() -> None:
    bench = _bench()
    found = bench.draw()
    bench.sleep(found)
    bench.graph = apply_batch(bench.graph, WriteBatch(tombstones=(Tombstone(found.nodes[0].id, b""),), revision=9))
    assert found.nodes[0].id not in {node.id for node in bench.draw().nodes}


@pytest.mark.parametrize("link", [Link.SUPERSEDES, Link.CONTRADICTS])
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=4))
def test_no_insight_over_a_fact_and_its_successor(link: Link, pairs: list[tuple[int, int]]) -> None:
    bench = _bench()
    pairs = [(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]]
    for number, (new, old) in enumerate(pairs):
        claims = [sample_node(f"claim:{number}{side}", kind=Kind.CLAIM) for side in "ab"]
        edges = [
            Edge(f"claim:{number}a", f"e{new}", Link.CLAIMED_IN),
            Edge(f"claim:{number}b", f"e{old}", Link.CLAIMED_IN),
        ]
        bench.write(WriteBatch(nodes=tuple(claims), edges=(*edges, Edge(f"claim:{number}a", f"claim:{number}b", link))))
    for sources in _sources(bench.draw()).values():
        assert not any({f"e{new}", f"e{old}"} <= sources for new, old in pairs)
        assert link is Link.CONTRADICTS or not sources & {f"e{old}" for _, old in pairs}


def test_what_was_replaced_in_so_many_words_is_left_out() -> None:
    bench = _bench()
    bench.write(WriteBatch(edges=(Edge("e3", "e0", Link.SUPERSEDES),)))
    told = _sources(bench.draw()).values()
    assert not any("e0" in sources for sources in told)
    assert any("e3" in sources for sources in told)


def test_an_insight_over_what_was_replaced_holds_no_more() -> None:
    """It is listed as such, no cue finds it, and its other sources may be told again."""
    bench = _bench()
    first = bench.draw()
    bench.sleep(first)
    bench.remember([0])
    bench.claim("e18", "e0")
    stale = next(one for one in insight_index.newest_insights(bench.graph) if 0 in one.sources)
    assert not stale.is_valid
    assert all(one.is_valid for one in insight_index.newest_insights(bench.graph) if one.row != stale.row)
    assert stale.row not in [one.row for one, _ in insight_index.nearest_insights(bench.graph, _vector(0, 0))]
    (sources,) = _sources(bench.draw([18], how=InsightConfig(memories_per_insight=1))).values()
    assert sources == {"e3", "e6", "e9", "e12", "e18"}


# ---- levels


def _levels() -> tuple[Bench, InsightBatch]:
    """Three insights that are alike, as one of another topic is not, and what is drawn over them."""
    bench = Bench()
    bench.remember([place % 3 for place in range(15)])
    bench.sleep(bench.draw(), lambda place: _vector(3, place))
    return bench, bench.draw(())


def test_insights_that_are_alike_make_one_of_the_next_level() -> None:
    bench, found = _levels()
    (node,) = found.nodes
    assert node.metadata == {"level": 2, "sources": 3}
    assert _sources(found)[node.id] == {one for one, told in bench.nodes.items() if told.kind is Kind.INSIGHT}
    assert {line.removeprefix("Ana: ") for line in node.text.splitlines()} <= {one.text for one in bench.nodes.values()}
    bench.sleep(found)
    assert bench.draw() == InsightBatch()
    top, *lower = insight_index.newest_insights(bench.graph)
    assert (top.level, top.sources.tolist()) == (2, list(range(15)))
    assert [one.level for one in lower] == [1, 1, 1]
    gone = apply_batch(bench.graph, WriteBatch(tombstones=(Tombstone("e0", b""),), revision=9))
    assert gone.row(node.id) is None


def test_insights_of_the_same_run_wait_for_the_next() -> None:
    bench = _bench()
    assert {node.metadata["level"] for node in bench.draw().nodes} == {1}


def test_no_higher_insight_over_a_fact_and_its_successor() -> None:
    bench, _ = _levels()
    bench.claim("e1", "e0", Link.CONTRADICTS)
    assert bench.draw(()) == InsightBatch()


def test_a_circle_of_insights_is_no_trouble() -> None:
    """An import may hold anything."""
    bench = _bench()
    circle = [sample_node(f"insight:{name}", kind=Kind.INSIGHT) for name in "ab"]
    links = [("insight:a", "insight:b"), ("insight:b", "insight:a"), ("insight:b", "e1"), ("insight:b", "insight:b")]
    bench.write(WriteBatch(nodes=tuple(circle), edges=tuple(Edge(src, dst, Link.DERIVED_FROM) for src, dst in links)))
    assert [(one.level, one.sources.tolist()) for one in insight_index.newest_insights(bench.graph)] == [(1, [1])]
    assert len(bench.draw(how=InsightConfig(memories_per_insight=3)).nodes) == 3


# ---- looking


def test_insights_are_listed_latest_and_fullest_first() -> None:
    bench = _bench(16)
    first = bench.draw()
    bench.sleep(first)
    assert [len(one.sources) for one in insight_index.newest_insights(bench.graph)] == [6, 5, 5]
    bench.remember([0] * 7)
    later = insights.draw_insights(
        bench.graph,
        np.arange(19, 26),
        bench.read(),
        NOW + timedelta(days=1),
        config=InsightConfig(memories_per_insight=1),
    )
    bench.sleep(later)
    assert bench.graph.id(insight_index.newest_insights(bench.graph)[0].row) in {node.id for node in later.nodes}


def test_a_cue_finds_the_insight_of_its_topic() -> None:
    bench = _bench()
    assert insight_index.nearest_insights(bench.graph, _vector(0, 0)) == ()
    bench.sleep(bench.draw())
    found = insight_index.nearest_insights(bench.graph, _vector(1, 1), limit=2)
    assert len(found) == 2
    assert found[0][0].sources.tolist() == [1, 4, 7, 10, 13]
    assert found[0][1] > 0.9 > found[1][1]
    assert insight_index.nearest_insights(bench.graph, _vector(1, 1), limit=0) == ()


# ---- a language model


TOPIC = np.eye(16, dtype=np.float32)


def _writer(text: str | None, vector: Callable[[str], Vector]) -> tuple[InsightWriter, list[str]]:
    embedded: list[str] = []

    def embed(sentences: Sequence[str]) -> Vectors:
        embedded.extend(sentences)
        return np.stack([vector(sentence) for sentence in sentences])

    return InsightWriter(lambda _sources: text, embed), embedded


def test_a_text_that_says_more_for_its_length_is_taken() -> None:
    bench = _bench()
    write, embedded = _writer("All roses.", lambda _: TOPIC[0])
    found = bench.draw([0], write, DEAR)
    assert [node.text for node in found.nodes] == ["All roses."]
    assert found.rejection_count == 0
    assert embedded == ["All roses."]
    assert _sources(found) == _sources(bench.draw([0]))  # the same id and sources as in quotes


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("All roses. And unicorns.", lambda sentence: TOPIC[0 if "roses" in sentence else 3]),  # no source says so
        ("All roses, " + "and so on " * 150, lambda _sentence: TOPIC[0]),  # too long for what it says
        ("All trains.", lambda _sentence: TOPIC[1]),
        ("...", lambda _sentence: TOPIC[0]),
    ],
)
def test_a_text_that_is_no_better_is_refused(text: str, vector: Callable[[str], Vector]) -> None:
    bench = _bench()
    for how in (OFTEN, DEAR):
        found = bench.draw([0], _writer(text, vector)[0], how)
        assert found == replace(bench.draw([0], how=how), rejection_count=1)


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_without_a_text_the_sources_are_quoted(text: str | None) -> None:
    bench = _bench()
    assert bench.draw([0], _writer(text, lambda _: TOPIC[0])[0]) == bench.draw([0])


def test_unrelated_texts_of_some_embedders_are_near() -> None:
    """What counts as supported begins at the embedder's floor."""
    bench = _bench()
    half = (0.6 * TOPIC[0] + 0.8 * TOPIC[3]).astype(np.float32)
    write, _ = _writer("Roses.", lambda _: half)
    assert bench.draw([0], write, DEAR).rejection_count == 0
    assert bench.draw([0], replace(write, similarity_floor=0.4), DEAR).rejection_count == 1


def test_sentences_are_checked_one_by_one() -> None:
    bench = _bench()
    write, embedded = _writer("Mrs. Lee met Dr. Silva. 花が咲いた。水をやる。\nThe end", lambda _: TOPIC[0])
    bench.draw([0], write)
    assert embedded == ["Mrs. Lee met Dr. Silva.", "花が咲いた。", "水をやる。", "The end"]


# ---- in no one's way


@given(st.sampled_from(TOPICS), st.integers(0, 3))
def test_recall_is_the_same_with_and_without_insights(text: str, topic: int) -> None:
    """No word of an insight is read and it is no episode: it pushes no evidence out, however near to the cue it is."""
    bench = _bench()
    names = [sample_entity(name) for name in ("Porto", "Mia")]
    mentions = [Edge(f"e{place}", names[place % 2].id, Link.MENTIONS) for place in range(15) if place % 3]
    bench.write(WriteBatch(nodes=tuple(names), edges=tuple(mentions)))
    cue = replace(sample_query(f"What of {text}?"), vector=_vector(topic, 0), topic_vector=sample_vector(text))
    before, n = Fused().activate(cue, bench.graph), len(bench.graph)
    bench.sleep(bench.draw(), lambda place: _vector(topic, place))
    bench.sleep(bench.draw(()), lambda _: _vector(topic, 0))
    assert len(insight_index.all_insights(bench.graph)) == 4
    after = Fused().activate(cue, bench.graph)
    assert after.scores[:n].tolist() == before.scores.tolist()
    assert not after.scores[n:].any()
    assert after.confidence == before.confidence
    assert {name: share[:n].tolist() for name, share in after.contributions.items()} == {
        name: share.tolist() for name, share in before.contributions.items()
    }
