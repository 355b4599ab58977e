"""The rarity of entities, by hand."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Link
from ecphora.retrieval.entity_links import direct_mentions, rarity
from ecphora.testing import sample_batch, sample_entity, sample_node


def test_rarity_falls_with_mentions_from_one() -> None:
    found = rarity(np.array([1, 2, 8, 16]), 8)
    assert found == pytest.approx([1, log(5) / log(9), log(2) / log(9), log(1.5) / log(9)])


def test_rarity_of_no_mention_is_that_of_one() -> None:
    assert rarity(np.array([0, 1]), 8).tolist() == [1, 1]


def test_rarity_is_finite_without_memories() -> None:
    assert rarity(np.array([0]), 0).tolist() == [1]


def test_entity_links_of_a_lone_memory_take_rarity_among_two() -> None:
    ana = sample_entity("Ana")
    edges = tuple(Edge("a", ana.id, link) for link in (Link.MENTIONS, Link.ABOUT))
    graph = apply_batch(Graph(), replace(sample_batch(sample_node("a"), ana, edges=edges), revision=1))
    found = direct_mentions(graph, graph.rows([ana.id]), np.empty(0, np.intp), np.empty(0, np.float32))
    assert found.strengths == pytest.approx([log(2) / log(3)])
