"""Stages of retrieval on random graphs, each beside its readable twin: the same written as plain loops."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.language.terms import extract_terms
from ecphora.model import Edge, Episode, Filter, Kind, Link, Node, Query, Scores, WriteBatch
from ecphora.stages.fused import session_context
from ecphora.stages.retrieval import bm25, dense, entity_links, filters, top_k
from ecphora.stages.retrieval.bm25 import Postings
from ecphora.stages.retrieval.term_coverage import WINDOW_SIZE, term_coverage
from ecphora.testing import sample_batch, sample_entity, sample_graph, sample_node, sample_query, sample_vector

VOCABULARY = ["river", "boat", "school", "lunch", "porto"]
NAMES = ["Ana", "Mia", "Porto"]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, list[Node], list[Edge]]:
    """Random turns in sessions, with the names they mention or are about."""
    told = draw(
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
        sample_node(f"n{place}", " ".join(text), session=session, minutes=minutes)
        for place, (text, session, minutes, _, _) in enumerate(told)
    ]
    mentions = [
        Edge(f"n{place}", entity_id(name), Link.MENTIONS) for place, turn in enumerate(told) for name in sorted(turn[3])
    ]
    about = [Edge(f"n{place}", entity_id(turn[4]), Link.ABOUT) for place, turn in enumerate(told) if turn[4]]
    change = sample_batch(*nodes, *map(sample_entity, NAMES), edges=(*mentions, *about))
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(change.nodes, 1))
    return apply_batch(Graph(), replace(change, nodes=numbered, revision=1)), nodes, [*mentions, *about]


texts = st.lists(st.sampled_from([*VOCABULARY, "zorro"]), max_size=4).map(" ".join)
strengths = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.5, -0.5]), min_size=20, max_size=20)


def scored(graph: Graph, values: Sequence[float]) -> Scores:
    scores = graph.zeros()
    episodes = np.flatnonzero(graph.episodes)
    scores[episodes] = values[: len(episodes)]
    return scores


# ---- seed


def bm25_by_hand(documents: list[list[str]], query: list[str], *, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Equation 3.15 of Robertson and Zaragoza, 2009, with the idf that is never negative."""
    mean = max(1.0, sum(map(len, documents)) / len(documents))
    found = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for word in query:
            holding = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            score += idf * counts[word] * (k1 + 1) / (counts[word] + k1 * (1 - b + b * len(document) / mean))
        found.append(score)
    return found


@given(graphs(), texts)
def test_words_are_bm25(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    expected = bm25_by_hand([extract_terms(node.text) for node in nodes], list(dict.fromkeys(extract_terms(text))))
    assert bm25.bm25(graph, sample_query(text)) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)


@given(graphs(), texts)
def test_words_in_context_are_bm25_of_two_turns_as_one(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    together = [
        extract_terms(node.text)
        + (extract_terms(nodes[graph.previous_rows[row]].text) if graph.previous_rows[row] >= 0 else [])
        for row, node in enumerate(nodes)
    ]
    expected = bm25_by_hand(together, list(dict.fromkeys(extract_terms(text))))
    assert bm25.bm25_with_previous_turn(graph, sample_query(text)) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)


@given(graphs(), texts)
def test_covered_is_the_share_of_rarity(made: tuple[Graph, list[Node], list[Edge]], text: str) -> None:
    graph, nodes, _ = made
    cue = sample_query(text)
    asked = list(dict.fromkeys(extract_terms(text)))
    holding = {word: sum(word in extract_terms(node.text) for node in nodes) for word in asked}
    idf = {word: math.log(1 + (len(nodes) - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    whole = sum(idf.values()) or 1
    expected = [sum(idf[word] for word in asked if word in extract_terms(node.text)) / whole for node in nodes]
    assert bm25.idf_coverage(graph, cue) == pytest.approx([*expected, 0, 0, 0], abs=1e-5)
    assert bm25.bm25(graph, cue).max() <= bm25.max_score(graph, cue) + 1e-5


def around(graph: Graph, row: int) -> set[int]:
    rows = {row}
    for beside in (graph.previous_rows, graph.next_rows):
        step = row
        for _ in range(WINDOW_SIZE):
            step = int(beside[step]) if step >= 0 else -1
            rows.add(step)
    return rows - {-1}


@given(graphs(), texts, st.sets(st.integers(0, 13)))
def test_what_rows_and_those_around_them_hold(
    made: tuple[Graph, list[Node], list[Edge]], text: str, some: set[int]
) -> None:
    graph, nodes, _ = made
    rows = np.array(sorted(row for row in some if row < len(nodes)), np.intp)
    asked, held = list(dict.fromkeys(extract_terms(text))), [set(extract_terms(node.text)) for node in nodes]
    found = term_coverage(Postings.for_query(graph, sample_query(text)), rows)
    own = [[word in held[row] for word in asked] for row in rows.tolist()]
    near = [[any(word in held[other] for other in around(graph, row)) for word in asked] for row in rows.tolist()]
    assert found.in_row.tolist() == own
    assert found.in_window.tolist() == near
    assert found.in_corpus.tolist() == [any(word in one for one in held) for word in asked]
    assert found.weighted_fraction(found.in_row) == pytest.approx(
        bm25.idf_coverage(graph, sample_query(text))[rows], abs=1e-5
    )


def test_bm25_by_hand() -> None:
    nodes = (sample_node("a", "river boat boat"), sample_node("b", "river"))
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    scores = bm25.bm25(graph, sample_query("boat"))
    # idf = ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2; tf = 2 · 2.2 / (2 + 1.2 (.25 + .75 · 3 / 2))
    assert scores == pytest.approx([math.log(2) * 4.4 / (2 + 1.2 * 1.375), 0])


@given(graphs(), texts)
def test_the_context_score_is_the_cosine_with_the_context_vector(
    made: tuple[Graph, list[Node], list[Edge]], text: str
) -> None:
    graph, nodes, _ = made
    cue = sample_query(text)
    assert cue.vector is not None
    scores = dense.cosine(graph, cue)
    expected = []
    for row, node in enumerate(nodes):
        vector = sample_vector(node.text)
        assert scores[row] == pytest.approx(vector @ cue.vector, abs=1e-3)
        if (before := graph.previous_rows[row]) >= 0:
            vector = vector + 0.4 * sample_vector(nodes[before].text)
        expected.append(vector @ cue.vector / np.linalg.norm(vector))
    assert dense.with_previous_turn(graph, scores)[: len(nodes)] == pytest.approx(expected, abs=2e-3)


def test_no_vector_means_no_meaning() -> None:
    assert not dense.cosine(sample_graph(), sample_query("boat", vector=None)).any()
    assert dense.cosine(Graph(), sample_query("boat")).shape == (0,)


# ---- links


def followed(graph: Graph, cue: Query, scores: Scores, seeds: list[int], edges: list[Edge]) -> tuple[list[float], ...]:
    about, shared = [0.0] * len(graph), [0.0] * len(graph)
    episodes = max(2, int(graph.episodes.sum()))
    for start in seeds:
        strength = min(1.0, max(0.0, float(scores[start])))
        names = [edge.dst for edge in edges if edge.src == graph.id(start) and edge.link is Link.MENTIONS]
        sharing = Counter[int]()
        for name in names:
            arriving = [edge for edge in edges if edge.dst == name]
            if name in cue.entity_ids or len(arriving) > entity_links.MAX_MENTIONS:
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


@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=1), st.integers(1, 8))
def test_links_are_followed(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float], asked: set[str], k: int
) -> None:
    graph, _, edges = made
    scores = scored(graph, values)
    cue = sample_query(" ".join(asked))
    seeds = top_k.top_k(scores, k)
    ways = entity_links.follow_entities(graph, np.unique(graph.rows(cue.entity_ids)), seeds, scores[seeds])
    for reached, expected in zip(ways, followed(graph, cue, scores, seeds.tolist(), edges), strict=True):
        assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
        assert np.isin(reached.parent, seeds).all()
        assert all(graph.id(via).startswith("entity:") for via in reached.via_entity)
        trail = reached.activation_path(graph)
        assert (
            np.flatnonzero(trail.parent >= 0).tolist()
            == np.flatnonzero(trail.via_entity >= 0).tolist()
            == reached.rows.tolist()
        )


def met(graph: Graph, asked: set[str], strengths: dict[int, float], edges: list[Edge]) -> list[float]:
    worth = dict.fromkeys((entity_id(name) for name in asked), 1.0)
    for edge in edges:
        for row, strength in strengths.items():
            if edge.src == graph.id(row):
                worth[edge.dst] = max(worth.get(edge.dst, 0.0), min(1.0, max(0.0, strength)))
    found, episodes = [0.0] * len(graph), max(2, int(graph.episodes.sum()))
    for edge in edges:
        fan = sum(other.dst == edge.dst for other in edges)
        rarity = math.log(1 + episodes / fan) / math.log(1 + episodes)
        value = worth.get(edge.dst, 0.0) * rarity * (1 if edge.link is Link.ABOUT else rarity)
        row = graph.rows([edge.src])[0]
        found[row] = max(found[row], value)
    return found


@given(graphs(), strengths, st.sets(st.sampled_from(NAMES), max_size=2), st.integers(1, 8))
def test_names_are_met(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float], asked: set[str], k: int
) -> None:
    graph, _, edges = made
    scores = scored(graph, values)
    seeds = top_k.top_k(scores, k)
    reached = entity_links.direct_mentions(
        graph, np.unique(graph.rows(map(entity_id, sorted(asked)))), seeds, scores[seeds]
    )
    expected = met(graph, asked, {row: float(scores[row]) for row in seeds.tolist()}, edges)
    assert reached.strengths_of(np.arange(len(graph))) == pytest.approx(expected, abs=1e-5)
    assert (reached.strengths > 0).all()
    assert np.isin(reached.parent, [-1, *seeds]).all()


@given(graphs(), st.sets(st.sampled_from(NAMES), max_size=3))
def test_the_names_asked_count_by_their_rarity(made: tuple[Graph, list[Node], list[Edge]], asked: set[str]) -> None:
    graph, nodes, edges = made
    episodes = max(2, len(nodes))
    fans = {entity_id(name): sum(edge.dst == entity_id(name) for edge in edges) for name in asked}
    rarity = {name: math.log(1 + episodes / max(1, fan)) / math.log(1 + episodes) for name, fan in fans.items()}
    whole = sum(rarity.values()) or 1
    expected = [
        sum(rarity.get(name, 0) for name in {edge.dst for edge in edges if edge.src == node.id}) / whole
        for node in nodes
    ]
    rows = np.arange(len(nodes))
    found = entity_links.entity_coverage(
        graph, np.unique(graph.rows(fans)), entity_links.entity_mentions(graph, rows), len(rows)
    )
    assert found == pytest.approx(expected, abs=1e-5)


@given(graphs(), st.integers(0, 14))
def test_links_are_counted_on_as_a_graph_grows(made: tuple[Graph, list[Node], list[Edge]], first: int) -> None:
    whole, nodes, edges = made
    names = [replace(sample_entity(name), seq=place) for place, name in enumerate(NAMES, 1)]
    numbered = [replace(node, seq=place) for place, node in enumerate(nodes, len(NAMES) + 1)]
    graph = apply_batch(Graph(), sample_batch(*names, revision=1))
    for revision, part in enumerate((numbered[:first], numbered[first:]), 2):
        told = {node.id for node in part}
        graph = apply_batch(
            graph, sample_batch(*part, edges=tuple(e for e in edges if e.src in told), revision=revision)
        )
        counted = entity_links.mention_counts(graph)
        assert counted.tolist() == entity_links.mention_counts(replace(graph, _parent=None)).tolist()
    assert [counted[row] for row in graph.rows(whole.nodes["ids"])] == entity_links.mention_counts(whole).tolist()


def test_a_name_that_everything_mentions_leads_nowhere() -> None:
    nodes = [sample_node(f"n{place}", "x", seq=place + 1) for place in range(entity_links.MAX_MENTIONS + 1)]
    edges = tuple(Edge(node.id, "entity:ana", Link.MENTIONS) for node in nodes)
    change = sample_batch(*nodes, replace(sample_entity("Ana"), seq=len(nodes) + 1), edges=edges, revision=1)
    graph = apply_batch(Graph(), change)
    seeds, nothing, one = np.array([0]), np.empty(0, np.intp), np.ones(1, np.float32)
    for way in (
        *entity_links.follow_entities(graph, nothing, seeds, one),
        entity_links.direct_mentions(graph, nothing, seeds, one),
    ):
        assert not len(way.rows)


def test_titles_in_the_cue() -> None:
    graph = sample_graph()
    titled = [entity_links.rows_about(graph, graph.rows([entity_id(name)])) for name in ("Porto", "Zorro")]
    assert [[graph.id(row) for row in rows.tolist()] for rows in titled] == [["t5"], []]


# ---- company


@given(graphs(), strengths)
def test_a_session_is_as_good_as_its_best_three(
    made: tuple[Graph, list[Node], list[Edge]], values: list[float]
) -> None:
    graph, nodes, _ = made
    scores = scored(graph, values)
    expected = []
    for node in nodes:
        rows = [row for row, other in enumerate(nodes) if node.session and other.session == node.session]
        best = sorted((max(0.0, float(scores[row])) for row in rows), reverse=True)[:3]
        expected.append(sum(best) / 3)
    found = session_context.session_scores(graph, scores)
    assert found[graph.nodes["sessions"]] == pytest.approx([*expected, 0, 0, 0], abs=1e-6)
    assert found[-1] == 0


# ---- nothing


def test_nothing_is_no_accident() -> None:
    graph, cue = Graph(), sample_query("river")
    assert bm25.bm25(graph, cue).shape == bm25.bm25_with_previous_turn(graph, cue).shape == (0,)
    assert session_context.session_scores(graph, graph.zeros()).tolist() == [0]
    assert top_k.top_rows(graph.zeros(), graph.episodes, 5).tolist() == []
    assert not filters.eligible(graph, replace(cue, where=Filter(speakers=("Ana",)))).any()
    nothing = np.empty(0, np.intp)
    about, sharing = entity_links.follow_entities(graph, nothing, nothing, graph.zeros())
    assert about.strengths_of(nothing).shape == sharing.strengths_of(nothing).shape == (0,)
    assert term_coverage(Postings.for_query(graph, cue), nothing).in_window.shape == (0, 1)
    assert WriteBatch() == WriteBatch()
    assert Episode("x") == Episode("x")
    assert len(graph.of_kind(Kind.CLAIM)) == 0
