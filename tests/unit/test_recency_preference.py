"""The recency preference of a question, from its vector or its words."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.stages.fused.newer_answers import NewerAnswerModel, Preferences, ShareModel
from ecphora.stages.fused.reading import ReadingModel
from ecphora.stages.fused.recency_preference import RecencyPreference
from ecphora.stages.retrieval.linear import LinearModel
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


def test_preferences_with_another_embedder_read_words() -> None:
    share = ShareModel(0.0, 0.0, 0.0, 0.0)
    model = ReadingModel((1.0,) * 5, NewerAnswerModel(share, share), LinearModel(0.0, {}), {})
    assert model.preferences(sample_query("Where does Ana live now?"), 0.5) == Preferences(0.5, 0.5)
    assert model.preferences(sample_query("Where does Ana live?"), 0.5) == Preferences(0.0, 0.0)
