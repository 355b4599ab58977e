"""A built query: its terms, names, times and parts."""

import numpy as np

from ecphora.query import MAX_QUESTION_TERMS, build_query, query_parts
from ecphora.testing import NOON, sample_graph


def test_query_has_entities_terms_and_times_of_its_text() -> None:
    query = build_query("Where did Ana go, Ana?", NOON, vector=None, embedder_coverage=0.5)
    assert (query.text, query.now, query.vector, query.embedder_coverage) == ("Where did Ana go, Ana?", NOON, None, 0.5)
    assert query.entity_ids == ("entity:ana",)
    assert len(query.term_hashes) == 2
    assert build_query("What happened yesterday?", NOON, vector=None, embedder_coverage=1).time_ranges[0].start < NOON


def test_query_parts_are_topic_and_terms() -> None:
    parts = query_parts("What did Ana paint, and what did Ana's friends paint?", sample_graph())
    assert parts.topic == "paint, and what did friends paint"
    assert parts.term_texts == {1: "paint", 2: "friends"}
    assert parts.texts == [parts.question, parts.topic, "paint", "friends"]
    vectors = np.eye(4, dtype=np.float32)
    query = build_query(parts.question, NOON, vector=None, embedded_parts=(parts, vectors), embedder_coverage=1)
    assert query.vector is not None
    assert query.vector.tolist() == [1, 0, 0, 0]
    assert query.topic_vector is not None
    assert query.topic_vector.tolist() == [0, 1, 0, 0]
    assert query.term_vectors is not None
    assert query.term_vectors.tolist() == [[0] * 4, [0, 0, 1, 0], [0, 0, 0, 1]]


def test_long_text_has_no_term_vectors() -> None:
    text = " ".join(f"word{number}" for number in range(MAX_QUESTION_TERMS + 1))
    parts = query_parts(f"What is {text}?", sample_graph())
    assert (parts.topic, parts.term_texts) == (parts.question, {})
    query = build_query(
        parts.question, NOON, vector=None, embedded_parts=(parts, np.ones((1, 2), np.float32)), embedder_coverage=1
    )
    assert query.term_vectors is not None
    assert query.term_vectors.shape == (MAX_QUESTION_TERMS + 1, 2)
    assert not query.term_vectors.any()


def test_script_without_spaces_has_no_separate_terms() -> None:
    parts = query_parts("小明昨天去了 Porto 吗？", sample_graph())
    assert list(parts.term_texts.values()) == ["porto"]
