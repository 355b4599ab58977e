"""Features of the identifiers and quantities that a question names literally."""

import numpy as np

from ....model.types import Scores
from ....retrieval.identifiers import quantity_rows
from ..candidate_pool import CandidatePool

PART_MATCH = 0.5
"""What holding an identifier as a part of another one counts, against 1 for holding it whole."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of identifiers and quantities.

    ``identifier match`` is the share of the asked identifiers that a row holds, ``other identifier`` the share of
    which it has another one of the same kind. ``quantity match`` is 1 for a row with a quantity of the question.
    """
    rows, holders = pool.rows, pool.identifier_holders
    match, look_alike, quantity = (np.zeros(len(rows), np.float32) for _ in range(3))
    for one in holders:
        match += (np.isin(rows, one.whole) + PART_MATCH * np.isin(rows, one.part)).astype(np.float32) / len(holders)
        look_alike += np.isin(rows, one.look_alikes).astype(np.float32) / len(holders)
    if pool.query.quantities:
        quantity = np.isin(rows, quantity_rows(pool.graph, pool.query)).astype(np.float32)
    return {"identifier match": match, "other identifier": look_alike, "quantity match": quantity}
