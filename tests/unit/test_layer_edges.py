"""Edges of SYNAPSE's graph: the weight of a temporal edge, and the strongest edges."""

from math import log

import numpy as np
import pytest

from ecphora.model.graph.graph import DAY
from ecphora.strategies.synapse.layer_edges import EdgeList, prune, temporal_weight


def test_temporal_weight_halves_in_69_days() -> None:
    weights = temporal_weight(np.array([69.3 * DAY, log(2) / 0.01 * DAY, 30 * DAY, -30 * DAY, 0.0]), rho=0.01)
    assert weights == pytest.approx([0.5, 0.5, 0.7408, 0.7408, 1], abs=1e-4)
    assert temporal_weight(np.array([30 * 24.0 * DAY]), rho=0.01)[0] < 0.00075  # what hours would make of 30 days


def test_prune_keeps_the_strongest_edges() -> None:
    edges = EdgeList(np.zeros(4, np.intp), np.arange(1, 5), np.array([0.5, 0.9, 0.5, 0.7], np.float32))
    assert prune(edges, 3).dst.tolist() == [2, 4, 3]
