"""Stages of retrieval on random graphs, compared with reference implementations in plain loops."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.names.mentions import entity_id
from ecphora.language.terms import extract_terms
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Episode, Filter, Kind, Link, Node, Query, Scores, WriteBatch
from ecphora.retrieval import bm25, dense, entity_links, filters, fusion
from ecphora.retrieval.bm25 import WINDOW_SIZE, Postings, term_coverage
from ecphora.strategies.baselines import Bm25
from ecphora.strategies.fused import features
from ecphora.testing import sample_batch, sample_entity, sample_graph, sample_node, sample_query, sample_vector

VOCABULARY = ["river", "boat", "school", "lunch", "porto"]
NAMES = ["Ana", "Mia", "Porto"]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, list[Node], list[Edge]]:
    """Random turns in sessions, with the names they mention or are about."""
    turns = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6),
                st.sampled_from([None, "a", "b", "c"]),
                st.integers(0, 5),
                st.sets(st.sampled_from(NAMES)),
                st.sampled_from([None, *NAMES]),
            ),
            min_size=1,
            max_size=14,
        )
    )
    nodes = [
        sample_node(f"n{index}", " ".join(text), session=session, minutes=minutes)
        for index, (text, session, minutes, _, _) in enumerate(turns)
    ]
    mentions = [
        Edge(f"n{index}", entity_id(name), Link.MENTIONS)
        for index, turn in enumerate(turns)
        for name in sorted(turn[3])
    ]
    about = [Edge(f"n{index}", entity_id(turn[4]), Link.ABOUT) for index, turn in enumerate(turns) if turn[4]]
    batch = sample_batch(*nodes, *map(sample_entity, NAMES), edges=(*mentions, *about))
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(batch.nodes, 1))
    return apply_batch(Graph(), replace(batch, nodes=numbered, revision=1)), nodes, [*mentions, *about]


texts = st.lists(st.sampled_from([*VOCABULARY, "zorro"]), max_size=4).map(" ".join)
strengths = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.5, -0.5]), min_size=20, max_size=20)


def scored(graph: Graph, values: Sequence[float]) -> Scores:
    scores = graph.zeros()
    episodes = np.flatnonzero(graph.episodes)
    scores[episodes] = values[: len(episodes)]
    return scores


# ---- first stage


def bm25_by_hand(documents: list[list[str]], query: list[str], *, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Equation 3.15 of Robertson and Zaragoza, 2009, with a non-negative idf."""
    mean = max(1.0, sum(map(len, documents)) / len(documents))
    found = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for term in query:
            document_counts = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - document_counts + 0.5) / (document_counts + 0.5))
            score += idf * counts[term] * (k1 + 1) / (counts[term] + k1 * (1 - b + b * len(document) / mean))
        found.append(score)
    return found


@given(graphs(), texts)
def test_bm25_equals_the_reference(sample: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = sample
    expected = bm25_by_hand([extract_terms(node.text) for node in nodes], list(dict.fromkeys(extract_terms(text))))
    query = sample_query(text)
    assert bm25.bm25(graph, query) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)
    found = Bm25().activate(query, graph)
    assert found.eligible is not None
    assert found.scores[found.eligible] == pytest.approx(np.array(expected)[found.eligible[: len(expected)]], abs=1e-5)


@pytest.mark.medium
@given(graphs(), texts)
def test_bm25_with_previous_turn_equals_bm25_of_joined_turns(
    sample: tuple[Graph, list[Node], list[Edge]], text: str
) -> None:
    graph, nodes, _ = sample
    joined_terms = [
        extract_terms(node.text)
        + (extract_terms(nodes[graph.previous_rows[row]].text) if graph.previous_rows[row] >= 0 else [])
        for row, node in enumerate(nodes)
    ]
    expected = bm25_by_hand(joined_terms, list(dict.fromkeys(extract_terms(text))))
    assert bm25.bm25_with_previous_turn(graph, sample_query(text)) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)


def test_bm25_with_previous_turn_of_a_grown_graph_equals_bm25_of_joined_turns() -> None:
    turns = ["river boat", "boat", "river", "boat river"]
    nodes = [sample_node(f"n{n}", text, session="s", minutes=n, seq=n + 1) for n, text in enumerate(turns)]
    graph, query = apply_batch(Graph(), sample_batch(*nodes[:2], revision=1)), sample_query("boat river")
    bm25.bm25(graph, query)  # makes the index of terms, which the grown graph extends
    grown = apply_batch(graph, sample_batch(*nodes[2:], revision=2))
    joined = [extract_terms(" ".join(turns[max(0, n - 1) : n + 1])) for n in range(4)]
    assert bm25.bm25_with_previous_turn(grown, query) == pytest.approx(bm25_by_hand(joined, ["boat", "river"]))


@given(graphs(), texts)
def test_idf_coverage_equals_the_reference(sample: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = sample
    query = sample_query(text)
    query_terms = list(dict.fromkeys(extract_terms(text)))
    document_counts = {term: sum(term in extract_terms(node.text) for node in nodes) for term in query_terms}
    idf = {term: math.log(1 + (len(nodes) - n + 0.5) / (n + 0.5)) for term, n in document_counts.items()}
    total = sum(idf.values()) or 1
    expected = [sum(idf[term] for term in query_terms if term in extract_terms(node.text)) / total for node in nodes]
    assert bm25.idf_coverage(graph, query) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)
    assert bm25.max_score(graph, query) == pytest.approx((1.2 + 1) * sum(idf.values()), rel=1e-5)


def window_rows(graph: Graph, row: int) -> set[int]:
    rows = {row}
    for neighbor in (graph.previous_rows, graph.next_rows):
        step = row
        for _ in range(WINDOW_SIZE):
            step = int(neighbor[step]) if step >= 0 else -1
            rows.add(step)
    return rows - {-1}


@pytest.mark.medium
@given(graphs(), texts, st.sets(st.integers(0, 13)))
def test_term_coverage_equals_the_reference(
    sample: tuple[Graph, list[Node], list[Edge]], text: str, chosen: set[int]
) -> None:
    graph, nodes, _ = sample
    rows = np.array(sorted(row for row in chosen if row < len(nodes)), np.intp)
    query_terms, terms_of_rows = (
        list(dict.fromkeys(extract_terms(text))),
        [set(extract_terms(node.text)) for node in nodes],
    )
    found = term_coverage(Postings.for_query(graph, sample_query(text)), rows)
    in_row = [[term in terms_of_rows[row] for term in query_terms] for row in rows.tolist()]
    in_window = [
        [any(term in terms_of_rows[other] for other in window_rows(graph, row)) for term in query_terms]
        for row in rows.tolist()
    ]
    assert found.in_row.tolist() == in_row
    assert found.in_window.tolist() == in_window
    assert found.in_corpus.tolist() == [any(term in row_terms for row_terms in terms_of_rows) for term in query_terms]
    assert found.weighted_fraction(found.in_row) == pytest.approx(
        bm25.idf_coverage(graph, sample_query(text))[rows], abs=1e-5
    )


def test_bm25_equals_values_computed_by_hand() -> None:
    nodes = (sample_node("a", "river boat boat"), sample_node("b", "river"))
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    scores = bm25.bm25(graph, sample_query("boat"))
    # idf = ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2; tf = 2 · 2.2 / (2 + 1.2 (.25 + .75 · 3 / 2))
    assert scores == pytest.approx([math.log(2) * 4.4 / (2 + 1.2 * 1.375), 0])


@given(graphs(), texts)
def test_cosine_with_previous_turn_equals_the_reference(
    sample: tuple[Graph, list[Node], list[Edge]], text: str
) -> None:
    graph, nodes, _ = sample
    query = sample_query(text)
    assert query.vector is not None
    scores = dense.cosine(graph, query)
    expected = []
    for row, node in enumerate(nodes):
        vector = sample_vector(node.text)
        assert scores[row] == pytest.approx(vector @ query.vector, abs=1e-3)
        if (before := graph.previous_rows[row]) >= 0:
            vector = vector + 0.4 * sample_vector(nodes[before].text)
        expected.append(vector @ query.vector / np.linalg.norm(vector))
    assert dense.with_previous_turn(graph, scores)[: len(nodes)] == pytest.approx(expected, abs=2e-3)


def test_cosine_without_vector_is_zero() -> None:
    assert not dense.cosine(sample_graph(), sample_query("boat", vector=None)).any()
    assert dense.cosine(Graph(), sample_query("boat")).shape == (0,)


# ---- links


def reference_paths(
    graph: Graph, query: Query, scores: Scores, seeds: list[int], edges: list[Edge]
) -> tuple[list[float], ...]:
    about, shared = [0.0] * len(graph), [0.0] * len(graph)
    episodes = max(2, int(graph.episodes.sum()))
    for start in seeds:
        strength = min(1.0, max(0.0, float(scores[start])))
        names = [edge.dst for edge in edges if edge.src == graph.id(start) and edge.link is Link.MENTIONS]
        sharing = Counter[int]()
        for name in names:
            arriving = [edge for edge in edges if edge.dst == name]
            if name in query.entity_ids or len(arriving) > entity_links.MAX_MENTIONS:
                continue
            rarity = math.log(1 + episodes / len(arriving)) / math.log(1 + episodes)
            for edge in arriving:
                row = graph.row(edge.src)
                if row is None or row == start:
                    continue
                if edge.link is Link.ABOUT:
                    about[row] = max(about[row], strength)
                else:
                    sharing[row] += rarity * strength  # type: ignore[assignment]
        for row, sum_ in sharing.items():
            shared[row] = max(shared[row], sum_)
    return about, shared


@pytest.mark.medium
@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=1), st.integers(1, 8))
def test_follow_entities_equals_the_reference(
    sample: tuple[Graph, list[Node], list[Edge]], values: list[float], query_names: set[str], k: int
) -> None:
    graph, _, edges = sample
    scores = scored(graph, values)
    query = sample_query(" ".join(query_names))
    seeds = fusion.top_k(scores, k)
    paths = entity_links.follow_entities(graph, np.unique(graph.rows(query.entity_ids)), seeds, scores[seeds])
    for reached, expected in zip(paths, reference_paths(graph, query, scores, seeds.tolist(), edges), strict=True):
        assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
        assert np.isin(reached.parent, seeds).all()
        assert all(graph.id(via).startswith("entity:") for via in reached.via_entity)
        trail = reached.activation_path(graph)
        assert (
            np.flatnonzero(trail.parent >= 0).tolist()
            == np.flatnonzero(trail.via_entity >= 0).tolist()
            == reached.rows.tolist()
        )


def reference_mentions(
    graph: Graph, query_names: set[str], strengths: dict[int, float], edges: list[Edge]
) -> list[float]:
    strength_by_entity = dict.fromkeys((entity_id(name) for name in query_names), 1.0)
    for edge in edges:
        for row, strength in strengths.items():
            if edge.src == graph.id(row):
                strength_by_entity[edge.dst] = max(strength_by_entity.get(edge.dst, 0.0), min(1.0, max(0.0, strength)))
    found, episodes = [0.0] * len(graph), max(2, int(graph.episodes.sum()))
    for edge in edges:
        count = sum(other.dst == edge.dst for other in edges)
        rarity = math.log(1 + episodes / count) / math.log(1 + episodes)
        value = strength_by_entity.get(edge.dst, 0.0) * rarity * (1 if edge.link is Link.ABOUT else rarity)
        row = graph.rows([edge.src])[0]
        found[row] = max(found[row], value)
    return found


@pytest.mark.medium
@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=2), st.integers(1, 8))
def test_direct_mentions_equals_the_reference(
    sample: tuple[Graph, list[Node], list[Edge]], values: list[float], query_names: set[str], k: int
) -> None:
    graph, _, edges = sample
    scores = scored(graph, values)
    seeds = fusion.top_k(scores, k)
    reached = entity_links.direct_mentions(
        graph, np.unique(graph.rows(map(entity_id, sorted(query_names)))), seeds, scores[seeds]
    )
    expected = reference_mentions(graph, query_names, {row: float(scores[row]) for row in seeds.tolist()}, edges)
    assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
    assert (reached.strengths > 0).all()
    assert np.isin(reached.parent, [-1, *seeds]).all()


@pytest.mark.medium
@given(graphs(), st.sets(st.sampled_from(NAMES), max_size=3))
def test_entity_coverage_is_weighted_by_rarity(
    sample: tuple[Graph, list[Node], list[Edge]], query_names: set[str]
) -> None:
    graph, nodes, edges = sample
    episodes = max(2, len(nodes))
    mention_counts = {entity_id(name): sum(edge.dst == entity_id(name) for edge in edges) for name in query_names}
    rarity = {
        name: math.log(1 + episodes / max(1, count)) / math.log(1 + episodes) for name, count in mention_counts.items()
    }
    total = sum(rarity.values()) or 1
    expected = [
        sum(rarity.get(name, 0) for name in {edge.dst for edge in edges if edge.src == node.id}) / total
        for node in nodes
    ]
    rows = np.arange(len(nodes))
    found = entity_links.entity_coverage(
        graph, np.unique(graph.rows(mention_counts)), entity_links.entity_mentions(graph, rows), len(rows)
    )
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.medium
@given(graphs(), st.integers(0, 14))
def test_mention_counts_of_a_grown_graph_equal_those_of_a_rebuilt_one(
    sample: tuple[Graph, list[Node], list[Edge]], first: int
) -> None:
    full_graph, nodes, edges = sample
    names = [replace(sample_entity(name), seq=index) for index, name in enumerate(NAMES, 1)]
    numbered = [replace(node, seq=index) for index, node in enumerate(nodes, len(NAMES) + 1)]
    graph = apply_batch(Graph(), sample_batch(*names, revision=1))
    for revision, part in enumerate((numbered[:first], numbered[first:]), 2):
        new_ids = {node.id for node in part}
        graph = apply_batch(
            graph, sample_batch(*part, edges=tuple(e for e in edges if e.src in new_ids), revision=revision)
        )
        counts = entity_links.mention_counts(graph)
        assert counts.tolist() == entity_links.mention_counts(replace(graph, _parent=None)).tolist()
    assert [counts[row] for row in graph.rows(full_graph.nodes["ids"])] == entity_links.mention_counts(
        full_graph
    ).tolist()


def test_too_frequent_entity_is_not_followed() -> None:
    nodes = [sample_node(f"n{index}", "x", seq=index + 1) for index in range(entity_links.MAX_MENTIONS + 1)]
    edges = tuple(Edge(node.id, "entity:ana", Link.MENTIONS) for node in nodes)
    batch = sample_batch(*nodes, replace(sample_entity("Ana"), seq=len(nodes) + 1), edges=edges, revision=1)
    graph = apply_batch(Graph(), batch)
    seeds, no_rows, ones = np.array([0]), np.empty(0, np.intp), np.ones(1, np.float32)
    for reached in (
        *entity_links.follow_entities(graph, no_rows, seeds, ones),
        entity_links.direct_mentions(graph, no_rows, seeds, ones),
    ):
        assert not len(reached.rows)


def test_rows_about_are_those_with_the_title() -> None:
    graph = sample_graph()
    title_rows = [entity_links.rows_about(graph, graph.rows([entity_id(name)])) for name in ("Porto", "Zorro")]
    assert [[graph.id(row) for row in rows.tolist()] for rows in title_rows] == [["t5"], []]


# ---- session context


@given(graphs(), strengths)
def test_session_score_is_the_mean_of_the_best_three(
    sample: tuple[Graph, list[Node], list[Edge]], values: list[float]
) -> None:
    graph, nodes, _ = sample
    scores = scored(graph, values)
    expected = []
    for node in nodes:
        rows = [row for row, other in enumerate(nodes) if node.session and other.session == node.session]
        best = sorted((max(0.0, float(scores[row])) for row in rows), reverse=True)[:3]
        expected.append(sum(best) / 3)
    found = features.session_scores(graph, scores)
    assert found[graph.nodes["sessions"]] == pytest.approx([*expected, 0, 0, 0], abs=1e-6)
    assert found[-1] == 0


def test_session_score_leaves_out_all_but_the_best_three() -> None:
    nodes = [sample_node(f"n{number}", session="long") for number in range(6)]
    graph = apply_batch(Graph(), sample_batch(*nodes, revision=1))
    scores = np.array([4, 1, 6, 2, 5, 3], np.float32)
    assert features.session_scores(graph, scores).tolist() == [5, 0]


# ---- empty graphs


def test_stages_accept_empty_graphs() -> None:
    graph, query = Graph(), sample_query("river")
    assert bm25.bm25(graph, query).shape == bm25.bm25_with_previous_turn(graph, query).shape == (0,)
    assert features.session_scores(graph, graph.zeros()).tolist() == [0]
    assert fusion.top_rows(graph.zeros(), graph.episodes, 5).tolist() == []
    assert not filters.eligible(graph, replace(query, where=Filter(speakers=("Ana",)))).any()
    no_rows = np.empty(0, np.intp)
    about, sharing = entity_links.follow_entities(graph, no_rows, no_rows, graph.zeros())
    assert about.strengths_of(no_rows).shape == sharing.strengths_of(no_rows).shape == (0,)
    assert term_coverage(Postings.for_query(graph, query), no_rows).in_window.shape == (0, 1)
    assert WriteBatch() == WriteBatch()
    assert Episode("x") == Episode("x")
    assert len(graph.of_kind(Kind.CLAIM)) == 0
