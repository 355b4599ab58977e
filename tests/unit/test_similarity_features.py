"""Features of similarity: by English vectors for English questions and texts, by the scope's own for all others."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Filter, Query, Vector
from ecphora.strategies.fused import features
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.features import compute_features
from ecphora.testing.samples import sample_batch, sample_graph, sample_node, sample_query

ALONE, TOGETHER = "similarity", "similarity with previous turn"
ENGLISH, ENGLISH_TOGETHER = f"English {ALONE}", f"English {TOGETHER}"


def vector(cosine: float) -> Vector:
    """A unit vector with a cosine to that of :func:`question`."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)


def build_graph(
    cosines: Sequence[float],
    english: Sequence[float | None] = (),
    texts: Sequence[str] = (),
    session: str | None = None,
) -> Graph:
    """Memories with these cosines to the question by the scope's vectors and by English vectors, or without any."""
    nodes = [
        sample_node(f"n{place}", texts[place] if texts else "", minutes=place, seq=place + 1, session=session)
        for place in range(len(cosines))
    ]
    batch = sample_batch(
        *nodes,
        vectors={node.id: vector(one) for node, one in zip(nodes, cosines, strict=True)},
        english_vectors={node.id: vector(one) for node, one in zip(nodes, english, strict=False) if one is not None},
    )
    return apply_batch(Graph(), replace(batch, revision=1))


def question(text: str = "Where?", *, is_english: bool = True) -> Query:
    query = sample_query(text, vector=vector(1.0))
    return replace(query, english_vector=vector(1.0) if is_english else None)


def values(graph: Graph, query: Query) -> dict[str, list[float]]:
    found = features.similarity_features(build_pool(graph, query))
    assert all(one.dtype == np.float32 for one in found.values())
    return {name: one.astype(float).tolist() for name, one in found.items()}


def deviations(*numbers: float) -> list[float]:
    array = np.array(numbers)
    return ((array - array.mean()) / array.std()).tolist()


def test_english_texts_are_compared_with_an_english_question_by_english_vectors() -> None:
    found = values(build_graph([0.9, 0.1, 0.5], [0.2, 0.4, 0.9]), question())
    assert found[ENGLISH] == pytest.approx(deviations(0.2, 0.4, 0.9), abs=1e-4)
    assert found[ALONE] == found[TOGETHER] == [0, 0, 0]


def test_question_that_is_not_english_is_compared_by_the_vectors_of_the_scope() -> None:
    found = values(build_graph([0.9, 0.1, 0.5], [0.2, 0.4, 0.9]), question(is_english=False))
    assert found[ALONE] == pytest.approx(deviations(0.9, 0.1, 0.5), abs=1e-4)
    assert found[ENGLISH] == found[ENGLISH_TOGETHER] == [0, 0, 0]


def test_texts_that_are_not_english_have_the_similarity_of_the_scope() -> None:
    """In a scope of several languages each has its deviation from the texts that are compared alike."""
    found = values(build_graph([0.9, 0.1, 0.5, 0.3], [0.2, None, 0.6, None]), question())
    own = deviations(0.9, 0.1, 0.5, 0.3)
    assert found[ALONE] == pytest.approx([0, own[1], 0, own[3]], abs=1e-4)
    assert found[ENGLISH] == pytest.approx([-1, 0, 1, 0], abs=1e-4)
    assert [bool(one) for one in found[ENGLISH_TOGETHER]] == [True, False, True, False]
    assert [bool(one) for one in found[TOGETHER]] == [False, True, False, True]


def test_similarity_with_the_previous_turn_is_of_the_vector_of_both() -> None:
    """The third turn follows the one that is most similar."""
    cosines = [0.1, 0.9, 0.1, 0.1]
    graph, apart = build_graph(cosines, cosines, session="s"), build_graph(cosines, cosines)
    for is_english, alone, together in ((True, ENGLISH, ENGLISH_TOGETHER), (False, ALONE, TOGETHER)):
        found = values(graph, question(is_english=is_english))
        assert found[alone][2] == pytest.approx(found[alone][3])
        assert found[together][2] > found[together][3] + 0.5
        loose = values(apart, question(is_english=is_english))
        assert loose[together] == pytest.approx(loose[alone], abs=1e-4)


def test_deviations_are_of_the_scope_and_not_of_what_a_filter_leaves() -> None:
    graph = build_graph([0.9, 0.1, 0.5], [0.2, 0.4, 0.9])
    filtered = replace(question(), where=Filter(before=sample_node("n", minutes=2).happened_at))
    assert values(graph, filtered)[ENGLISH] == pytest.approx(deviations(0.2, 0.4, 0.9)[:2], abs=1e-4)


def test_bm25_stands_in_where_the_embedder_does_not_read_the_question() -> None:
    texts = ["fjord boat", "fjord fjord boat boat", "garden", "house"]
    graph = build_graph([0.9, 0.1, 0.5, 0.3], texts=texts)
    query = replace(question("fjord boat", is_english=False), term_hashes=sample_query("fjord boat").term_hashes)
    none = values(graph, replace(query, embedder_coverage=0.0))[ALONE]
    pool = build_pool(graph, query)
    assert none == pytest.approx(pool.first_stage.bm25.standardize(pool.rows).tolist())
    assert min(none[:2]) > 0 > max(none[2:])
    half = values(graph, replace(query, embedder_coverage=0.5))[ALONE]
    full = values(graph, query)[ALONE]
    assert half == pytest.approx([(one + other) / 2 for one, other in zip(none, full, strict=True)], abs=1e-4)


def test_bm25_stands_in_for_a_text_without_a_vector() -> None:
    """As one whose vector is damaged: it is found by its words."""
    nodes = [sample_node(text, text, minutes=n, seq=n + 1) for n, text in enumerate(("fjord", "house", "garden"))]
    batch = sample_batch(*nodes, vectors={"house": vector(0.9), "garden": vector(0.1)}, english_vectors={})
    graph = apply_batch(Graph(), replace(batch, revision=1))
    query = replace(question("fjord"), term_hashes=sample_query("fjord").term_hashes)
    found, pool = values(graph, query), build_pool(graph, query)
    assert found[ALONE][0] == pytest.approx(pool.first_stage.bm25.standardize(pool.rows)[0], abs=1e-4)
    assert found[ALONE][0] > 1
    assert found[ALONE][1:] == pytest.approx(pool.first_stage.cosine.standardize(pool.rows)[1:].tolist(), abs=1e-4)


def test_english_vectors_need_no_coverage() -> None:
    graph = build_graph([0.9, 0.1, 0.5], [0.2, 0.4, 0.9])
    assert values(graph, replace(question(), embedder_coverage=0.0))[ENGLISH] == values(graph, question())[ENGLISH]


def test_deviations_are_cut() -> None:
    one_close = values(build_graph([0.0] * 199 + [1.0], [0.0] * 199 + [1.0]), question())
    assert max(one_close[ENGLISH]) == features.HIGHEST
    one_far = values(build_graph([1.0] * 199 + [0.0]), question(is_english=False))
    assert min(one_far[ALONE]) == features.LOWEST


def test_texts_that_are_all_alike_or_a_question_without_vectors_say_nothing() -> None:
    assert values(build_graph([0.5] * 3, [0.5] * 3), question())[ENGLISH] == [0, 0, 0]
    empty = values(sample_graph(), sample_query("?!", vector=None))
    assert not any(any(one) for one in empty.values())


def test_whole_dialogue_as_a_question_counts_by_similarity_alone() -> None:
    """Up to 24 terms all features count fully, from 60 on only those of similarity, between them in part."""
    graph, words = build_graph([0.9, 0.1, 0.5], texts=["Alder", "Birch", "Cedar"]), [f"word{n}" for n in range(60)]

    def best_values(terms: int) -> tuple[float, float]:
        text = " ".join(["alder", *words][:terms])
        query = replace(question(text, is_english=False), term_hashes=sample_query(text).term_hashes)
        found = compute_features(build_pool(graph, query))
        return float(found["bm25 z-score"].max()), float(found[ALONE].max())

    (full, alone), (half, alone_of_half), (none, alone_of_none) = best_values(24), best_values(42), best_values(60)
    assert full > 1
    assert half == pytest.approx(full / 2, rel=1e-3)
    assert none == 0
    assert alone == alone_of_half == alone_of_none > 0
