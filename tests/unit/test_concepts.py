"""Concepts of SYNAPSE: which of them are merged."""

import numpy as np
from numpy.typing import NDArray

from ecphora.stages.synapse.concepts import merge_duplicates


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(16, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def test_concepts_merge_from_a_cosine_of_92() -> None:
    near, far = unit(0.925, (1 - 0.925**2) ** 0.5), unit(0.915, -((1 - 0.915**2) ** 0.5))
    same = merge_duplicates(np.stack([unit(1), near, far]), np.arange(3), np.arange(3), 0.92)
    assert same.tolist() == [0, 0, 2]


def test_concepts_of_one_text_never_merge_and_merged_concepts_share_texts() -> None:
    vectors, mentions = np.stack([unit(1)] * 4), [(0, 0), (1, 1), (0, 2), (1, 2), (9, 3)]
    texts, concepts = (np.array(column) for column in zip(*mentions, strict=True))
    # 1 merges with 0 and adds its text; 2 is in both texts; 3 is in another text.
    assert merge_duplicates(vectors, texts, concepts, 0.92).tolist() == [0, 0, 2, 0]


def test_concept_merges_with_the_nearest_older_one() -> None:
    angles = [0.0, 0.5, 0.3]
    vectors = np.stack([unit(np.cos(angle), np.sin(angle)) for angle in angles])
    assert merge_duplicates(vectors, np.arange(3), np.arange(3), 0.92).tolist() == [0, 1, 1]
