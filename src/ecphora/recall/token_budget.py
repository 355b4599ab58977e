"""Selection of hits within a token budget."""

from collections.abc import Sequence

import numpy as np

from ..model.types import Scores
from ..retrieval.bm25 import TermCoverage

COVERAGE_BONUS = 0.15
"""The bonus for covering all query terms not covered yet, as a fraction of the best score's lead over the tenth."""

SPREAD_RANK = 9
"""The rank, from 0, of the score that the lead is measured to: the tenth."""


def select_within(scores: Scores, sizes: Sequence[int], budget: float, coverage: TermCoverage) -> list[int]:
    """Choose hits greedily so that the sum of their sizes fits into a budget; returns indices in order of choice.

    ``scores`` are in descending order. Each step takes the best hit that still fits; a hit that covers query terms not
    covered yet is preferred to a hit that scores a little higher. ``coverage`` has the terms of each hit.
    """
    indices = np.arange(len(scores))
    spread = float(scores[0] - scores[: SPREAD_RANK + 1][-1]) if len(scores) else 0.0
    size, left = np.asarray(sizes, np.float64), float(budget)
    is_open, covered = np.ones(len(indices), np.bool_), np.zeros(len(coverage.idf), np.bool_)
    chosen: list[int] = []
    while (fits := indices[is_open & (size <= left)]).size:
        newly_covered = coverage.weighted_fraction(coverage.in_row[fits] & ~covered)
        index = int(fits[np.argmax(scores[fits] + COVERAGE_BONUS * spread * newly_covered)])
        chosen.append(index)
        is_open[index] = False
        covered |= coverage.in_row[index]
        left -= size[index]
    return chosen
