"""The episodic-semantic layer: edges and concepts of consolidated turns, and dormant turns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Edge, Link, WriteBatch
from ecphora.strategies.synapse.dormancy import dormant_mask
from ecphora.strategies.synapse.layer_consolidation import Layer, LayerConfig, consolidated_layer
from ecphora.strategies.synapse.strategy import Synapse
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node

Edges = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Turn:
    """A turn: its names, session and day, and its vector if it matters."""

    names: str = ""
    session: str = "s"
    day: float = 0
    at: Sequence[float] | None = None


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(16, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def commit(graph: Graph, turns: Sequence[Turn]) -> Graph:
    """The graph with more turns in one batch, as the memory writes them: the turns, then the new names."""
    first, seq = int(graph.episodes.sum()), len(graph.accesses) + len(graph) + 1
    nodes = [
        sample_node(
            f"t{number}", f"turn {number}", minutes=1440 * turn.day + number, speaker="Ana", session=turn.session
        )
        for number, turn in enumerate(turns, first)
    ]
    named = dict.fromkeys(name for turn in turns for name in turn.names.split())
    new_names = [sample_entity(name) for name in named if graph.row(entity_id(name)) is None]
    edges = [
        Edge(node.id, entity_id(name), Link.MENTIONS)
        for node, turn in zip(nodes, turns, strict=True)
        for name in turn.names.split()
    ]
    batch = sample_batch(*nodes, *new_names, edges=tuple(edges))
    given_vectors = {node.id: unit(*turn.at) for node, turn in zip(nodes, turns, strict=True) if turn.at is not None}
    numbered = tuple(replace(node, seq=seq + index) for index, node in enumerate(batch.nodes))
    vectors = {**batch.vectors, **given_vectors}
    return apply_batch(graph, replace(batch, nodes=numbered, vectors=vectors, revision=graph.revision + 1))


def turns_graph(turns: Sequence[Turn], batch_size: int | None = None) -> Graph:
    graph, step = Graph(), batch_size or max(1, len(turns))
    for start in range(0, len(turns), step):
        graph = commit(graph, turns[start : start + step])
    return graph


def edges(graph: Graph, found: Layer, *, temporal: bool = False) -> dict[tuple[str, str], float]:
    """The edges of a layer by the ids of their ends; those between turns only if ``temporal``."""
    edge_list = found.edges_from(graph, np.arange(len(graph)))
    ends = zip(edge_list.src.tolist(), edge_list.dst.tolist(), edge_list.weights.tolist(), strict=True)
    by_id = {(graph.id(src), graph.id(dst)): weight for src, dst, weight in ends}
    turns = {(a, b) for a, b in by_id if a[0] == b[0] == "t"}
    assert len(by_id) == len(edge_list)
    return {pair: weight for pair, weight in by_id.items() if temporal or pair not in turns}


def name(text: str) -> str:
    return entity_id(text)


# ---- temporal edges


@pytest.mark.parametrize("is_bidirectional", [False, True])
def test_temporal_edges_link_turns_in_one_or_both_directions(is_bidirectional: bool) -> None:
    graph = turns_graph([Turn(), Turn(day=30), Turn(session="other", day=40)])
    found = edges(graph, consolidated_layer(graph, LayerConfig(N=5, is_bidirectional=is_bidirectional)), temporal=True)
    weight = exp(-0.01 * (30 + 1 / 1440))
    expected = {("t0", "t1"): weight, **({("t1", "t0"): weight} if is_bidirectional else {})}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("is_bidirectional", [False, True])
def test_temporal_edges_link_sessions(is_bidirectional: bool) -> None:
    """The chain of the paper continues: the last turn before a session leads to its first."""
    days = [("a", 0), ("a", 0), ("b", 10), ("b", 10), ("c", 17)]
    graph = turns_graph([Turn(session=session, day=day) for session, day in days])
    found = edges(graph, consolidated_layer(graph, LayerConfig(N=5, is_bidirectional=is_bidirectional)), temporal=True)
    forward = {("t0", "t1"), ("t1", "t2"), ("t2", "t3"), ("t3", "t4")}
    assert set(found) == forward | ({(b, a) for a, b in forward} if is_bidirectional else set())
    assert found["t1", "t2"] == pytest.approx(exp(-0.01 * 10), abs=1e-4)
    assert found["t3", "t4"] == pytest.approx(exp(-0.01 * 7), abs=1e-4)


def test_texts_without_speaker_have_no_temporal_edges() -> None:
    nodes = [sample_node(f"t{index}", seq=index + 1) for index in range(5)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    assert edges(graph, consolidated_layer(graph, LayerConfig()), temporal=True) == {}


# ---- abstraction and association


TURNS = [Turn("Ana"), Turn("Bob"), Turn(), Turn("Ana Cid"), Turn(), Turn("Ana"), Turn("Dora")]


def test_abstraction_edges_link_concepts_and_their_turns() -> None:
    graph = turns_graph(TURNS)
    found = edges(graph, consolidated_layer(graph, LayerConfig(abstraction_weight=0.8)))
    abstractions = {pair: weight for pair, weight in found.items() if "t" in (pair[0][0], pair[1][0])}
    mentions = [("t0", name("Ana")), ("t1", name("Bob")), ("t3", name("Ana")), ("t3", name("Cid"))]
    assert abstractions == pytest.approx(
        {pair: 0.8 for turn, concept in mentions for pair in ((turn, concept), (concept, turn))}
    )


def test_abstraction_edges_may_link_the_full_window() -> None:
    graph = turns_graph(TURNS)
    found = edges(graph, consolidated_layer(graph, LayerConfig(link_whole_window=True)))
    from_turns = {pair for pair in found if pair[0][0] == "t"}
    assert from_turns == {(f"t{turn}", name(text)) for turn in range(5) for text in ("Ana", "Bob", "Cid")}


def test_association_edges_link_concepts_of_a_window() -> None:
    graph = turns_graph(
        [Turn("Ana", at=(1, 0)), Turn("Bob", at=(1, 1)), Turn("Ana", at=(0, 1)), Turn(), Turn("Cid", at=(-1, -1))]
    )
    found = edges(graph, consolidated_layer(graph, LayerConfig(tau_dup=1.0)))
    associations = {pair: weight for pair, weight in found.items() if "t" not in (pair[0][0], pair[1][0])}
    # Cid's vector is opposite.
    assert associations == pytest.approx({(name("Ana"), name("Bob")): 1, (name("Bob"), name("Ana")): 1})


def test_association_weight_is_the_cosine() -> None:
    """Ana's mentions are at 0° and 90°, so her vector is at 45°; Bob's is at 0°: cos 45° = .7071."""
    graph = turns_graph([Turn("Ana", at=(1, 0)), Turn("Bob", at=(1, 0)), Turn("Ana", at=(0, 1)), Turn(), Turn()])
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert found[name("Ana"), name("Bob")] == pytest.approx(0.7071, abs=1e-4)
    assert found[name("Bob"), name("Ana")] == pytest.approx(0.7071, abs=1e-4)


def test_concepts_of_two_windows_have_no_association() -> None:
    graph = turns_graph([*[Turn("Ana", at=(1,))] * 5, *[Turn("Bob", at=(1,))] * 5])
    assert (name("Ana"), name("Bob")) not in edges(graph, consolidated_layer(graph, LayerConfig()))


def test_unconsolidated_turns_have_temporal_edges_only() -> None:
    graph = turns_graph(TURNS)
    layer = consolidated_layer(graph, LayerConfig())
    assert layer.episode_count == 5
    assert not any(turn in pair for pair in edges(graph, layer) for turn in ("t5", "t6"))
    assert ("t4", "t5") in edges(graph, layer, temporal=True)
    assert (name("Dora"), "t6") in edges(
        turns_graph([*TURNS, Turn(), Turn(), Turn()]),
        consolidated_layer(turns_graph([*TURNS, *[Turn()] * 3]), LayerConfig()),
    )


def test_hub_keeps_fifteen_edges_and_all_temporal_edges_stay() -> None:
    graph = turns_graph([Turn("Hub") for _ in range(40)])
    found = edges(graph, consolidated_layer(graph, LayerConfig()), temporal=True)
    assert {pair[1] for pair in found if pair[0] == name("Hub")} == {f"t{turn}" for turn in range(25, 40)}
    assert all((f"t{turn}", f"t{turn + 1}") in found for turn in range(39))
    many_concepts = turns_graph([Turn(" ".join(f"Name{number}" for number in range(20))), *[Turn()] * 4])
    found = edges(many_concepts, consolidated_layer(many_concepts, LayerConfig()), temporal=True)
    assert sum(pair[0] == "t0" for pair in found) == 16  # fifteen concepts and the next turn


# ---- merging


MERGING = [
    *[Turn("Nyc", at=(1, 0, 0.1)), Turn("Ana", at=(-1, 1, 0)), Turn("Nyc", at=(1, 0, -0.1))],
    *[Turn("Bob", at=(-1, -1, 0)), Turn("Ana", at=(-1, 1, 0)), Turn("Gotham", at=(1, 0.05, 0))],
    *[Turn("Bob", at=(-1, -1, 0)), Turn("Gotham", at=(1, -0.05, 0)), Turn(at=(-1, 0, 0)), Turn(at=(-1, 0, 0))],
]


def test_merged_concept_has_the_mentions_of_both() -> None:
    graph = turns_graph(MERGING)
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert {pair[1] for pair in found if pair[0] == name("Nyc") and pair[1][0] == "t"} == {"t0", "t2", "t5", "t7"}
    assert not any(name("Gotham") in pair for pair in found)
    separate = edges(graph, consolidated_layer(graph, LayerConfig(tau_dup=1.0)))
    assert {pair[1] for pair in separate if pair[0] == name("Gotham") and pair[1][0] == "t"} == {"t5", "t7"}


def test_practical_preset_merges_no_concepts() -> None:
    graph = turns_graph(MERGING)
    found = edges(graph, consolidated_layer(graph, replace(Synapse().layer_config, max_stale_share=0.0)))
    assert {pair[1] for pair in found if pair[0] == name("Gotham") and pair[1][0] == "t"} == {"t5", "t7"}


# ---- growth


turns = st.builds(
    Turn,
    names=st.lists(st.sampled_from(["Ana", "Bob", "Cid", "Dora"]), max_size=3, unique=True).map(" ".join),
    session=st.sampled_from(["a", "b"]),
    day=st.sampled_from([0, 1, 40]),
)


@pytest.mark.medium
@given(st.lists(turns, min_size=1, max_size=23), st.integers(1, 7), st.booleans())
def test_grown_layer_equals_a_rebuilt_one(history: list[Turn], batch_size: int, link_whole_window: bool) -> None:
    """For any batches and any times of building, only the consolidated turns count."""
    config = LayerConfig(link_whole_window=link_whole_window, tau_dup=0.9)
    grown = Graph()
    for start in range(0, len(history), batch_size):
        grown = commit(grown, history[start : start + batch_size])
        layer = consolidated_layer(grown, config)
    rebuilt = replace(grown, _parent=None)
    rebuilt_layer = consolidated_layer(rebuilt, config)
    assert layer.episode_count == rebuilt_layer.episode_count == len(history) // 5 * 5
    assert edges(grown, layer, temporal=True) == pytest.approx(edges(rebuilt, rebuilt_layer, temporal=True), abs=1e-5)
    padded = np.zeros(len(rebuilt))
    padded[: len(layer.pagerank)] = layer.pagerank
    assert padded == pytest.approx(rebuilt_layer.pagerank, abs=1e-4)


def test_layer_is_cached_until_the_next_consolidation() -> None:
    graph = turns_graph(TURNS[:5])
    first = consolidated_layer(graph, LayerConfig())
    for turn in TURNS[:4]:
        graph = commit(graph, [turn])
        assert consolidated_layer(graph, LayerConfig()) is first
    assert consolidated_layer(commit(graph, TURNS[:1]), LayerConfig()).episode_count == 10


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.02, 0.1]))
def test_consolidated_count_lags_by_a_bounded_fraction(n: int, max_stale_share: float) -> None:
    config = LayerConfig(max_stale_share=max_stale_share)
    consolidated = config.consolidated_count(n)
    assert consolidated % config.N == 0
    assert 0 <= n - consolidated < max(config.N, max_stale_share * n)
    assert consolidated <= config.consolidated_count(n + 1)  # it never decreases


def test_large_memory_consolidates_less_often() -> None:
    config = LayerConfig(max_stale_share=0.02)
    assert [config.consolidated_count(n) for n in (9, 499, 509, 10_159, 100_000)] == [5, 495, 500, 10_080, 99_840]
    assert LayerConfig().consolidated_count(10_159) == 10_155


# ---- PageRank


def test_most_mentioned_concept_ranks_highest() -> None:
    graph = turns_graph([Turn("Hub"), Turn("Hub Ana"), Turn("Hub"), Turn("Hub"), Turn("Bob")])
    rank = consolidated_layer(graph, LayerConfig()).pagerank
    assert graph.id(int(rank.argmax())) == name("Hub")
    assert rank.max() == 1


# ---- dormancy


def after_retrieval(graph: Graph, rows: Iterable[int], minute: int, recalled: Iterable[int] = ()) -> Graph:
    """The graph after a retrieval as the memory logs it: the stimulated rows, then the recalled ones."""
    at, seq = NOON + timedelta(minutes=minute), 10_000 + 100 * minute
    logged = [(row, AccessKind.STIMULATED) for row in sorted(rows)] + [(row, AccessKind.RECALLED) for row in recalled]
    accesses = tuple(Access(graph.id(row), at, kind, 0.3, seq + i) for i, (row, kind) in enumerate(logged))
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1))


def test_turn_is_dormant_after_ten_retrievals_without_access() -> None:
    graph = turns_graph([Turn()] * 3)
    for minute in range(9):
        graph = after_retrieval(graph, [0], minute)
    assert not dormant_mask(graph, 10).any()
    graph = after_retrieval(graph, [0], 10, recalled=[2])
    assert dormant_mask(graph, 10).tolist() == [False, True, False]
    assert dormant_mask(after_retrieval(graph, [0, 1], 11), 10).tolist() == [False, False, False]


def test_new_turns_and_concepts_are_not_dormant() -> None:
    graph = turns_graph([Turn("Ana")])
    for minute in range(12):
        graph = after_retrieval(graph, [0], minute)
        if minute == 5:
            graph = commit(graph, [Turn("Ana")])
    dormant = dormant_mask(graph, 6)
    assert {graph.id(row) for row in np.flatnonzero(dormant).tolist()} == {"t1"}
    assert not dormant_mask(graph, 7).any()


@pytest.mark.medium
@given(
    st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.sets(st.integers(0, 3))), max_size=12),
    st.integers(1, 5),
)
def test_dormancy_counts_logged_retrievals(retrievals: list[tuple[set[int], set[int]]], W: int) -> None:  # noqa: N803
    graph = turns_graph([Turn()] * 4)
    last = dict.fromkeys(range(4), 0)
    for count, (rows, recalled) in enumerate(retrievals, 1):
        graph = after_retrieval(graph, rows, count, recalled)
        last.update(dict.fromkeys(rows | recalled, count))
        dormant_mask(graph, W)  # caches a value that the grown graph extends
    expected = [len(retrievals) - last[row] >= W for row in range(4)]
    assert dormant_mask(graph, W).tolist() == expected
    assert dormant_mask(replace(graph, _parent=None), W).tolist() == expected


def test_empty_graph_has_an_empty_layer() -> None:
    layer = consolidated_layer(Graph(), LayerConfig())
    assert layer.episode_count == 0
    assert len(layer.edges_from(Graph(), np.empty(0, np.intp))) == 0
    assert dormant_mask(Graph(), 10).tolist() == []


def test_turns_without_vectors_have_concepts() -> None:
    nodes = [sample_node(f"t{index}", seq=index + 1, speaker="Ana", session="s") for index in range(5)]
    names = [replace(sample_entity(concept), seq=9) for concept in ("Ana", "Bob")]
    mentions = tuple(Edge(node.id, concept.id, Link.MENTIONS) for node in nodes for concept in names)
    without_vectors = [node.id for node in nodes]
    graph = apply_batch(
        Graph(), replace(sample_batch(*nodes, *names, without_vectors=without_vectors, edges=mentions), revision=1)
    )
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert len(found) == 20
    assert (name("Ana"), name("Bob")) not in found
