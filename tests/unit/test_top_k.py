"""The best rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecphora.retrieval import fusion


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 0.5, 1.0, -1.0, 0.25]), st.booleans())), st.integers(1, 12))
def test_top_rows_are_sorted_by_score_and_then_row(rows: list[tuple[float, bool]], limit: int) -> None:
    scores, mask = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.bool_)
    possible = [row for row, (score, allowed) in enumerate(rows) if allowed and score > 0]
    expected = sorted(possible, key=lambda row: (-rows[row][0], row))[:limit]
    assert fusion.top_rows(scores, mask, limit).tolist() == expected


@given(st.lists(st.sampled_from([0.0, 0.5, 0.5, 1.0, -1.0]), max_size=15), st.integers(1, 20))
def test_top_k_returns_the_highest_scores(values: list[float], k: int) -> None:
    scores = np.array(values, np.float32)
    rows = fusion.top_k(scores, k)
    assert len(set(rows.tolist())) == len(rows)
    assert scores[rows].tolist() == sorted(values, reverse=True)[: len(rows)]
    assert len(rows) >= min(k, sum(value > 0 for value in values))
