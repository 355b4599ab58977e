"""Fixed cosine thresholds of the papers count from the embedder's cosine of two unrelated texts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import Memory
from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import Edge, Link, Query, Vector, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.synapse import strategy as synapse
from ecphora.strategies.synaptic import strategy as synaptic
from ecphora.strategies.synaptic.strategy import PublishedSynaptic
from ecphora.strategies.synaptic.threshold_calibration import cosine_quantile
from ecphora.testing import sample_batch, sample_entity, sample_node, sample_query

FLOOR = 0.72


def raw(cosine: float) -> float:
    """The cosine that counts as this one from ``FLOOR``."""
    return FLOOR + (1 - FLOOR) * cosine


def at(cosine: float) -> Vector:
    return np.array([cosine, math.sqrt(1 - cosine**2)], np.float32)


def graph_of(*vectors: Vector, named: Sequence[str] = ()) -> Graph:
    nodes = [sample_node(f"t{n}", f"t{n}", seq=n + 1) for n in range(len(vectors))]
    names = [replace(sample_entity(name), seq=100 + n) for n, name in enumerate(dict.fromkeys(named))]
    edges = [Edge(node.id, entity_id(name), Link.MENTIONS) for node, name in zip(nodes, named, strict=False)]
    by_id = {node.id: vector for node, vector in zip(nodes, vectors, strict=True)}
    return apply_batch(Graph(), replace(sample_batch(*nodes, *names, vectors=by_id, edges=edges), revision=1))


def question(floor: float = FLOOR) -> Query:
    return replace(sample_query("?", vector=at(1.0)), similarity_floor=floor)


@pytest.mark.parametrize(
    "strategy", [synaptic.FAITHFUL, replace(synaptic.FAITHFUL, is_physiological=True)], ids=["published", "exact"]
)
def test_synaptic_stimulates_what_is_above_the_threshold_from_the_floor(strategy: PublishedSynaptic) -> None:
    """``cos_th`` is .262: of .2 and .3 from the floor only the second is stimulated."""
    strategy = replace(strategy, max_generations=1)
    found = strategy.activate(question(), graph_of(at(raw(0.2)), at(raw(0.3))))
    assert np.flatnonzero(found.stimulus).tolist() == [1]
    unfloored = strategy.activate(question(0.0), graph_of(at(raw(0.2)), at(raw(0.3))))
    assert np.flatnonzero(unfloored.stimulus).tolist() == [0, 1]


def test_synaptic_passes_stimuli_on_by_cosines_from_the_floor() -> None:
    """The second memory is far from the cue and, from the floor, .2 from the first: nothing passes on to it."""
    angle = math.acos(raw(0.8)) + math.acos(raw(0.2))
    graph = graph_of(at(raw(0.8)), np.array([math.cos(angle), math.sin(angle)], np.float32))
    assert np.flatnonzero(synaptic.FAITHFUL.activate(question(), graph).stimulus).tolist() == [0]


def test_calibrated_threshold_counts_from_the_floor() -> None:
    graph = graph_of(at(1.0), at(raw(0.4)))
    assert cosine_quantile(graph, 0.95, FLOOR) == pytest.approx(0.4, abs=1e-6)
    assert cosine_quantile(graph, 0.95, 0.99) == 0


def test_synapse_merges_concepts_by_the_cosine_from_the_floor() -> None:
    """Ana and Ben lie at .95, .82 from the floor: as published, at .92, they are two concepts."""
    graph = graph_of(at(1.0), at(1.0), at(0.95), at(0.95), at(0.5), named=["Ana", "Ana", "Ben", "Ben"])
    strategy = replace(synapse.FAITHFUL, use_similarity_floor=False)
    merged, apart = (strategy.activate(question(floor), graph).contributions["activation"] for floor in (0.0, FLOOR))
    assert not np.allclose(merged, apart)


@dataclass(frozen=True, slots=True)
class RecordingStrategy:
    """Records the queries that storing runs."""

    queries: list[Query] = field(default_factory=list)
    writes_on_store: bool = True
    name: str = "recording"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        self.queries.append(query)
        return Activation(graph.zeros())


class FlooredEmbedder(HashingEmbedder):
    """The hashing embedder, which says that unrelated texts have a cosine of ``FLOOR``."""

    similarity_floor = FLOOR

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        return super().embed(texts, is_query=is_query)


def test_memory_that_is_stored_as_a_query_has_the_floor_of_the_embedder(tmp_path: Path) -> None:
    strategy = RecordingStrategy()
    with Memory(tmp_path / "m.db", embedder=FlooredEmbedder(32), strategy=strategy) as memory:
        memory.remember("Ana moved to Porto.")
    assert [query.similarity_floor for query in strategy.queries] == [FLOOR]
