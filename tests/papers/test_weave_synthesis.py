"""Cognitive Weave's synthesis with real embedders: what is unrelated gives no insight, what is related gives one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Kind
from ecphora.strategies.weave.strategy import FAITHFUL, Weave
from ecphora.testing import NOON
from ecphora.testing.samples import sample_batch, sample_node

UNRELATED = (
    "The dentist moved my appointment to Thursday.",
    "Copper conducts electricity better than iron.",
    "Our cat sleeps on the radiator all winter.",
    "The bakery on the corner sells rye bread.",
    "Mount Kenya is the second highest mountain in Africa.",
    "I forgot my umbrella in the tram.",
    "The contract runs until the end of March.",
    "Sofia plays the cello in an orchestra.",
    "The printer needs a new cartridge.",
    "Honey never spoils if it is kept dry.",
    "The river flooded the lower fields last spring.",
    "He paints his bicycles bright yellow.",
    "A chess game can last for many hours.",
    "The museum is closed on Mondays.",
    "My nephew collects stamps from Peru.",
    "We planted three apple trees behind the barn.",
    "The satellite sends a picture every ten minutes.",
    "She passed her driving test at the second attempt.",
    "Olive oil burns at a lower temperature than butter fat.",
    "The library lends out board games.",
    "Their flight to Oslo was delayed by fog.",
    "The mayor opened the new bridge with a short speech.",
)
RELATED = (
    "Mia practices the piano every day.",
    "Mia has a piano lesson on Tuesdays.",
    "Mia learned a new sonata on the piano.",
    "Mia's piano was tuned last week.",
    "Mia plays the piano for two hours each day.",
    "Mia gave her first piano concert.",
)


def _insight_count(path: Path, strategy: Weave, texts: tuple[str, ...]) -> int:
    with Memory(path, strategy=strategy) as memory:
        memory.remember(texts)
        return int(memory.graph().of_kind(Kind.INSIGHT).sum())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [Weave(omega=22), FAITHFUL], ids=lambda one: one.name)
def test_synthesis_draws_next_to_nothing_from_unrelated_texts(tmp_path: Path, strategy: Weave) -> None:
    assert _insight_count(tmp_path / "m.db", strategy, UNRELATED) <= 2


@pytest.mark.slow
def test_synthesis_draws_one_insight_from_related_texts(tmp_path: Path) -> None:
    assert _insight_count(tmp_path / "alone.db", Weave(omega=6), RELATED) == 1
    assert _insight_count(tmp_path / "among.db", Weave(omega=28), UNRELATED + RELATED) == 1


def test_strands_and_clusters_count_cosines_from_the_floor() -> None:
    """Three texts of cosine .84 with each other are .5 apart from a floor of .68: no cluster at .6, a strand at .4."""
    common, own = np.sqrt(0.84), np.sqrt(0.16)
    vectors = {f"p{n}": np.array([common, *own * (np.arange(3) == n)], np.float32) for n in range(3)}
    nodes = [sample_node(f"p{n}", f"p{n}", seq=n + 1) for n in range(3)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes, vectors=vectors), revision=1))
    counted = Weave(omega=3).process(graph, lambda _rows: nodes, NOON, similarity_floor=0.68)
    assert counted.nodes == ()
    assert [edge.weight for edge in counted.edges] == pytest.approx([0.5 * 0.5 + 0.2 * 0.5] * 3, abs=1e-5)
    assert len(Weave(omega=3).process(graph, lambda _rows: nodes, NOON).nodes) == 1
    assert Weave(omega=3).process(graph, lambda _rows: nodes, NOON, similarity_floor=0.8).edges == ()
