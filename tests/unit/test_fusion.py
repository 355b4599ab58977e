"""Fusion of rankings and scores."""

import numpy as np
import pytest

from ecphora.retrieval import fusion


def test_reciprocal_rank_equals_values_computed_by_hand() -> None:
    fused = fusion.reciprocal_rank(np.array([0.2, 0.9, 0.0, 0.2, -1.0], np.float32))
    assert fused == pytest.approx([1 / 62, 1 / 61, 0, 1 / 63, 0])


def test_normalized_scores_equal_values_computed_by_hand() -> None:
    scores, first, none = np.array([1, 3, 100], np.float32), np.array([True, False, False]), np.zeros(3, np.bool_)
    measured = fusion.NormalizedScores.from_scores(scores, np.array([True, True, False]), np.array([True, True, False]))
    assert measured.zscore().tolist() == [0, 1, 98]
    assert measured.zscore(np.array([2, 1])).tolist() == [98, 1]
    assert measured.max_normalize() == pytest.approx([1 / 3, 1, 100 / 3])
    assert measured.max_normalize(np.array([1])).tolist() == [1]
    assert not fusion.NormalizedScores.from_scores(np.ones(3, np.float32), ~none, ~none).zscore().any()
    assert not fusion.NormalizedScores.from_scores(scores, none, none).zscore().any()
    assert not fusion.NormalizedScores.from_scores(-scores, ~none, first).max_normalize().any()
    assert fusion.max_normalize(np.array([-1, 2, 4], np.float32)).tolist() == [0, 0.5, 1]
    assert fusion.max_normalize(np.array([-1, 0], np.float32)).tolist() == [0, 0]
    assert fusion.max_normalize(np.zeros(0, np.float32)).shape == (0,)
