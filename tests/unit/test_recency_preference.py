"""The recency preference of a question, from its vector."""

import numpy as np
import pytest

from ecphora.stages.fused.recency_preference import RecencyPreference


@pytest.mark.parametrize(("along", "expected"), [(0.0, 0.2), (0.5, 0.7), (-0.5, -0.3), (2.0, 1.0), (-2.0, -1.0)])
def test_preference_is_linear_in_the_vector_between_its_bounds(along: float, expected: float) -> None:
    model = RecencyPreference(0.2, np.array([1, 0, -1], np.float32))
    assert model.value_of(np.array([along, 9, 0], np.float32)) == pytest.approx(expected, abs=1e-6)
