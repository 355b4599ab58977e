"""Word counts: which texts are counted by characters."""

import numpy as np
import pytest

from ecphora.stages.retrieval.word_counts import is_mostly_characters


@pytest.mark.parametrize(
    ("characters", "terms", "expected"),
    [(0, 0, False), (0, 8, False), (1, 8, False), (2, 8, True), (8, 8, True)],
)
def test_a_quarter_of_single_characters_makes_a_text_unspaced(characters: int, terms: int, *, expected: bool) -> None:
    assert is_mostly_characters(np.array([characters]), np.array([terms])).tolist() == [expected]
