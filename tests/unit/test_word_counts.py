"""Word counts: which texts are counted by characters, and how many words their characters are."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.language.terms import extract_terms, hash_terms
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.retrieval.bm25 import (
    CHARACTERS_PER_WORD,
    is_character,
    is_mostly_characters,
    question_word_count,
    word_counts,
)
from ecphora.testing import sample_batch, sample_node


@pytest.mark.parametrize(
    ("characters", "terms", "expected"),
    [(0, 0, False), (0, 8, False), (1, 8, False), (1, 1, True), (2, 8, True), (8, 8, True)],
)
def test_unspaced_text_is_a_quarter_of_single_characters(characters: int, terms: int, *, expected: bool) -> None:
    assert is_mostly_characters(np.array([characters]), np.array([terms])).tolist() == [expected]


def test_characters_of_an_unspaced_text_count_a_fifth_of_a_word() -> None:
    nodes = [sample_node("spaced", "river boat school"), sample_node("unspaced", "昨日友達と公園で遊びました")]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    spaced, unspaced = graph.nodes["lengths"].tolist()
    assert CHARACTERS_PER_WORD == 5
    assert unspaced > 5
    assert word_counts(graph) == pytest.approx([spaced, unspaced / 5])


def test_words_of_a_question_are_counted_alike_in_all_scripts() -> None:
    spaced, unspaced = ("river boat school", "昨日友達と公園で遊びました")
    assert question_word_count(hash_terms(extract_terms(spaced))) == 3
    terms = hash_terms(list(dict.fromkeys(extract_terms(unspaced))))
    assert question_word_count(terms) == len(terms) / 3
    assert question_word_count(hash_terms([])) == 0


@pytest.mark.medium
def test_hash_beyond_those_of_all_characters_is_of_no_character() -> None:
    lowest, day, highest = 0, int(hash_terms(["日"])[0]), 2**32 - 1
    assert is_character(np.array([lowest, day, highest], np.uint32)).tolist() == [False, True, False]
