"""Cognitive Weave's typed strands, the evidence that strengthens them, tiers and personas.

This file is over 400 lines because its tests share the graphs that they are made of.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Episode, Filter, Memory
from ecphora.consolidation.insights import clustering
from ecphora.language.names.mentions import entity_id
from ecphora.language.statements.clauses import states_cause, states_effect
from ecphora.model.graph.graph import DAY, Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Edge, Kind, Link, Node, Query, ValidityEnd, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.weave import persona, strand_evidence, strand_traversal, tiers
from ecphora.strategies.weave.potential_clusters import potential_clusters
from ecphora.strategies.weave.strand_types import STORED_LINKS, TYPE_CODES, TYPES, StrandType, TypeWeights
from ecphora.strategies.weave.strategy import FAITHFUL, Weave
from ecphora.testing import NOON, FakeClock, sample_entity, sample_query
from ecphora.testing.samples import sample_batch, sample_node

NOW = NOON.timestamp()
UP = np.array([0, 1], np.float32)
NONE = np.empty(0, np.intp)


def graph_of(
    *names: str, edges: Sequence[Edge] = (), vectors: bool = True, session: str | None = None, **values: object
) -> Graph:
    """Particles p0, p1 … that mention the names of the n-th text; the first has the vector (1, 0), others (0, 1)."""
    nodes = [
        replace(sample_node(f"p{n}", f"p{n}", seq=n + 1), session=session, speaker=None, **values)  # type: ignore[arg-type]
        for n in range(len(names))
    ]
    distinct = sorted({name for text in names for name in text.split()})
    entities = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(distinct)]
    mentions = [Edge(f"p{n}", entity_id(name), Link.MENTIONS) for n, text in enumerate(names) for name in text.split()]
    unit = {f"p{n}": np.array([n == 0, n > 0], np.float32) for n in range(len(names))} if vectors else {}
    batch = sample_batch(*nodes, *entities, vectors=unit, edges=(*edges, *mentions))
    return apply_batch(Graph(), replace(batch, revision=1))


def question(**values: object) -> Query:
    return replace(sample_query("question", vector=np.array([1, 0], np.float32)), **values)  # type: ignore[arg-type]


def only(type_: StrandType, weight: float = 1.0) -> TypeWeights:
    return TypeWeights(**{one.value: weight * (one is type_) for one in TYPES})


# ---- types


def test_type_weights_follow_the_order_of_types() -> None:
    given = {type_.value: (1 + code) / 10 for type_, code in TYPE_CODES.items()}
    weights = TypeWeights(**given)
    typed = weights.factors(is_typed=True)
    assert [round(float(typed[TYPE_CODES[type_]]), 3) for type_ in TYPES] == list(given.values())
    assert weights.factors(is_typed=False) == pytest.approx([0.5] * 9)
    assert TypeWeights().factors(is_typed=True).tolist() == [0.5, 0.5, 1.0, 1.0, 0.0, *[0.75] * 4]
    assert TypeWeights().factors(is_typed=False).tolist() == [*[0.75] * 4, 0.0, *[0.75] * 4]
    assert not only(StrandType.CAUSAL, weight=0.0).factors(is_typed=False).any()


def test_temporal_strands_join_adjacent_turns() -> None:
    graph = graph_of("", "", "", session="s")
    found = strand_traversal.temporal_strands(graph, np.array([1, 2]))
    assert sorted(zip(found.index.tolist(), found.rows.tolist(), strict=True)) == [(0, 0), (0, 2), (1, 1)]
    assert found.strengths.tolist() == [1, 1, 1]
    assert len(strand_traversal.temporal_strands(graph_of("", ""), np.array([0, 1])).rows) == 0


def test_thematic_strands_join_rows_that_share_a_rare_name() -> None:
    """Ana is named by 2 of 4, Bob by 3 of 4: ln(1 + 4/2) / ln 5 squared, and ln(1 + 4/3) / ln 5 squared."""
    graph = graph_of("Ana Bob", "Ana", "Bob", "Bob Eve")
    found = strand_traversal.thematic_strands(graph, np.array([0]), NONE)
    named = [graph.id(row) for row in found.entities.tolist()]
    strengths = dict(zip(zip(found.rows.tolist(), named, strict=True), found.strengths.tolist(), strict=True))
    rare, common = (np.log(3) / np.log(5)) ** 2, (np.log(1 + 4 / 3) / np.log(5)) ** 2
    ana, bob = entity_id("Ana"), entity_id("Bob")
    assert strengths == {
        (1, ana): pytest.approx(rare), (2, bob): pytest.approx(common), (3, bob): pytest.approx(common)
    }  # fmt: skip
    assert set(found.types.tolist()) == {TYPE_CODES[StrandType.THEMATIC]}
    asked = strand_traversal.thematic_strands(graph, np.array([0]), graph.rows([bob]))
    assert asked.rows.tolist() == [1]
    assert len(strand_traversal.thematic_strands(graph, np.array([3]), graph.rows([bob])).rows) == 0


def test_thematic_strands_to_what_is_about_the_name_are_stronger() -> None:
    graph = graph_of("Ana", "", edges=[Edge("p1", entity_id("Ana"), Link.ABOUT)])
    found = strand_traversal.thematic_strands(graph, np.array([0]), NONE)
    assert found.strengths == pytest.approx([np.log(2) / np.log(3)])
    back = strand_traversal.thematic_strands(graph, np.array([1]), NONE)
    assert back.strengths == pytest.approx([np.log(2) / np.log(3)])


def test_thematic_strands_leave_out_names_of_many() -> None:
    limit = strand_traversal.MAX_MENTIONS
    assert len(strand_traversal.thematic_strands(graph_of(*["Ana"] * limit), np.array([0]), NONE).rows) == limit - 1
    assert len(strand_traversal.thematic_strands(graph_of(*["Ana"] * (limit + 1)), np.array([0]), NONE).rows) == 0


def test_stored_strands_lead_both_ways() -> None:
    graph = graph_of("", "", "", edges=[Edge("p1", "p0", Link.CAUSES, 0.7), Edge("p1", "p2", Link.ASSOCIATION, 0.4)])
    for row, other in ((0, 1), (1, 0)):
        found = strand_traversal.stored_strands(graph, np.array([row]), StrandType.CAUSAL)
        assert found.rows.tolist() == [other]
        assert found.index.tolist() == [0]
        assert found.strengths == pytest.approx([0.7])
        assert found.types.tolist() == [TYPE_CODES[StrandType.CAUSAL]]


@pytest.mark.parametrize("type_", TYPES)
def test_recall_follows_each_type_by_its_weight(type_: StrandType) -> None:
    """p1 has nothing of the question; the strand of one type leads to it, and weighs what its type does."""
    links = {**STORED_LINKS}
    del links[StrandType.DERIVED]
    names = ("Ana", "Ana") if type_ is StrandType.THEMATIC else ("", "")
    edges = [Edge("p1", "p0", links[type_], 1.0)] if type_ in links else []
    graph = graph_of(*names, edges=edges, session="s" if type_ is StrandType.TEMPORAL else None)
    if type_ is StrandType.DERIVED:
        insight = replace(sample_node("insight", "insight", seq=50, kind=Kind.INSIGHT), speaker=None, session=None)
        derived = tuple(Edge("insight", f"p{n}", Link.DERIVED_FROM) for n in range(2))
        batch = sample_batch(insight, edges=derived, vectors={"insight": np.array([1, 0], np.float32)})
        graph = apply_batch(graph, replace(batch, revision=2))
    strategy = Weave(
        type_weights=only(type_, 0.5), candidates=1, max_hops=1, min_path_strength=0.01, follow_insights=True
    )
    if type_ is StrandType.DERIVED:
        strategy = replace(strategy, candidates=2)
    base = (np.log(2) / np.log(3)) ** 2 if type_ is StrandType.THEMATIC else 1.0
    found = strategy.activate(question(), graph)
    assert found.scores[1] == pytest.approx(0.45 * 0.5 * base, abs=1e-6)
    half = replace(strategy, type_weights=only(type_, 0.25))
    assert half.activate(question(), graph).scores[1] == pytest.approx(0.45 * 0.25 * base, abs=1e-6)
    other = next(one for one in TYPES if one is not type_)
    untyped = replace(half, use_types=False, type_weights=replace(only(type_, 0.5), **{other.value: 0.1}))
    assert untyped.activate(question(), graph).scores[1] == pytest.approx(0.45 * 0.3 * base, abs=1e-6)
    assert replace(strategy, type_weights=only(type_, 0.0)).activate(question(), graph).scores[1] == 0


def test_insights_are_followed_only_if_asked_to() -> None:
    insight = replace(sample_node("insight", "insight", seq=50, kind=Kind.INSIGHT), speaker=None, session=None)
    derived = tuple(Edge("insight", f"p{n}", Link.DERIVED_FROM) for n in range(2))
    batch = sample_batch(insight, edges=derived, vectors={"insight": np.array([1, 0], np.float32)})
    graph = apply_batch(graph_of("", ""), replace(batch, revision=2))
    whole = Weave(candidates=2, follow_insights=True, type_weights=only(StrandType.DERIVED))
    assert whole.activate(question(), graph).scores[1] == pytest.approx(0.45)
    without = replace(whole, follow_insights=False).activate(question(), graph)
    assert without.scores[1] == 0
    assert without.context_scores[2] == pytest.approx(0.55)  # it still comes back beside the memories


def test_thematic_path_names_the_shared_entity() -> None:
    graph = graph_of("Ana", "Ana")
    path = Weave(candidates=1).activate(question(), graph).paths["strands"]
    assert path.parent[1] == 0
    assert graph.id(int(path.via_entity[1])) == entity_id("Ana")


def test_names_of_the_question_lead_nowhere() -> None:
    graph = graph_of("Ana", "Ana")
    asked = question(entity_ids=frozenset({entity_id("Ana")}))
    assert Weave(candidates=1).activate(asked, graph).scores[1] == 0


def test_frontier_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most MAX_FRONTIER rows, the strongest, are followed in the second hop."""
    edges = [Edge("p1", "p0", Link.ASSOCIATION, 0.9), Edge("p2", "p0", Link.ASSOCIATION, 0.8)]
    edges += [Edge("p3", "p1", Link.ASSOCIATION, 1.0), Edge("p4", "p2", Link.ASSOCIATION, 1.0)]
    graph, strategy = graph_of(*[""] * 5, edges=edges), Weave(candidates=1, type_weights=only(StrandType.ASSOCIATION))
    assert (strategy.activate(question(), graph).scores > 0).tolist() == [True] * 5
    monkeypatch.setattr(strand_traversal, "MAX_FRONTIER", 1)
    assert (strategy.activate(question(), graph).scores > 0).tolist() == [True, True, True, True, False]


# ---- the similarity floor of the embedder


def test_similarity_counts_from_the_floor_of_the_embedder() -> None:
    graph = graph_of("", "")
    found = Weave().activate(
        question(vector=np.array([0.86, np.sqrt(1 - 0.86**2)], np.float32), similarity_floor=0.72), graph
    )
    assert found.scores[0] == pytest.approx(0.55 * 0.5, abs=1e-5)
    assert found.confidence == pytest.approx(0.5, abs=1e-5)
    assert found.scores[1] == 0


@pytest.mark.parametrize("strategy", [Weave(), FAITHFUL], ids=lambda strategy: strategy.name)
@pytest.mark.parametrize(
    "query", [replace(question(), vector=None), question(where=Filter(speakers="Nobody"))], ids=["unread", "excluded"]
)
def test_query_without_vector_or_memory_finds_nothing(strategy: Weave, query: Query) -> None:
    """Nothing at all: no part of a score, which insights beside the memories would come back by."""
    found = strategy.activate(query, graph_of("Ana", "Ana Ben", "Ben"))
    assert not found.scores.any()
    assert found.confidence == 0
    assert found.contributions == {}


# ---- causal strands


@pytest.mark.parametrize(
    "text",
    [
        "Because the train was late.",
        "Well, because I was tired",
        "'cause it rained",
        "It's because of the dog",
        "Thanks to Mia!",
    ],
)
def test_cause_cues(text: str) -> None:
    assert states_cause(text)
    assert not states_effect(text)


@pytest.mark.parametrize(
    "text",
    ["That's why we moved.", "So I left early", "Therefore no.", "and because of that we stayed", "As a result, yes"],
)
def test_effect_cues(text: str) -> None:
    assert states_effect(text)
    assert not states_cause(text)


@pytest.mark.parametrize(
    "text", ["", "I left because it rained", "So cool!", "Sincerely", "The cause is unknown", "since" * 3]
)
def test_texts_without_a_cue_at_their_start(text: str) -> None:
    assert not states_cause(text)
    assert not states_effect(text)


def _causal(memory: Memory) -> list[tuple[str, str]]:
    graph = memory.graph()
    edges = graph.edges_of_link(Link.CAUSES)
    return [
        (graph.id(src), graph.id(dst))
        for src, dst in zip(graph.edges["src"][edges].tolist(), graph.edges["dst"][edges].tolist(), strict=True)
    ]


def _tell(path: Path, *texts: str, sessions: str = "ssss", strategy: Weave | None = None) -> Memory:
    strategy = strategy or Weave(omega=len(texts))
    memory = Memory(path, embedder=HashingEmbedder(32), strategy=strategy, clock=FakeClock())
    start = datetime(2026, 1, 1, tzinfo=UTC)
    memory.remember(
        [
            Episode(text, id=f"e{n}", session=sessions[n], happened_at=start + timedelta(minutes=n))
            for n, text in enumerate(texts)
        ]
    )
    return memory


def test_cue_words_make_causal_strands(tmp_path: Path) -> None:
    with _tell(
        tmp_path / "m.db", "We came late.", "Because the bus broke down.", "That's why Mia was cross."
    ) as memory:
        assert _causal(memory) == [("e1", "e0"), ("e1", "e2")]
        memory.forget("e1")
        assert _causal(memory) == []


def test_questions_and_other_sessions_have_no_causal_strand(tmp_path: Path) -> None:
    with _tell(tmp_path / "q.db", "Why were you late?", "Because the bus broke down.") as memory:
        assert _causal(memory) == []
    with _tell(tmp_path / "s.db", "We came late.", "Because the bus broke down.", sessions="ab") as memory:
        assert _causal(memory) == []


# ---- evidence: equation 8


def test_evidence_raises_log_strength_up_to_one() -> None:
    """S = .4, five pieces of evidence, theta .5: .4 exp(.5 (1 - 1/e))."""
    found = strand_evidence.strengthen(np.array([0.4, 0.4, 0.9, 1.0], np.float32), np.array([0.0, 5, 1e9, 3]), 0.5)
    assert found == pytest.approx([0.4, 0.4 * np.exp(0.5 * (1 - np.exp(-1))), 1.0, 1.0])


@given(st.lists(st.floats(0, 1, width=32), min_size=1), st.floats(0, 100), st.floats(0, 3))
def test_evidence_never_weakens(strengths: list[float], evidence: float, weight: float) -> None:
    before = np.array(strengths, np.float32)
    after = strand_evidence.strengthen(before, np.full(len(before), evidence), weight)
    assert (after >= before - 1e-6).all()
    assert (after <= 1).all()


def _recalled(*recalls: tuple[float, Sequence[int]]) -> WriteBatch:
    accesses = [
        Access(f"p{row}", NOON + timedelta(days=day), AccessKind.RECALLED, 1.0, seq=1000 + 100 * n + rank)
        for n, (day, rows) in enumerate(recalls)
        for rank, row in enumerate(rows)
    ]
    return WriteBatch(accesses=tuple(accesses), revision=2)


def _uses(graph: Graph, a: int, b: int, day: float = 0.0) -> float:
    found = strand_evidence.uses_together(graph, np.array([a]), np.array([b]), half_life=30.0, now=NOW + day * DAY)
    return float(found[0])


def test_uses_count_recalls_that_returned_both_ends() -> None:
    graph = apply_batch(graph_of("", "", "", vectors=False), _recalled((0, [0, 1]), (1, [2]), (2, [1, 0, 2])))
    assert _uses(graph, 0, 1, 2) == pytest.approx(1 + 2 ** (-2 / 30))
    assert _uses(graph, 1, 0, 2) == _uses(graph, 0, 1, 2)
    assert _uses(graph, 0, 2, 2) == pytest.approx(1)
    assert _uses(graph, 0, 1, 32) == pytest.approx((1 + 2 ** (-2 / 30)) / 2)
    assert _uses(graph_of("", "", vectors=False), 0, 1) == 0


def test_uses_of_one_recall_are_bounded() -> None:
    assert strand_evidence.MAX_TOGETHER == 10
    rows = list(range(strand_evidence.MAX_TOGETHER + 1))
    graph = apply_batch(graph_of(*[""] * len(rows), vectors=False), _recalled((0, rows)))
    assert _uses(graph, 0, strand_evidence.MAX_TOGETHER - 1) == 1
    assert _uses(graph, 0, strand_evidence.MAX_TOGETHER) == 0


@pytest.mark.medium
@given(st.lists(st.tuples(st.integers(0, 90), st.sets(st.integers(0, 4), max_size=4)), max_size=6), st.integers(0, 6))
def test_uses_are_the_same_however_the_log_arrives(recalls: list[tuple[int, set[int]]], cut: int) -> None:
    days = sorted({day: sorted(rows) for day, rows in recalls}.items())
    base, now = graph_of(*[""] * 5, vectors=False), 100.0
    once = apply_batch(base, _recalled(*days))
    first = apply_batch(graph_of(*[""] * 5, vectors=False), _recalled(*days[:cut]))
    _uses(first, 0, 1, now)
    twice = apply_batch(first, replace(_recalled(*days[cut:]), revision=3))
    for a in range(5):
        for b in range(a + 1, 5):
            expected = sum(2 ** (-(now - day) / 30) for day, rows in days if {a, b} <= set(rows))
            assert _uses(once, a, b, now) == pytest.approx(expected, abs=1e-9)
            assert _uses(twice, a, b, now) == pytest.approx(expected, abs=1e-9)


def test_later_particles_repeat_the_links_between_their_neighbors() -> None:
    """p2 and p3 are associated with both ends of p1-p0, p4 with one end only."""
    pairs = ((1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 1))
    edges = [Edge(f"p{a}", f"p{b}", Link.ASSOCIATION, 0.4) for a, b in pairs]
    graph = graph_of(*[""] * 5, edges=edges, vectors=False)
    assert strand_evidence.later_evidence(graph)[: len(pairs)].tolist() == [2, 0, 0, 0, 0, 0]
    weighed = strand_traversal.stored_strands(graph, np.array([0]), StrandType.ASSOCIATION, 0.5)
    strengths = dict(zip(weighed.rows.tolist(), weighed.strengths.tolist(), strict=True))
    assert strengths == {
        1: pytest.approx(0.4 * np.exp(0.5 * (1 - np.exp(-0.4)))),
        2: pytest.approx(0.4),
        3: pytest.approx(0.4),
    }
    backwards = graph_of(*[""] * 3, edges=[edges[2], edges[1], edges[0]], vectors=False)
    assert strand_evidence.later_evidence(backwards)[:3].tolist() == [0, 0, 1]  # the very first entry counts too
    causal = graph_of("", "", edges=[Edge("p1", "p0", Link.CAUSES, 0.4)], vectors=False)
    assert strand_evidence.later_evidence(causal).tolist() == [0]


def test_later_evidence_is_the_same_in_one_step_or_many() -> None:
    pairs = [(a, b) for a in range(12) for b in range(a) if (a * a + 3 * b) % 5 < 3]
    edges = [Edge(f"p{a}", f"p{b}", Link.ASSOCIATION, 0.4) for a, b in pairs]
    whole = graph_of(*[""] * 12, edges=edges, vectors=False)
    grown = graph_of(*[""] * 12, vectors=False)
    for row in range(12):
        own = tuple(edge for edge in edges if edge.src == f"p{row}")
        grown = apply_batch(grown, WriteBatch(edges=own, revision=2 + row))
        strand_evidence.later_evidence(grown)
    expected = [sum((c, a) in pairs and (c, b) in pairs for c in range(12)) for a, b in pairs]
    assert strand_evidence.later_evidence(whole).tolist() == expected
    assert strand_evidence.later_evidence(grown).tolist() == expected


def test_use_strengthens_the_strand_between_memories_that_came_back_together() -> None:
    strategy = Weave(candidates=1, use_weight=0.5, type_weights=only(StrandType.ASSOCIATION))
    graph = graph_of(
        "", "", "", edges=[Edge("p1", "p0", Link.ASSOCIATION, 0.4), Edge("p2", "p0", Link.ASSOCIATION, 0.4)]
    )
    used = apply_batch(graph, _recalled((0, [0, 1])))
    asked = question(now=NOON)
    before, after = strategy.activate(asked, graph).scores, strategy.activate(asked, used).scores
    assert before[1] == pytest.approx(0.45 * 0.4)
    assert after[1] == pytest.approx(0.45 * 0.4 * np.exp(0.5 * (1 - np.exp(-0.2))), abs=1e-5)
    assert after[2] == before[2]
    assert replace(strategy, use_weight=0.0).activate(asked, used).scores[1] == before[1]


def test_forgetting_takes_the_evidence_of_use_along(tmp_path: Path) -> None:
    with _tell(tmp_path / "m.db", "roses by the gate", "tulips by the gate", "Tom plays chess") as memory:
        memory.recall("by the gate", limit=2)
        graph = memory.graph()
        a, b, c = graph.rows(["e0", "e1", "e2"]).tolist()
        assert _uses(graph, a, b) > 0
        assert _uses(graph, a, c) == 0
        memory.forget("e1")
        graph = memory.graph()
        rows = np.arange(len(graph))
        pairs = strand_evidence.uses_together(
            graph, np.repeat(rows, len(rows)), np.tile(rows, len(rows)), half_life=30, now=NOW
        )
        assert not pairs.any()


# ---- tiers


def test_cold_particles_are_unimportant_unused_and_the_source_of_nothing() -> None:
    nodes = [sample_node(f"p{n}", seq=n + 1) for n in range(4)]
    insight = sample_node("insight", seq=9, kind=Kind.INSIGHT)
    batch = sample_batch(*nodes, insight, edges=(Edge("insight", "p2", Link.DERIVED_FROM),))
    access = Access("p1", NOON + timedelta(days=20), AccessKind.USED, 1.0, seq=99)
    graph = apply_batch(Graph(), replace(batch, accesses=(access,), revision=1))
    importance = np.array([0.1, 0.1, 0.1, 0.2, 0.2], np.float32)
    assert tiers.is_cold(graph, importance, NOW + 100 * DAY).tolist() == [True, False, False, False, False]
    assert not tiers.is_cold(graph, importance, NOW + 89 * DAY).any()
    assert tiers.is_cold(graph, importance, NOW + 111 * DAY).tolist()[:2] == [True, True]
    later = Access("p0", NOON + timedelta(days=99), AccessKind.RECALLED, 1.0, seq=100)
    warmed = apply_batch(graph, WriteBatch(accesses=(later,), revision=2))
    assert not tiers.is_cold(warmed, importance, NOW + 100 * DAY).any()


def test_cold_particles_have_the_places_that_hot_ones_leave() -> None:
    """p0 is cold. It is taken beside the hot p1 if there is room, and else along a strand alone."""
    cue = question(vector=np.array([1, 1], np.float32) / np.float32(np.sqrt(2)), now=NOON)
    strand = [Edge("p1", "p0", Link.ASSOCIATION, 1.0)]
    for candidates, edges, found in ((1, [], [1]), (2, [], [0, 1]), (1, strand, [0, 1])):
        graph = graph_of("", "", edges=edges, happened_at=NOON - timedelta(days=400))
        tiered = Weave(use_tiers=True, candidates=candidates, type_weights=only(StrandType.ASSOCIATION))
        scores = tiered.activate(cue, apply_batch(graph, _recalled((0, [1])))).scores
        assert np.flatnonzero(scores).tolist() == found


def test_particles_below_an_importance_of_fifteen_hundredths_are_cold() -> None:
    importance = np.array([0.149, 0.15], np.float32)
    assert tiers.is_cold(graph_of("", ""), importance, NOW + 200 * DAY).tolist() == [True, False]


@pytest.mark.parametrize("days", [0, 101, 4_000])
def test_recall_of_an_old_archive_is_not_empty(days: int) -> None:
    """Nothing was ever used: after some hundred days, every particle is cold."""
    graph = graph_of("", "")
    found = FAITHFUL.activate(question(now=NOON + timedelta(days=days)), graph)
    assert found.scores[0] > 0
    assert found.confidence > 0


# ---- personas: equation 9


def _told_by(*told: tuple[str, str]) -> Graph:
    nodes = [replace(sample_node(f"p{n}", seq=n + 1), speaker=speaker) for n, (speaker, _) in enumerate(told)]
    names = sorted({name for _, text in told for name in text.split()})
    entities = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(names)]
    mentions = [
        Edge(f"p{n}", entity_id(name), Link.MENTIONS) for n, (_, text) in enumerate(told) for name in text.split()
    ]
    return apply_batch(Graph(), replace(sample_batch(*nodes, *entities, edges=tuple(mentions)), revision=1))


def test_persona_weighs_the_names_of_a_speaker_by_importance() -> None:
    graph = _told_by(("Ana", "Porto Tea"), ("Ana", "Porto"), ("Bob", "Chess"))
    importance = np.array([0.6, 0.2, 1.0, 1, 1, 1], np.float32)
    found = persona.persona(graph, np.array([graph.speakers.code("Ana")]), importance, graph.episodes)
    weights = dict(zip([graph.id(row) for row in found.keys.tolist()], found.weights.tolist(), strict=True))
    assert weights == {entity_id("Porto"): pytest.approx(0.8 / 1.4), entity_id("Tea"): pytest.approx(0.6 / 1.4)}
    assert persona.affinity(graph, found, np.arange(3)) == pytest.approx([1, 0.8 / 1.4, 0])
    without_first = np.array([False, True, True, False, False, False])
    assert len(persona.persona(graph, np.array([0]), importance, without_first).keys) == 1


def test_persona_has_at_most_so_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert persona.MAX_KEYS == 20
    monkeypatch.setattr(persona, "MAX_KEYS", 1)
    graph = _told_by(("Ana", "Tea"), ("Ana", "Porto"), ("Ana", "Porto"))
    found = persona.persona(graph, np.array([0]), np.ones(5, np.float32), graph.episodes)
    assert [graph.id(row) for row in found.keys.tolist()] == [entity_id("Porto")]
    assert found.weights.tolist() == [1]
    nobody = persona.persona(graph, np.array([7]), np.ones(5, np.float32), graph.episodes)
    assert not persona.affinity(graph, nobody, np.arange(3)).any()


def test_persona_of_the_named_speaker_raises_scores(tmp_path: Path) -> None:
    strategy = Weave(w_persona=0.1)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember("I love Porto.", id="a", speaker="Ana")
        memory.remember("Chess is fine.", id="b", speaker="Bob")
        graph = memory.graph()
        for text, is_raised in (
            ("What does Ana like?", True),
            ("What does Bob like?", False),
            ("What is liked?", False),
        ):
            found = strategy.activate(memory.build_query(text), graph).contributions.get("persona", graph.zeros())
            row = graph.row("a")
            assert found[row] == pytest.approx(0.1 if is_raised else 0)


# ---- signifiers and times


def test_questions_are_no_sources_of_insights() -> None:
    nodes = [sample_node(f"p{n}", text, seq=n + 1) for n, text in enumerate(["Tea.", "Tea?", "Tea!", "Green tea."])]
    vectors = {node.id: np.array([1, 0], np.float32) for node in nodes}
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, vectors=vectors), revision=1))

    def sources(strategy: Weave) -> list[str]:
        def read(rows: np.ndarray) -> list[Node]:
            return [nodes[row] for row in rows]

        refined = strategy.process(graph, read, NOON)
        return sorted({edge.dst for edge in refined.edges if edge.link is Link.DERIVED_FROM})

    assert sources(Weave(omega=4)) == ["p0", "p2", "p3"]
    assert sources(Weave(omega=4, use_signifiers=False)) == ["p0", "p1", "p2", "p3"]
    assert sources(Weave(omega=4, min_cluster_size=4)) == []
    assert sources(Weave(omega=4, use_insights=False)) == []


def test_passages_of_unknown_time_are_not_outside_a_time(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy="weave", clock=FakeClock()) as memory:
        memory.remember("The bridge was opened.", id="passage", title="Old Bridge")
        memory.remember("The bridge was opened.", id="dated", happened_at="2020-01-01", title="New Bridge")
        memory.remember("The bridge was opened in 1990.", id="inside", title="Third Bridge")
        memory.remember("The bridge was opened, they say.", id="note")
        graph = memory.graph()
        query = memory.build_query("Which bridge was opened in 1990?")
        assert query.time_ranges
        for undated in (1.0, 0.5):
            factors = Weave(undated_time_factor=undated)._time_factors(graph, query)
            found = {id_: float(factors[graph.row(id_)]) for id_ in ("passage", "dated", "inside", "note")}
            assert found == {"passage": undated, "dated": 0.5, "inside": 1.0, "note": 0.5}


def test_presets_differ_where_a_mechanism_is_off() -> None:
    ours = Weave()
    assert (ours.use_weight, ours.evidence_weight, ours.w_persona, ours.w_importance) == (0, 0, 0, 0)
    assert not ours.use_tiers
    assert not ours.follow_insights
    assert FAITHFUL.use_types
    assert ours.use_types


# ---- filters


def test_support_of_what_is_outside_the_time_is_filtered_too() -> None:
    """p1 is expired; both its similarity and its support count .3."""
    graph = graph_of("", "", edges=[Edge("p1", "p0", Link.ASSOCIATION, 0.8)])
    ended = ValidityEnd("p1", NOON - timedelta(days=1), NOON - timedelta(days=1))
    graph = apply_batch(graph, WriteBatch(validity_ends=(ended,), revision=2))
    strategy = Weave(type_weights=only(StrandType.ASSOCIATION))
    found = strategy.activate(question(now=NOON), graph)
    assert found.scores[1] == pytest.approx(0.45 * 0.8 * 0.3)


def test_insights_of_a_memory_that_may_not_come_back_are_not_followed() -> None:
    """The insight over p0 of session a and p1 of session b would tell of p0 where only b may come back."""
    nodes = [replace(sample_node(f"p{n}", seq=n + 1), session="ab"[n], speaker=None) for n in range(2)]
    insight = replace(sample_node("insight", "insight", seq=50, kind=Kind.INSIGHT), speaker=None, session=None)
    derived = tuple(Edge("insight", f"p{n}", Link.DERIVED_FROM) for n in range(2))
    vectors = {"p0": UP, "p1": UP, "insight": np.array([1, 0], np.float32)}
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, insight, edges=derived, vectors=vectors), revision=1))
    strategy = Weave(follow_insights=True, type_weights=only(StrandType.DERIVED))
    assert strategy.activate(question(), graph).scores[1] == pytest.approx(0.45)
    filtered = strategy.activate(question(where=Filter(sessions="b")), graph)
    assert filtered.scores[1] == 0
    assert not filtered.context_scores.any()


def test_cluster_at_the_limit_of_overlap_is_drawn() -> None:
    insight = sample_node("insight", "insight", seq=50, kind=Kind.INSIGHT)
    derived = tuple(Edge("insight", f"p{n}", Link.DERIVED_FROM) for n in range(1, 4))
    graph = graph_of(*[""] * 5)
    graph = apply_batch(graph, replace(sample_batch(insight, edges=derived), revision=2))
    near = [(4, np.array([1, 2, 3]), np.ones(3, np.float32))]
    config = clustering.ClusteringConfig()
    assert len(list(Weave(max_overlap=0.75)._new_clusters(graph, near, config))) == 1
    assert list(Weave(max_overlap=0.74)._new_clusters(graph, near, config)) == []


def test_clusters_over_the_largest_size_are_left_out() -> None:
    graph, near = graph_of(*[""] * 5), [(4, np.array([1, 2, 3]), np.ones(3, np.float32))]
    assert len(list(potential_clusters(graph, near, clustering.ClusteringConfig(max_size=4)))) == 1
    assert list(potential_clusters(graph, near, clustering.ClusteringConfig(max_size=3))) == []
