"""The rarity of entities, by hand."""

from math import log

import numpy as np
import pytest

from ecphora.stages.retrieval.rarity import rarity


def test_rarity_falls_with_mentions_from_one() -> None:
    found = rarity(np.array([1, 2, 8, 16]), 8)
    assert found == pytest.approx([1, log(5) / log(9), log(2) / log(9), log(1.5) / log(9)])


def test_rarity_of_no_mention_is_that_of_one() -> None:
    assert rarity(np.array([0, 1]), 8).tolist() == [1, 1]


def test_rarity_is_finite_without_memories() -> None:
    assert rarity(np.array([0]), 0).tolist() == [1]
