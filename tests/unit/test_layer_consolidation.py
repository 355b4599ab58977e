"""The episodic-semantic layer: what a consolidation makes of turns and the names in them, and what falls asleep."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import Access, AccessKind, Edge, Link, WriteBatch
from ecphora.stages.synapse.dormancy import dormant_mask
from ecphora.stages.synapse.layer_consolidation import Layer, LayerConfig, consolidated_layer
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node

Edges = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Turn:
    """A turn: the names in it, its session, the day it was said, and where it lies if that matters."""

    names: str = ""
    session: str = "s"
    day: float = 0
    at: Sequence[float] | None = None


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(16, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def commit(graph: Graph, turns: Sequence[Turn]) -> Graph:
    """Some more turns in one change, as the memory writes them: the turns, then the names that are new."""
    first, seq = int(graph.episodes.sum()), len(graph.accesses) + len(graph) + 1
    nodes = [
        sample_node(
            f"t{number}", f"turn {number}", minutes=1440 * turn.day + number, speaker="Ana", session=turn.session
        )
        for number, turn in enumerate(turns, first)
    ]
    named = dict.fromkeys(name for turn in turns for name in turn.names.split())
    fresh = [sample_entity(name) for name in named if graph.row(entity_id(name)) is None]
    edges = [
        Edge(node.id, entity_id(name), Link.MENTIONS)
        for node, turn in zip(nodes, turns, strict=True)
        for name in turn.names.split()
    ]
    change = sample_batch(*nodes, *fresh, edges=tuple(edges))
    placed = {node.id: unit(*turn.at) for node, turn in zip(nodes, turns, strict=True) if turn.at is not None}
    numbered = tuple(replace(node, seq=seq + place) for place, node in enumerate(change.nodes))
    vectors = {**change.vectors, **placed}
    return apply_batch(graph, replace(change, nodes=numbered, vectors=vectors, revision=graph.revision + 1))


def told(turns: Sequence[Turn], at_once: int | None = None) -> Graph:
    graph, step = Graph(), at_once or max(1, len(turns))
    for start in range(0, len(turns), step):
        graph = commit(graph, turns[start : start + step])
    return graph


def edges(graph: Graph, found: Layer, *, beside: bool = False) -> dict[tuple[str, str], float]:
    """Every edge of a layer by the ids at its ends; the turns ``beside`` each other only if asked."""
    ways = found.edges_from(graph, np.arange(len(graph)))
    ends = zip(ways.src.tolist(), ways.dst.tolist(), ways.weights.tolist(), strict=True)
    by_id = {(graph.id(src), graph.id(dst)): weight for src, dst, weight in ends}
    turns = {(a, b) for a, b in by_id if a[0] == b[0] == "t"}
    assert len(by_id) == len(ways)
    return {pair: weight for pair, weight in by_id.items() if beside or pair not in turns}


def name(of: str) -> str:
    return entity_id(of)


# ---- temporal edges


@pytest.mark.parametrize("back", [False, True])
def test_turns_lead_on_and_back_if_asked(back: bool) -> None:
    graph = told([Turn(), Turn(day=30), Turn(session="other", day=40)])
    found = edges(graph, consolidated_layer(graph, LayerConfig(N=5, is_bidirectional=back)), beside=True)
    weight = exp(-0.01 * (30 + 1 / 1440))
    expected = {("t0", "t1"): weight, **({("t1", "t0"): weight} if back else {})}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("back", [False, True])
def test_a_session_leads_to_the_next(back: bool) -> None:
    """The chain of the paper runs through: the last turn said before a session began leads to its first."""
    days = [("a", 0), ("a", 0), ("b", 10), ("b", 10), ("c", 17)]
    graph = told([Turn(session=session, day=day) for session, day in days])
    found = edges(graph, consolidated_layer(graph, LayerConfig(N=5, is_bidirectional=back)), beside=True)
    forward = {("t0", "t1"), ("t1", "t2"), ("t2", "t3"), ("t3", "t4")}
    assert set(found) == forward | ({(b, a) for a, b in forward} if back else set())
    assert found["t1", "t2"] == pytest.approx(exp(-0.01 * 10), abs=1e-4)
    assert found["t3", "t4"] == pytest.approx(exp(-0.01 * 7), abs=1e-4)


def test_texts_that_nobody_said_are_not_chained() -> None:
    nodes = [sample_node(f"t{place}", seq=place + 1) for place in range(5)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    assert edges(graph, consolidated_layer(graph, LayerConfig()), beside=True) == {}


# ---- abstraction and association


TALK = [Turn("Ana"), Turn("Bob"), Turn(), Turn("Ana Cid"), Turn(), Turn("Ana"), Turn("Dora")]


def test_a_concept_and_the_turns_that_name_it_lead_to_each_other() -> None:
    graph = told(TALK)
    found = edges(graph, consolidated_layer(graph, LayerConfig(abstraction_weight=0.8)))
    between = {pair: weight for pair, weight in found.items() if "t" in (pair[0][0], pair[1][0])}
    said = [("t0", name("Ana")), ("t1", name("Bob")), ("t3", name("Ana")), ("t3", name("Cid"))]
    assert between == pytest.approx(
        {pair: 0.8 for turn, concept in said for pair in ((turn, concept), (concept, turn))}
    )


def test_a_concept_of_a_window_belongs_to_all_its_turns_if_asked() -> None:
    graph = told(TALK)
    found = edges(graph, consolidated_layer(graph, LayerConfig(link_whole_window=True)))
    leaving = {pair for pair in found if pair[0][0] == "t"}
    assert leaving == {(f"t{turn}", name(of)) for turn in range(5) for of in ("Ana", "Bob", "Cid")}


def test_concepts_of_a_window_lead_to_each_other_by_the_cosine_of_what_was_said_of_them() -> None:
    graph = told(
        [Turn("Ana", at=(1, 0)), Turn("Bob", at=(1, 1)), Turn("Ana", at=(0, 1)), Turn(), Turn("Cid", at=(-1, -1))]
    )
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    among = {pair: weight for pair, weight in found.items() if "t" not in (pair[0][0], pair[1][0])}
    assert among == pytest.approx({(name("Ana"), name("Bob")): 1, (name("Bob"), name("Ana")): 1})  # Cid lies opposite


def test_an_association_weighs_the_cosine_and_not_one() -> None:
    """Ana was told of at 0° and 90°, so she lies at 45°; Bob at 0°: cos 45° = .7071."""
    graph = told([Turn("Ana", at=(1, 0)), Turn("Bob", at=(1, 0)), Turn("Ana", at=(0, 1)), Turn(), Turn()])
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert found[name("Ana"), name("Bob")] == pytest.approx(0.7071, abs=1e-4)
    assert found[name("Bob"), name("Ana")] == pytest.approx(0.7071, abs=1e-4)


def test_concepts_of_two_windows_do_not_know_each_other() -> None:
    graph = told([*[Turn("Ana", at=(1,))] * 5, *[Turn("Bob", at=(1,))] * 5])
    assert (name("Ana"), name("Bob")) not in edges(graph, consolidated_layer(graph, LayerConfig()))


def test_the_unconsolidated_tail_takes_part_in_time_alone() -> None:
    graph = told(TALK)
    made = consolidated_layer(graph, LayerConfig())
    assert made.episode_count == 5
    assert not any(turn in pair for pair in edges(graph, made) for turn in ("t5", "t6"))
    assert ("t4", "t5") in edges(graph, made, beside=True)
    assert (name("Dora"), "t6") in edges(
        told([*TALK, Turn(), Turn(), Turn()]), consolidated_layer(told([*TALK, *[Turn()] * 3]), LayerConfig())
    )


def test_fifteen_edges_stay_with_a_hub_and_the_chain_stays_whole() -> None:
    graph = told([Turn("Hub") for _ in range(40)])
    found = edges(graph, consolidated_layer(graph, LayerConfig()), beside=True)
    assert {pair[1] for pair in found if pair[0] == name("Hub")} == {f"t{turn}" for turn in range(25, 40)}
    assert all((f"t{turn}", f"t{turn + 1}") in found for turn in range(39))
    crowded = told([Turn(" ".join(f"Name{number}" for number in range(20))), *[Turn()] * 4])
    found = edges(crowded, consolidated_layer(crowded, LayerConfig()), beside=True)
    assert sum(pair[0] == "t0" for pair in found) == 16  # fifteen concepts, and the turn after it


# ---- merging


MERGING = [
    *[Turn("Nyc", at=(1, 0, 0.1)), Turn("Ana", at=(-1, 1, 0)), Turn("Nyc", at=(1, 0, -0.1))],
    *[Turn("Bob", at=(-1, -1, 0)), Turn("Ana", at=(-1, 1, 0)), Turn("Gotham", at=(1, 0.05, 0))],
    *[Turn("Bob", at=(-1, -1, 0)), Turn("Gotham", at=(1, -0.05, 0)), Turn(at=(-1, 0, 0)), Turn(at=(-1, 0, 0))],
]


def test_the_older_name_keeps_the_mentions_of_both() -> None:
    graph = told(MERGING)
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert {pair[1] for pair in found if pair[0] == name("Nyc") and pair[1][0] == "t"} == {"t0", "t2", "t5", "t7"}
    assert not any(name("Gotham") in pair for pair in found)
    apart = edges(graph, consolidated_layer(graph, LayerConfig(tau_dup=1.0)))
    assert {pair[1] for pair in apart if pair[0] == name("Gotham") and pair[1][0] == "t"} == {"t5", "t7"}


def test_two_old_friends_are_not_one() -> None:
    """Whoever is much spoken of lies near the middle of all that was said: there everybody is alike."""
    turns = [
        Turn("Ana" if place % 2 else "Bob", at=(6, 1 if place % 2 else -1, *np.eye(8)[place % 8]))
        for place in range(40)
    ]
    graph = told(turns)
    sums = [np.sum([unit(*turn.at or ()) for turn in turns if turn.names == one], axis=0) for one in ("Ana", "Bob")]
    assert float(unit(*sums[0]) @ unit(*sums[1])) > 0.92
    found = edges(graph, consolidated_layer(graph, LayerConfig(tau_dup=0.92)))
    assert {name("Ana"), name("Bob")} <= {pair[0] for pair in found}


# ---- growth


turns = st.builds(
    Turn,
    names=st.lists(st.sampled_from(["Ana", "Bob", "Cid", "Dora"]), max_size=3, unique=True).map(" ".join),
    session=st.sampled_from(["a", "b"]),
    day=st.sampled_from([0, 1, 40]),
)


@given(st.lists(turns, min_size=1, max_size=23), st.integers(1, 7), st.booleans())
def test_a_layer_that_grew_is_the_layer_of_the_graph(history: list[Turn], at_once: int, whole: bool) -> None:
    """However it was written, and whenever it was asked: nothing but the consolidated turns counts."""
    plan = LayerConfig(link_whole_window=whole, tau_dup=0.9)
    grown = Graph()
    for start in range(0, len(history), at_once):
        grown = commit(grown, history[start : start + at_once])
        made = consolidated_layer(grown, plan)
    fresh = replace(grown, _parent=None)
    again = consolidated_layer(fresh, plan)
    assert made.episode_count == again.episode_count == len(history) // 5 * 5
    assert edges(grown, made, beside=True) == pytest.approx(edges(fresh, again, beside=True), abs=1e-5)
    padded = np.zeros(len(fresh))
    padded[: len(made.pagerank)] = made.pagerank
    assert padded == pytest.approx(again.pagerank, abs=1e-4)


def test_a_layer_stands_until_the_next_consolidation() -> None:
    graph = told(TALK[:5])
    first = consolidated_layer(graph, LayerConfig())
    for turn in TALK[:4]:
        graph = commit(graph, [turn])
        assert consolidated_layer(graph, LayerConfig()) is first
    assert consolidated_layer(commit(graph, TALK[:1]), LayerConfig()).episode_count == 10


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.02, 0.1]))
def test_what_consolidation_does_not_know_yet_is_little(n: int, lag: float) -> None:
    plan = LayerConfig(max_stale_share=lag)
    known = plan.consolidated_count(n)
    assert known % plan.N == 0
    assert 0 <= n - known < max(plan.N, lag * n)
    assert known <= plan.consolidated_count(n + 1)  # it forgets nothing


def test_a_large_memory_consolidates_less_often() -> None:
    plan = LayerConfig(max_stale_share=0.02)
    assert [plan.consolidated_count(n) for n in (9, 499, 509, 10_159, 100_000)] == [5, 495, 500, 10_080, 99_840]
    assert LayerConfig().consolidated_count(10_159) == 10_155


# ---- PageRank


def test_the_concept_all_speak_of_ranks_highest() -> None:
    graph = told([Turn("Hub"), Turn("Hub Ana"), Turn("Hub"), Turn("Hub"), Turn("Bob")])
    rank = consolidated_layer(graph, LayerConfig()).pagerank
    assert graph.id(int(rank.argmax())) == name("Hub")
    assert rank.max() == 1


# ---- dormancy


def stirred(graph: Graph, rows: Iterable[int], minute: int, returned: Iterable[int] = ()) -> Graph:
    """A retrieval as the memory logs it: what it stirred, row by row, and then what it brought back."""
    at, seq = NOON + timedelta(minutes=minute), 10_000 + 100 * minute
    logged = [(row, AccessKind.STIMULATED) for row in sorted(rows)] + [(row, AccessKind.RECALLED) for row in returned]
    accesses = tuple(Access(graph.id(row), at, touch, 0.3, seq + i) for i, (row, touch) in enumerate(logged))
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1))


def test_what_ten_retrievals_pass_by_falls_asleep_until_it_is_touched() -> None:
    graph = told([Turn()] * 3)
    for minute in range(9):
        graph = stirred(graph, [0], minute)
    assert not dormant_mask(graph, 10).any()
    graph = stirred(graph, [0], 10, returned=[2])
    assert dormant_mask(graph, 10).tolist() == [False, True, False]
    assert dormant_mask(stirred(graph, [0, 1], 11), 10).tolist() == [False, False, False]


def test_what_was_stored_since_is_awake_and_concepts_never_sleep() -> None:
    graph = told([Turn("Ana")])
    for minute in range(12):
        graph = stirred(graph, [0], minute)
        if minute == 5:
            graph = commit(graph, [Turn("Ana")])
    asleep = dormant_mask(graph, 6)
    assert {graph.id(row) for row in np.flatnonzero(asleep).tolist()} == {"t1"}
    assert not dormant_mask(graph, 7).any()


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.sets(st.integers(0, 3))), max_size=12),
    st.integers(1, 5),
)
def test_retrievals_are_counted_as_they_were_logged(retrievals: list[tuple[set[int], set[int]]], W: int) -> None:  # noqa: N803
    graph = told([Turn()] * 4)
    last = dict.fromkeys(range(4), 0)
    for count, (rows, returned) in enumerate(retrievals, 1):
        graph = stirred(graph, rows, count, returned)
        last.update(dict.fromkeys(rows | returned, count))
        dormant_mask(graph, W)  # so that it grows
    expected = [len(retrievals) - last[row] >= W for row in range(4)]
    assert dormant_mask(graph, W).tolist() == expected
    assert dormant_mask(replace(graph, _parent=None), W).tolist() == expected


def test_a_graph_of_nothing_has_an_empty_layer() -> None:
    made = consolidated_layer(Graph(), LayerConfig())
    assert made.episode_count == 0
    assert len(made.edges_from(Graph(), np.empty(0, np.intp))) == 0
    assert dormant_mask(Graph(), 10).tolist() == []


def test_turns_without_vectors_have_concepts_all_the_same() -> None:
    nodes = [sample_node(f"t{place}", seq=place + 1, speaker="Ana", session="s") for place in range(5)]
    names = [replace(sample_entity(one), seq=9) for one in ("Ana", "Bob")]
    said = tuple(Edge(node.id, one.id, Link.MENTIONS) for node in nodes for one in names)
    bare = [node.id for node in nodes]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, *names, without_vectors=bare, edges=said), revision=1))
    found = edges(graph, consolidated_layer(graph, LayerConfig()))
    assert len(found) == 20
    assert (name("Ana"), name("Bob")) not in found
