"""EISA's side network as the package has it: for which embedder, with which figures, and in which preset."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.strategies.eisa import side_network, weights
from ecphora.strategies.eisa.strategy import FAITHFUL, Eisa
from ecphora.testing import sample_batch, sample_node, sample_query


@pytest.mark.parametrize("name", sorted(weights.SIDE_NETWORK_FILES))
def test_packaged_side_network_is_that_of_the_embedder(name: str) -> None:
    """Only for the very variant that it was trained on."""
    embedder = E5Embedder() if name == "multilingual-e5-small" else MiniLMEmbedder()
    net = weights.load_side_network(embedder.name)
    assert net is not None
    assert (net.dim, net.rank, net.bias.shape) == (embedder.dim, side_network.RANK, (embedder.dim,))
    assert all(part.any() for part in (net.a, net.b, net.bias))
    assert weights.load_side_network(embedder.name) is net
    assert weights.load_side_network(f"{name}/float32") is None
    assert weights.load_side_network("hashing/64") is None


@pytest.mark.parametrize("name", sorted(weights.SIDE_NETWORK_FILES))
def test_packaged_side_network_gains_in_cross_validation(name: str) -> None:
    """The figures in its file: on spaces that it was not trained on, the interval of the difference excludes 0."""
    file = files(weights).joinpath(weights.SIDE_NETWORK_FILES[name])
    found = json.loads(file.read_text(encoding="utf-8"))["provenance"]
    assert not {"held", "untaught", "locomo", "realtalk"} & set(found["sets"])
    for figures in found["cross_validated"].values():
        for cutoff in ("recall@5", "recall@10"):
            assert figures[cutoff]["with"] > figures[cutoff]["without"]
            assert figures[cutoff]["difference"][0] > 0


def test_practical_preset_uses_the_packaged_side_network() -> None:
    nodes = [sample_node(f"e{number}", f"text {number}", seq=number) for number in range(1, 6)]
    rng = np.random.default_rng(4)  # noqa: TID251  # a fixed seed
    drawn = rng.standard_normal((6, E5Embedder.dim)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors = {node.id: vector for node, vector in zip(nodes, drawn, strict=False)}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=vectors, revision=1))
    query = replace(sample_query("?", vector=drawn[5]), embedder=E5Embedder.name, similarity_floor=0.0)
    net = weights.load_side_network(E5Embedder.name)
    practical, plain = (Eisa(use_packaged_side_net=used).activate(query, graph) for used in (True, False))
    assert practical.scores.tolist() == Eisa(side_net=net).activate(query, graph).scores.tolist()
    assert practical.scores.tolist() != plain.scores.tolist()
    assert (
        FAITHFUL.activate(query, graph).scores.tolist()
        == replace(FAITHFUL, use_packaged_side_net=False).activate(query, graph).scores.tolist()
    )
    cosines = drawn[:5] @ drawn[5]
    assert practical.confidence == pytest.approx(max(0, cosines[practical.scores > 0].max()), abs=1e-3)
