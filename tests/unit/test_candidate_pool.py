"""The pool, compared with a reference that follows entities from all rows and scores every row."""

import random
from dataclasses import replace
from datetime import timedelta
from functools import cache

import numpy as np
import pytest

from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Filter, Interval, Link, Query, Rows, Scores
from ecphora.retrieval import dense, entity_links, filters, fusion
from ecphora.retrieval.bm25 import Postings
from ecphora.retrieval.entity_links import ReachedRows
from ecphora.strategies.fused import candidate_pool, features
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node, sample_query
from ecphora.testing.samples import sample_english_vector

pytestmark = pytest.mark.medium

WORDS = [first + second for first in ("ri", "bo", "scho", "lun", "por", "gar", "mil") for second in ("ver", "at", "ol")]
NAMES = [f"{first}{second}" for first in ("An", "Mi", "Bo", "Zo", "Ru", "Li") for second in ("a", "na", "ko", "mel")]
TURNS = 600


@cache
def talk_graph(seed: int) -> Graph:
    """Turns in sessions, and passages with titles, that mention names of different frequency."""
    dice = random.Random(seed)  # noqa: S311  # not for secrets
    nodes, edges = [], []
    for index in range(TURNS):
        is_passage = dice.random() < 0.2
        text = " ".join(dice.choices(WORDS, weights=range(1, len(WORDS) + 1), k=dice.randint(2, 9)))
        speaker, session = (None, None) if is_passage else (dice.choice(NAMES[:2]), f"s{index // 12}")
        nodes.append(
            sample_node(f"n{index}", text, speaker=speaker, session=session, minutes=index, seq=index + len(NAMES) + 1)
        )
        mentioned = set(dice.choices(NAMES, weights=[1 / rank for rank in range(1, len(NAMES) + 1)], k=2))
        edges += [Edge(f"n{index}", entity_id(name), Link.MENTIONS) for name in sorted(mentioned)]
        if is_passage:
            edges.append(Edge(f"n{index}", entity_id(dice.choice(NAMES)), Link.ABOUT))
    names = [replace(sample_entity(name), seq=index) for index, name in enumerate(NAMES, 1)]
    return apply_batch(
        Graph(), sample_batch(*names, *nodes, edges=tuple(edges), without_vectors=("n7", "n8"), revision=1)
    )


def sample_queries() -> list[Query]:
    """Queries with and without names, vectors and filters."""
    dice, found = random.Random(5), []  # noqa: S311  # not for secrets
    late = Interval(NOON + timedelta(minutes=300), NOON + timedelta(minutes=400))
    for index in range(16):
        text = " ".join([*dice.choices(NAMES, k=index % 3), *dice.choices(WORDS, k=3)])
        filters_by_turn = (
            Filter(),
            Filter(sessions=("s1", "s2", "s9")),
            Filter(after=NOON + timedelta(minutes=200)),
            Filter(speakers="x"),
        )
        found.append(
            sample_query(text, where=filters_by_turn[index % 4], time_ranges=(late,) if index % 5 == 0 else ())
        )
    return [
        *found,
        *(replace(query, vector=None) for query in found[:6]),
        *(replace(query, embedder_coverage=0.3) for query in found[:6]),
        *(replace(query, english_vector=sample_english_vector(query.text[::-1])) for query in found[:6]),
    ]


def reference_pool(graph: Graph, query: Query) -> tuple[Rows, list[Scores]]:
    """The rows of the pool, and the strength of each entity path at all rows."""
    all_rows, queried_rows = np.arange(len(graph)), np.unique(graph.rows(query.entity_ids))
    allowed = filters.eligible(graph, query)
    direct = candidate_pool.first_stage(graph, query, allowed, Postings.for_query(graph, query))
    title_scores: Scores = (np.isin(all_rows, entity_links.rows_about(graph, queried_rows)) & allowed).astype(
        np.float32
    )
    reached: Scores = (direct.combined + candidate_pool.TITLE_BOOST * title_scores).astype(np.float32)
    seeds = fusion.top_rows(reached, allowed, entity_links.MAX_SEEDS)
    title_paths, sharing = entity_links.follow_entities(graph, queried_rows, seeds, reached[seeds])
    first = fusion.top_rows(reached, allowed, candidate_pool.HOP_SEEDS)
    first_hop = entity_links.direct_mentions(graph, queried_rows, first, reached[first])
    after_first_hop = fusion.max_normalize((reached + first_hop.strengths_of(all_rows)) * allowed)
    second = fusion.top_rows(after_first_hop, allowed, candidate_pool.HOP_SEEDS)
    second_hop = entity_links.direct_mentions(graph, queried_rows, second, after_first_hop[second])
    best = fusion.top_k(np.where(allowed, direct.combined, -1), candidate_pool.POOL_SIZE)
    adjacent = [
        int(other[row])
        for row in best[: candidate_pool.MAX_PER_SOURCE]
        for other in (graph.previous_rows, graph.next_rows)
    ]
    strengths = [reached.strengths_of(all_rows) for reached in (title_paths, sharing, first_hop, second_hop)]
    found = {*best.tolist(), *adjacent} - {-1}
    english = (
        graph.zeros()
        if query.english_vector is None
        else dense.cosine_with(graph, query.english_vector, use_english=True)
    )
    for scores in (direct.cosine.scores, direct.bm25.scores, english, title_scores, *strengths):
        found |= set(fusion.top_rows(scores, allowed, candidate_pool.MAX_PER_SOURCE).tolist())
    return np.array([row for row in sorted(found) if allowed[row]], np.intp), strengths


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_pool_equals_the_reference_over_all_rows(seed: int) -> None:
    graph, restricted = talk_graph(seed), 0
    for query in sample_queries():
        pool = candidate_pool.build_pool(graph, query)
        rows, strengths = reference_pool(graph, query)
        assert pool.rows.tolist() == rows.tolist()
        for reached, expected in zip(
            (pool.title_links, pool.shared_entities, pool.one_hop, pool.two_hop), strengths, strict=True
        ):
            assert reached.strengths_of(rows) == pytest.approx(expected[rows], abs=1e-6)
        restricted += len(rows) < int(pool.eligible.sum())
    assert restricted > 5  # for many queries the pool has not all eligible rows


def test_pool_of_a_grown_graph_equals_a_rebuilt_one() -> None:
    graph, queries = talk_graph(2), sample_queries()
    for query in queries[:3]:
        candidate_pool.build_pool(graph, query)  # its lookups are cached for the graph that grows from this one
    nodes = [sample_node(f"m{index}", text, minutes=TURNS + index, session="s49", seq=2 * TURNS + index)
             for index, text in enumerate(("river", "boat river river", "porol garat"))]  # fmt: skip
    links_ = (Edge("m1", entity_id("Ana"), Link.MENTIONS), Edge("m2", entity_id("Ana"), Link.ABOUT))
    grown = apply_batch(graph, sample_batch(*nodes, edges=links_, revision=2))
    for query in queries:
        found, rebuilt = (
            candidate_pool.build_pool(grown, query),
            candidate_pool.build_pool(replace(grown, _parent=None), query),
        )
        assert found.rows.tolist() == rebuilt.rows.tolist()
        expected = features.compute_features(rebuilt)
        for name, values in features.compute_features(found).items():
            assert np.allclose(values, expected[name], atol=1e-5), name


def test_turn_before_the_best_is_in_the_pool_if_it_is_the_very_first() -> None:
    nodes = [sample_node(f"t{n}", f"{n}th barrel", minutes=n, session="s", seq=n + 1) for n in range(600)]
    vectors = {node.id: np.array([0.1, 1.0 - n / 1000], np.float32) for n, node in enumerate(nodes)}
    vectors |= {"t0": np.array([-1, 0], np.float32), "t1": np.array([1, 0], np.float32)}
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, vectors=vectors), revision=1))
    pool = candidate_pool.build_pool(graph, sample_query("canoe", vector=np.array([1, 0], np.float32)))
    assert len(pool.rows) < len(nodes)
    assert {0, 1, 2} <= {*pool.rows.tolist()}


def test_best_by_english_vectors_are_in_the_pool() -> None:
    """The 40 best by English vectors, among hundreds that are better by the other vectors and by BM25."""
    nodes = [sample_node(f"t{n}", f"barrel {n}", minutes=n, seq=n + 1) for n in range(600)]
    far, near = np.array([-1, 0], np.float32), np.array([1, 0], np.float32)
    english = {f"t{n}": np.array([n / 600, 0.1], np.float32) for n in range(590)}  # the last ten are not English
    vectors = {node.id: near if n < 500 else far for n, node in enumerate(nodes)}
    batch = sample_batch(*nodes, vectors=vectors, english_vectors=english)
    graph = apply_batch(Graph(), replace(batch, revision=1))
    query = sample_query("barrel 4", vector=near)
    rows = {*candidate_pool.build_pool(graph, replace(query, english_vector=near)).rows.tolist()}
    best = {*range(590 - candidate_pool.MAX_PER_SOURCE, 590)}
    assert best <= rows
    assert not {540, *range(590, 600)} & rows
    assert not best & {*candidate_pool.build_pool(graph, query).rows.tolist()}
    late = Filter(before=NOON + timedelta(minutes=570))
    kept = {*candidate_pool.build_pool(graph, replace(query, english_vector=near, where=late)).rows.tolist()}
    assert max(kept) == 569


def test_english_scores_are_over_the_memories_with_an_english_vector() -> None:
    nodes = [sample_node(name, name, minutes=n, seq=n + 1) for n, name in enumerate("abcd")]
    english = {"a": np.array([0.2, 0], np.float32), "b": np.array([0.6, 0], np.float32)}
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, english_vectors=english), revision=1))
    query = sample_query("what", english_vector=np.array([1, 0], np.float32), similarity_floor=0.5)
    found = candidate_pool.build_pool(graph, query).first_stage.english_cosine
    assert found is not None
    assert found.scores.tolist() == pytest.approx([0.2, 0.6, 0, 0])  # the floor is that of the other vectors
    assert (found.mean, found.std, found.maximum) == pytest.approx((0.4, 0.2, 0.6))
    assert candidate_pool.build_pool(graph, replace(query, english_vector=None)).first_stage.english_cosine is None


def test_similarity_to_top_candidates_equals_cosines() -> None:
    graph = talk_graph(0)
    for query in sample_queries():
        pool = candidate_pool.build_pool(graph, query)
        for index, leader in enumerate(pool.top_candidates.tolist()):
            leader_position = graph.vector_positions[pool.rows[leader]]
            for candidate in (0, len(pool.rows) // 2, leader):
                position = graph.vector_positions[pool.rows[candidate]]
                vectors = graph.vectors.view
                expected = (
                    0.0
                    if candidate == leader or min(position, leader_position) < 0
                    else float(vectors[position] @ vectors[leader_position])
                )
                assert pool.similarity_to_top[candidate, index] == pytest.approx(
                    query.embedder_coverage * expected, abs=1e-5
                )


def test_features_of_the_pool_equal_those_over_all_rows() -> None:
    graph = talk_graph(1)
    for query in sample_queries():
        pool = candidate_pool.build_pool(graph, query)
        columns = features.compute_features(pool)
        measured = {
            "dense similarity": pool.first_stage.cosine,
            "dense similarity with previous turn": pool.first_stage.cosine_with_previous,
            "bm25": pool.first_stage.bm25,
        }
        for name, scores in measured.items():
            expected = fusion.max_normalize(scores.scores * pool.eligible)[pool.rows]
            if query.embedder_coverage == 1 or name == "bm25":
                assert columns[name] == pytest.approx(expected, abs=1e-6)
        shared = pool.shared_entities.strengths_of(np.arange(len(graph))) * pool.eligible
        assert columns["shared entities"] == pytest.approx(
            query.embedder_coverage * fusion.max_normalize(shared)[pool.rows], abs=1e-6
        )


def test_centroid_is_of_three_and_the_residual_beside_eight() -> None:
    """Computed from the vectors, where the features take the cosines; these have the precision of 16 bits."""
    graph, query = talk_graph(0), sample_queries()[0]
    assert query.vector is not None
    pool = candidate_pool.build_pool(graph, query)
    positions, best = graph.vector_positions[pool.rows], pool.top_candidates
    vectors = np.where(positions[:, None] >= 0, graph.vectors.view[positions], 0)
    mean = pool.scores[best[:3]] @ vectors[best[:3]]
    residual = np.zeros(len(vectors))
    for leader in best[:8].tolist():
        cosine = vectors[leader] @ query.vector
        rest = (query.vector - cosine * vectors[leader]) / np.sqrt(1 - cosine**2)
        is_other = np.arange(len(vectors)) != leader
        residual = np.maximum(residual, vectors @ rest * is_other * pool.scores[leader])
    found = features.centroid_features(pool)
    assert found["centroid similarity"] == pytest.approx(vectors @ mean / np.linalg.norm(mean), abs=1e-3)
    assert found["residual similarity"] == pytest.approx(residual, abs=1e-3)


def test_reached_rows_may_be_empty() -> None:
    no_rows = np.empty(0, np.intp)
    reached = ReachedRows(no_rows, np.empty(0, np.float32), no_rows, no_rows)
    assert reached.strengths_of(np.array([0, 3])).tolist() == [0, 0]
    assert reached.activation_path(talk_graph(0)).parent.max() == -1
