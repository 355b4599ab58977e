"""A question, read once: its terms, names, times and parts."""

import numpy as np

from ecphora.query import MAX_QUESTION_TERMS, build_query, query_parts
from ecphora.testing import NOON, sample_graph


def test_a_cue_holds_what_its_words_say() -> None:
    cue = build_query("Where did Ana go, Ana?", NOON, vector=None, embedder_coverage=0.5)
    assert (cue.text, cue.now, cue.vector, cue.embedder_coverage) == ("Where did Ana go, Ana?", NOON, None, 0.5)
    assert cue.entity_ids == ("entity:ana",)
    assert len(cue.term_hashes) == 2
    assert build_query("What happened yesterday?", NOON, vector=None, embedder_coverage=1).time_ranges[0].start < NOON


def test_a_question_is_taken_apart() -> None:
    parts = query_parts("What did Ana paint, and what did Ana's friends paint?", sample_graph())
    assert parts.topic == "paint, and what did friends paint"
    assert parts.term_texts == {1: "paint", 2: "friends"}
    assert parts.texts == [parts.question, parts.topic, "paint", "friends"]
    vectors = np.eye(4, dtype=np.float32)
    cue = build_query(parts.question, NOON, vector=None, embedded_parts=(parts, vectors), embedder_coverage=1)
    assert cue.vector is not None
    assert cue.vector.tolist() == [1, 0, 0, 0]
    assert cue.topic_vector is not None
    assert cue.topic_vector.tolist() == [0, 1, 0, 0]
    assert cue.term_vectors is not None
    assert cue.term_vectors.tolist() == [[0] * 4, [0, 0, 1, 0], [0, 0, 0, 1]]


def test_a_long_text_is_no_bundle_of_words() -> None:
    text = " ".join(f"word{number}" for number in range(MAX_QUESTION_TERMS + 1))
    parts = query_parts(f"What is {text}?", sample_graph())
    assert (parts.topic, parts.term_texts) == (parts.question, {})
    cue = build_query(
        parts.question, NOON, vector=None, embedded_parts=(parts, np.ones((1, 2), np.float32)), embedder_coverage=1
    )
    assert cue.term_vectors is not None
    assert cue.term_vectors.shape == (MAX_QUESTION_TERMS + 1, 2)
    assert not cue.term_vectors.any()


def test_in_a_script_without_spaces_no_word_stands_alone() -> None:
    parts = query_parts("小明昨天去了 Porto 吗？", sample_graph())
    assert list(parts.term_texts.values()) == ["porto"]
