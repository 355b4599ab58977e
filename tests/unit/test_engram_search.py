"""Hops over engrams, cues and co-occurrence, compared with values computed by hand and plain loops."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import MENTION_LINKS, Edge, Kind, Link, Mask, Query, Vector, WriteBatch
from ecphora.retrieval import entity_links
from ecphora.strategies.ecphory import chunk_search, cue_matching, engram_index, engram_search
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node

NAMES = ["Ana", "Ben", "Mia", "Porto", "Douro"]
Passage = tuple[float | None, set[str], str | None]
"""The angle of a passage's vector, in degrees; the names it mentions; the name it is about."""


def unit_vector(angle: float) -> Vector:
    """A unit vector in the plane."""
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))], np.float32)


def all_names(passage: Passage) -> set[str]:
    """The names a passage mentions or is about."""
    _, names, about = passage
    return names | {about} if about else names


def passage_batch(passages: Sequence[Passage], first: int = 0) -> WriteBatch:
    """Passages p0, p1 … with the names they mention; a passage without an angle has no vector."""
    numbered = list(enumerate(passages, first))
    nodes = [sample_node(f"p{place}", "text", seq=place + 1) for place, _ in numbered]
    names = sorted(set().union(*(all_names(passage) for passage in passages)))
    edges = [Edge(f"p{place}", entity_id(name), Link.MENTIONS) for place, one in numbered for name in sorted(one[1])]
    edges += [Edge(f"p{place}", entity_id(about), Link.ABOUT) for place, (_, _, about) in numbered if about]
    vectors = {f"p{place}": unit_vector(angle) for place, (angle, _, _) in numbered if angle is not None}
    numbered_names = [replace(sample_entity(name), seq=100 + place) for place, name in enumerate(names)]
    return replace(sample_batch(*nodes, *numbered_names), vectors=vectors, edges=tuple(edges), revision=1)


def graph_of(*passages: Passage) -> Graph:
    return apply_batch(Graph(), passage_batch(passages))


def query_of(graph: Graph, angle: float | None, *names: str) -> Query:
    """A question with a vector and names, without words."""
    del graph
    vector = None if angle is None else unit_vector(angle)
    return Query("?", NOON, vector=vector, entity_ids=tuple(map(entity_id, names)))


def place(graph: Graph, name: str) -> int:
    return int(engram_index.engram_index(graph).places(graph.rows([entity_id(name)]))[0])


passages = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 179).map(float)),
        st.sets(st.sampled_from(NAMES), max_size=4),
        st.one_of(st.none(), st.sampled_from(NAMES)),
    ),
    min_size=1,
    max_size=10,
)


# ---- the index


@pytest.mark.medium
@given(passages, st.integers(0, 359))
def test_similarity_equals_the_cosine_with_the_mean_vector(drawn_passages: list[Passage], angle: int) -> None:
    """Vectors of engrams are not stored; the reference is the mean of an engram's memories."""
    graph, question = graph_of(*drawn_passages), unit_vector(angle)
    if not len(graph.vector_rows):
        return
    found = engram_index.prepare_search(graph, graph.episodes).similarities(
        engram_index.cosines(graph, question[None, :])[0]
    )
    sums = entity_links.entity_vectors(graph).sums
    lengths = np.linalg.norm(sums, axis=1)
    has_direction = lengths > 1e-3  # vectors that cancel out have no direction
    expected = np.clip(sums @ question / np.maximum(lengths, 1e-12), 0, 1)
    assert found[has_direction] == pytest.approx(expected[has_direction], abs=1e-4)
    counts = [len(graph.edges_to(np.array([row]), *MENTION_LINKS)[0]) for row in graph.rows_of_kind(Kind.ENTITY)]
    assert engram_index.engram_index(graph).mention_counts.tolist() == counts


@pytest.mark.medium
@given(passages, passages)
def test_grown_index_equals_a_new_index(first: list[Passage], later: list[Passage]) -> None:
    before = graph_of(*first)
    engram_index.engram_index(before)
    more = passage_batch(later, len(first))
    new_nodes = tuple(node for node in more.nodes if before.row(node.id) is None)
    grown = apply_batch(before, replace(more, nodes=new_nodes, revision=2))
    reloaded = apply_batch(apply_batch(Graph(), passage_batch(first)), replace(more, nodes=new_nodes, revision=2))
    grown_index, reloaded_index = engram_index.engram_index(grown), engram_index.engram_index(reloaded)
    for column in ("rows", "mention_counts", "title_counts"):
        assert getattr(grown_index, column).tolist() == getattr(reloaded_index, column).tolist()
    assert grown_index.lengths == pytest.approx(reloaded_index.lengths, abs=1e-5)
    assert sorted(zip(grown_index.sources["at"], grown_index.sources["of"], strict=True)) == sorted(
        zip(reloaded_index.sources["at"], reloaded_index.sources["of"], strict=True)
    )


@pytest.mark.medium
@given(passages)
def test_vector_sums_do_not_depend_on_the_block_size(drawn_passages: list[Passage]) -> None:
    graph = graph_of(*drawn_passages)
    rows = engram_index.engram_index(graph).rows
    expected = entity_links.sum_vectors(graph, rows, graph.episodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entity_links, "BLOCK", 2)
        assert entity_links.sum_vectors(graph, rows, graph.episodes) == pytest.approx(expected, abs=1e-5)


def test_engram_similarity_uses_eligible_memories_only() -> None:
    """Only p1 mentions Mia, both mention Ana: without p1 Mia is unknown, and Ana has the vector of p0."""
    graph = graph_of((0, {"Ana"}, None), (90, {"Ana", "Mia"}, None))
    eligible: Mask = graph.episodes.copy()
    eligible[graph.row("p1")] = False
    similarities = engram_index.prepare_search(graph, eligible).similarities(
        engram_index.cosines(graph, unit_vector(90)[None, :])[0]
    )
    assert similarities == pytest.approx([0, 0])
    similarities = engram_index.prepare_search(graph, eligible).similarities(
        engram_index.cosines(graph, unit_vector(0)[None, :])[0]
    )
    # The cosine 1 of p0, divided by the agreement of Ana's memories: 2 / |v0 + v1| = 2 / sqrt 2, clipped to 1.
    assert similarities[place(graph, "Ana")] == 1
    assert similarities[place(graph, "Mia")] == 0
    assert entity_links.unit_vectors(graph, graph.rows([entity_id("Ana")]), eligible)[0] == pytest.approx(
        unit_vector(0)
    )


def test_cosines_of_one_and_several_vectors_agree() -> None:
    graph = graph_of((0, set(), None), (60, set(), None))
    several = engram_index.cosines(graph, np.stack([unit_vector(0), unit_vector(90)]))
    assert several == pytest.approx(np.array([[1, 0.5], [0, math.sqrt(0.75)]]), abs=1e-6)
    assert engram_index.cosines(graph, unit_vector(90)[None, :])[0] == pytest.approx(several[1], abs=1e-6)


# ---- the centroid, and active engrams


def test_centroid_equals_values_computed_by_hand() -> None:
    """(1·(1,0) + 3·(0,1)) / 4 = (.25, .75); the search uses its direction."""
    vectors = np.array([[1, 0], [0, 1]], np.float32)
    centroid = engram_search.centroid(vectors, np.array([1, 3], np.float32))
    assert centroid == pytest.approx([0.25, 0.75])
    assert engram_search.normalize(centroid) == pytest.approx(np.array([1, 3]) / math.sqrt(10))
    equal = engram_search.centroid(vectors, np.array([0.5, 0.5], np.float32))
    assert equal == pytest.approx([0.5, 0.5])


def test_centroid_with_zero_weights_has_no_direction() -> None:
    zero = engram_search.centroid(np.array([[1, 0]], np.float32), np.zeros(1, np.float32))
    assert zero.tolist() == [0, 0]
    assert engram_search.normalize(zero).tolist() == [0, 0]


def test_activation_raises_ranks_and_keeps_the_others() -> None:
    active = engram_search.ActiveEngrams.empty(np.array([0.9, 0.4, 0.1, 0.0], np.float32)).activate(np.array([0]))
    active = active.activate(np.array([0, 1, 2]), parent=7, strengths=np.array([0.5, 0.2, 0.6], np.float32))
    assert active.is_active.tolist() == [True, True, True, False]
    assert active.ranks == pytest.approx([0.9, 0.4, 0.6, 0.0])
    assert active.parent.tolist() == [-1, 7, 7, -1]
    assert active.top(2).tolist() == [0, 2]
    assert active.nearest_inactive(np.array([1, 1, 1, 0.3], np.float32), 5).tolist() == [3]
    assert (
        engram_search.ActiveEngrams.empty(np.zeros(3, np.float32)).activate(np.array([0, 1, 2])).top(3).tolist() == []
    )


# ---- cues


def match(graph: Graph, query: Query, *, use_specificity: bool = False) -> cue_matching.CueMatches:
    search = engram_index.prepare_search(graph, graph.episodes)
    return cue_matching.match_cues(
        graph, query, search, graph.episodes, name_weight=1.0, question_weight=0.7, use_specificity=use_specificity
    )


def test_engram_score_is_the_best_over_the_cues() -> None:
    """Ana at 0°, Ben at 90°, Mia at 60°; the question at 90° names Ana: .7 · cos 30° beats 1 · cos 60° for Mia."""
    graph = graph_of((0, {"Ana"}, None), (90, {"Ben"}, None), (60, {"Mia"}, None))
    found = match(graph, query_of(graph, 90, "Ana", "Nobody"))
    scores = {name: found.scores[place(graph, name)] for name in ("Ana", "Ben", "Mia")}
    assert scores == pytest.approx({"Ana": 1, "Ben": 0.7, "Mia": 0.7 * math.sqrt(0.75)}, abs=1e-5)
    assert found.name_places.tolist() == [place(graph, "Ana")]
    assert found.question_similarity[place(graph, "Ben")] == pytest.approx(1)
    assert found.memory_cosine == pytest.approx([0, 1, math.sqrt(0.75), 0, 0, 0], abs=1e-5)


def test_named_engram_without_a_vector_is_active() -> None:
    graph = graph_of((None, {"Ana"}, None), (None, {"Ben"}, None))
    assert match(graph, query_of(graph, None, "Ana")).scores.tolist() == [1, 0]
    assert match(graph, query_of(graph, 0)).scores.tolist() == [0, 0]


def test_specificity_lowers_common_names() -> None:
    """Of 4 passages Ana is in 4 and Ben in 1: ln 2 / ln 5 against 1."""
    graph = graph_of(*[(10.0 * n, {"Ana"}, None) for n in range(3)], (150, {"Ana", "Ben"}, None))
    found = match(graph, query_of(graph, None, "Ana", "Ben"), use_specificity=True).scores
    assert found[place(graph, "Ben")] == pytest.approx(1)
    assert found[place(graph, "Ana")] == pytest.approx(math.log(2) / math.log(5), abs=1e-5)


def test_low_embedder_coverage_lowers_the_question_cue() -> None:
    graph = graph_of((0, {"Ana"}, None))
    assert match(graph, replace(query_of(graph, 0), embedder_coverage=0.5)).scores.tolist() == pytest.approx([0.35])


# ---- co-occurrence


def test_specificity_and_certainty_equal_values_computed_by_hand() -> None:
    graph = graph_of((0, {"Ana", "Ben"}, "Ana"), (0, {"Ben", "Mia"}, None), (0, set(), "Mia"), (0, set(), "Porto"))
    index = engram_index.engram_index(graph)
    assert engram_index.specificity(graph, np.array([1, 2, 4, 8])) == pytest.approx(
        [1, math.log(3) / math.log(5), math.log(2) / math.log(5), math.log(1.5) / math.log(5)]
    )
    certainty_by_name = dict(
        zip(("Ana", "Ben", "Mia", "Porto"), [0.75, 0.5, 0.75, 0.5], strict=True)
    )  # Porto: only a title
    places = np.array([place(graph, name) for name in certainty_by_name])
    assert engram_index.certainty(index, places).tolist() == list(certainty_by_name.values())


@pytest.mark.medium
@given(passages, st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=10, max_size=10))
def test_cooccurring_engrams_come_from_the_strongest_memory(
    drawn_passages: list[Passage], strengths: list[float]
) -> None:
    graph = graph_of(*drawn_passages)
    index, chosen = engram_index.engram_index(graph), np.arange(min(3, len(drawn_passages)))
    scores = graph.zeros()
    scores[: len(drawn_passages)] = strengths[: len(drawn_passages)]
    specificity = engram_index.specificity(graph, index.mention_counts)
    expected: dict[int, tuple[float, int]] = {}
    for row in chosen.tolist():
        for name in all_names(drawn_passages[row]):
            engram = place(graph, name)
            value = float(scores[row] * specificity[engram])
            if engram not in expected or value > expected[engram][0] + 1e-9:
                expected[engram] = (value, row)
    found = engram_search.co_occurring_engrams(graph, index, chosen, scores)
    assert found.places.tolist() == sorted(expected)
    assert found.strengths == pytest.approx([expected[engram][0] for engram in sorted(expected)])
    assert found.episodes.tolist() == [expected[engram][1] for engram in sorted(expected)]


@pytest.mark.medium
@given(passages, st.lists(st.sampled_from([0.1, 0.3, 0.6, 1.0]), min_size=5, max_size=5), st.booleans())
def test_memory_score_is_the_best_of_its_engrams(
    drawn_passages: list[Passage], values: list[float], use_specificity: bool
) -> None:
    graph = graph_of(*drawn_passages)
    index = engram_index.engram_index(graph)
    strengths = np.array(values[: len(index)], np.float32)
    found = chunk_search.best_mentions(graph, index, np.arange(len(index)), strengths, use_specificity=use_specificity)
    specificity = engram_index.specificity(graph, index.mention_counts)
    for row, (_, names, about) in enumerate(drawn_passages):
        values_of_names = [
            float(strengths[place(graph, name)] * (specificity[place(graph, name)] if use_specificity else 1))
            for name in names
        ]
        values_of_names += [float(strengths[place(graph, about)])] if about else []
        assert found.scores[row] == pytest.approx(max(values_of_names, default=0.0))
        assert (found.engram_rows[row] >= 0) == bool(values_of_names)
    assert not found.scores[len(drawn_passages) :].any()
