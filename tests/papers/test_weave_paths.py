"""Cognitive Weave's support along strands against every path, one after the other."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Rows
from ecphora.strategies.weave.strand_traversal import Strands, strand_support
from ecphora.testing import sample_batch, sample_node

SIZE = 5
Strand = tuple[int, int, float]
"""From one row to another, with a strength."""
QUARTERS = st.sampled_from([0.25, 0.5, 0.75, 1.0])
"""Products of these are exact, so that no path is kept or cut by rounding."""
STRANDS = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1), QUARTERS), unique_by=lambda one: one[:2], max_size=14
)


def graph() -> Graph:
    return apply_batch(Graph(), sample_batch(*(sample_node(f"p{n}", seq=n + 1) for n in range(SIZE)), revision=1))


def strands_from(strands: Sequence[Strand], rows: Rows) -> Strands:
    found = [
        (at, end, weight) for at, row in enumerate(rows.tolist()) for start, end, weight in strands if start == row
    ]
    index, ends, weights = ([one[place] for one in found] for place in range(3))
    none = np.full(len(found), -1, np.intp)
    return Strands(
        np.array(index, np.intp), np.array(ends, np.intp), np.array(weights, np.float32), none.astype(np.int8), none
    )


def reference(
    strands: Sequence[Strand],
    seeds: Sequence[int],
    scores: Sequence[float],
    *,
    through: set[int],
    hops: int,
    least: float,
) -> list[float]:
    best = [0.0] * SIZE

    def follow(row: int, score: float, product: float, left: int) -> None:
        for start, end, weight in strands:
            if start == row and left and end in through and product * weight >= least:
                best[end] = max(best[end], score * product * weight)
                follow(end, score, product * weight, left - 1)

    for seed in seeds:
        follow(seed, scores[seed], 1.0, hops)
    return best


@pytest.mark.medium
@given(
    strands=STRANDS,
    seeds=st.lists(st.integers(0, SIZE - 1), unique=True, min_size=1),
    scores=st.lists(st.sampled_from([0.125, 0.25, 0.5, 1.0]), min_size=SIZE, max_size=SIZE),
    through=st.sets(st.integers(0, SIZE - 1), min_size=3),
    hops=st.integers(1, 4),
    least=st.sampled_from([0.0625, 0.25, 0.5]),
)
def test_support_is_that_of_the_best_of_all_paths(
    *, strands: list[Strand], seeds: list[int], scores: list[float], through: set[int], hops: int, least: float
) -> None:
    mask = np.isin(np.arange(SIZE), list(through))
    found = strand_support(
        graph(), np.array(seeds), np.array(scores, np.float32), lambda rows: strands_from(strands, rows),
        through=mask, max_hops=hops, min_path_strength=least,
    )  # fmt: skip
    assert found.scores.tolist() == reference(strands, seeds, scores, through=through, hops=hops, least=least)


def test_path_of_a_lower_value_leads_further_where_its_strands_are_stronger() -> None:
    """p2 gets .25 from p0 and .125 from p1. On to p3 the first path is below the least strength, the second is not."""
    strands, scores = [(0, 2, 0.25), (1, 2, 1.0), (2, 3, 0.5)], np.array([1, 0.125, 0, 0, 0], np.float32)
    found = strand_support(
        graph(), np.array([0, 1]), scores, lambda rows: strands_from(strands, rows),
        through=np.ones(SIZE, np.bool_), max_hops=2, min_path_strength=0.25,
    )  # fmt: skip
    assert found.scores.tolist() == [0, 0, 0.25, 0.0625, 0]
    assert found.path.parent.tolist() == [-1, -1, 0, 2, -1]
