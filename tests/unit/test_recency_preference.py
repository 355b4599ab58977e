"""The recency preference of a question, from its vector or its words."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.strategies.fused.reranking import RecencyPreference, RerankPolicy
from ecphora.testing import sample_query


@pytest.mark.parametrize(("along", "expected"), [(0.0, 0.2), (0.5, 0.7), (-0.5, -0.3), (2.0, 1.0), (-2.0, -1.0)])
def test_preference_is_linear_in_the_vector_between_its_bounds(along: float, expected: float) -> None:
    model = RecencyPreference(0.2, np.array([1, 0, -1], np.float32))
    assert model.value_of(np.array([along, 9, 0], np.float32)) == pytest.approx(expected, abs=1e-6)


def test_preference_without_a_vector_reads_words() -> None:
    now, other = sample_query("Where does Ana live now?"), sample_query("Where does Ana live?")
    model = RecencyPreference(-5.0, np.zeros(7, np.float32))
    assert (model.value(replace(now, vector=None)), model.value(replace(other, vector=None))) == (1.0, 0.0)
    assert model.value(replace(now, vector=np.zeros(7, np.float32))) == -1.0


PREFERRING = RecencyPreference(-0.25, np.zeros(7, np.float32))


@pytest.mark.parametrize(
    ("embedder", "question", "expected"),
    [
        ("some-model/int8", "Where does Ana live?", -0.25),
        ("another-model", "Where does Ana live?", 0.0),
        ("some-model/int8", "Where does Ana live now?", 1.0),  # a word for the latest or the first decides
        ("another-model", "Where does Ana live now?", 1.0),
        ("some-model/int8", "Where did Ana live first?", -1.0),
        ("another-model", "Where did Ana live first?", -1.0),
    ],
)
def test_preference_is_that_of_the_embedder_unless_words_decide(embedder: str, question: str, expected: float) -> None:
    policy = RerankPolicy({"some-model": PREFERRING})
    query = replace(sample_query(question), embedder=embedder, vector=np.ones(7, np.float32))
    assert policy.preference(query) == expected
