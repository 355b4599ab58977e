"""EISA with a side network: both vectors are mapped, and the threshold with them. §3.2: papers.md."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from ecphora.errors import WrongVector
from ecphora.model.ports import Activation, Strategy
from ecphora.retrieval import filters
from ecphora.strategies.eisa import side_network
from ecphora.strategies.eisa.strategy import Eisa
from ecphora.testing import sample_graph, sample_query

TRAINED_NET = replace(side_network.identity(16), a=side_network.identity(16).b * 0.5)


def activate(strategy: Strategy) -> Activation:
    return strategy.activate(sample_query("Where does Ana live in Porto?"), sample_graph(7))


def test_untrained_side_network_changes_no_score() -> None:
    plain, with_net = activate(Eisa()), activate(Eisa(side_net=side_network.identity(16)))
    assert plain.scores.any()
    assert with_net.scores == pytest.approx(plain.scores, abs=2e-3)  # the samples have length 1 to three digits


def test_trained_side_network_maps_both_vectors() -> None:
    """The cosine and the threshold are those of the mapped vectors."""
    graph, query = sample_graph(7), sample_query("Where does Ana live in Porto?")
    found = Eisa(side_net=TRAINED_NET, necessity_classifier=None, kappa=0.0).activate(query, graph)
    assert query.vector is not None
    mapped_query, mapped_vectors = (
        side_network.map_vectors(TRAINED_NET, vectors) for vectors in (query.vector[None], graph.vectors.view)
    )
    rows = graph.vector_rows["rows"]
    expected = np.where(filters.eligible(graph, query)[rows], np.maximum(0, mapped_vectors @ mapped_query[0]), 0)
    assert found.scores[rows] == pytest.approx(expected, abs=1e-5)
    assert np.abs(found.scores - activate(Eisa(necessity_classifier=None, kappa=0.0)).scores).max() > 0.01
    all_cosines = [float(a @ b) for a, b in combinations(mapped_vectors, 2)]
    assert Eisa(side_net=TRAINED_NET, min_threshold=-1).threshold(graph, TRAINED_NET) == pytest.approx(
        np.quantile(all_cosines, 0.5), abs=1e-5
    )


def test_side_network_of_another_embedder_is_rejected() -> None:
    with pytest.raises(WrongVector, match="384 numbers"):
        activate(Eisa(side_net=side_network.identity(384)))
