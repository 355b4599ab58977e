"""The guard against hallucinations: sentences of a text, and which texts have a source for each."""

import numpy as np
import pytest

from ecphora.consolidation.insights.summaries import has_support, sentences

SOURCES = np.eye(3, dtype=np.float32)[:2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana moved. Mia stayed!  Why?", ["Ana moved.", "Mia stayed!", "Why?"]),
        ("Mr. B. Ito met Dr. Sa.", ["Mr. B. Ito met Dr. Sa."]),
        ("- one\n- two\n\n...", ["- one", "- two"]),
        ("安娜搬家了。她住在波尔图。", ["安娜搬家了。", "她住在波尔图。"]),
        ("...", []),
    ],
)
def test_sentences_end_at_marks_and_lines_but_not_at_initials(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_every_sentence_needs_a_source_of_the_least_cosine() -> None:
    near, far = np.array([[0.6, 0, 0.8], [0.4, 0, 0.9]], np.float32)
    assert has_support(np.stack([SOURCES[0], near]), SOURCES, 0.5)
    assert not has_support(np.stack([SOURCES[0], far]), SOURCES, 0.5)


def test_least_cosine_counts_from_the_floor_of_the_embedder() -> None:
    sentence = np.array([[0.6, 0, 0.8]], np.float32)
    assert has_support(sentence, SOURCES, 0.5, similarity_floor=0.1)
    assert not has_support(sentence, SOURCES, 0.5, similarity_floor=0.3)


def test_least_cosine_is_a_part_of_what_lies_above_the_floor() -> None:
    """Half the way from a floor of .5 to 1 is .75."""
    below, above = np.array([[[0.7, 0, 0.71]], [[0.8, 0, 0.6]]], np.float32)
    assert not has_support(below, SOURCES, 0.5, similarity_floor=0.5)
    assert has_support(above, SOURCES, 0.5, similarity_floor=0.5)
