"""Edges of SYNAPSE's graph: the weight of a temporal edge, and the strongest edges."""

from math import log

import numpy as np
import pytest

from ecphora.graph import DAY
from ecphora.stages.synapse.layer_edges import EdgeList, prune, temporal_weight


def test_time_between_turns_weakens_their_bond_by_half_in_69_days() -> None:
    half = temporal_weight(np.array([69.3 * DAY, log(2) / 0.01 * DAY, 30 * DAY, -30 * DAY, 0.0]), rho=0.01)
    assert half == pytest.approx([0.5, 0.5, 0.7408, 0.7408, 1], abs=1e-4)
    assert temporal_weight(np.array([30 * 24.0 * DAY]), rho=0.01)[0] < 0.00075  # what hours would make of 30 days


def test_the_strongest_edges_stay() -> None:
    ways = EdgeList(np.zeros(4, np.intp), np.arange(1, 5), np.array([0.5, 0.9, 0.5, 0.7], np.float32))
    assert prune(ways, 3).dst.tolist() == [2, 4, 3]
