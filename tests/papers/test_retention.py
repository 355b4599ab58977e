"""MyAgent and MemoryBank, the baselines of SynapticRAG's paper (papers.md 1.2, 1.6): their formulas by hand, and what
a recall changes.
"""

import math
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from ecphora import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Query, WriteBatch
from ecphora.strategies import RETENTION, resolve_strategy
from ecphora.strategies.synaptic.recency_baselines import (
    MEMORYBANK_ADAPTED,
    MYAGENT_ADAPTED,
    MemoryBank,
    MyAgent,
    retention_state,
)
from ecphora.testing import NOON, FakeClock, StrategyContract, sample_node

TURNS = 4
COSINES = (0.9, 0.2, -0.5, 0.6)
"""The cosines of the question with the four turns of the tests."""


@pytest.mark.parametrize("strategy", RETENTION.values(), ids=RETENTION.keys())
class TestContract(StrategyContract):
    pass


def test_myagent_equals_its_formula() -> None:
    """1.6: p = (1 - exp(-r e^(-t/g))) / (1 - e^-1), g = 1 + (1 - e^-t) / (1 + e^-t) before the first recall."""
    activation = MyAgent().activate(_query(), _graph())
    expected = [_p(r, t, _consolidated(1.0, t)) for r, t in zip(COSINES, (4, 3, 2, 1), strict=True)]
    expected[2] = 0  # a negative relevance
    assert activation.contributions["recall probability"] == pytest.approx(expected, rel=1e-5)
    assert activation.contributions["similar"].tolist() == [1, 0, 0, 1]
    assert activation.scores == pytest.approx([expected[0] + 1, expected[1], expected[2], expected[3] + 1], rel=1e-5)
    assert activation.stimulus.tolist() == [0, 0, 0, 1]  # the highest p of the similar turns, not the highest cosine
    assert activation.confidence == pytest.approx(expected[3], rel=1e-5)


def test_myagent_consolidates_at_a_recall() -> None:
    """A recall sets t to 0, and g grows by tanh(t / 2) of the turns before it."""
    graph = _graph_of(TURNS, recalled=(0,))
    state = retention_state(graph)
    assert state.last.tolist() == [5, 2, 3, 4]  # a question has the turn after the newest
    assert state.recalls.tolist() == [1, 0, 0, 0]
    g = _consolidated(1.0, 4)
    assert state.g == pytest.approx([g, 1, 1, 1])
    grown = _graph_of(TURNS + 2, recalled=(0,))
    [p, *_] = MyAgent().activate(_query(), grown).contributions["recall probability"]
    assert p == pytest.approx(_p(0.9, 2, _consolidated(g, 2)), rel=1e-5)  # asked at turn 7, recalled at turn 5


def test_myagent_adapted_has_the_tuned_constants() -> None:
    """1.2: the published values; r, t and g are scaled (SR-code)."""
    strategy = MYAGENT_ADAPTED
    constants = [strategy.cos_th, strategy.r_scale, strategy.t_scale, strategy.g_scale]
    assert constants == pytest.approx([0.48830, 10.0659, -1.72064, -2.05125], abs=1e-4)
    t = strategy.t_scale * 4
    g = strategy.g_scale * _consolidated(1.0, t)
    [p, *_] = strategy.activate(_query(), _graph()).contributions["recall probability"]
    assert p == pytest.approx(_p(strategy.r_scale * 0.9, t, g), rel=1e-4)


def test_myagent_of_extreme_constants_stays_finite() -> None:
    for strategy in (MyAgent(t_scale=-1e6), MyAgent(g_scale=0.0), MyAgent(r_scale=1e9, t_scale=-1e3)):
        assert np.isfinite(strategy.activate(_query(), _graph()).scores).all()
    assert not MyAgent(g_scale=0.0).activate(_query(), _graph()).contributions["recall probability"].any()


def test_memorybank_equals_its_formula() -> None:
    """1.6: exp(-t / (5 s)), s = 1 at first, whatever the question."""
    activation = MemoryBank().activate(_query(), _graph())
    assert activation.scores == pytest.approx([math.exp(-t / 5) for t in (4, 3, 2, 1)], rel=1e-5)
    assert activation.stimulus.tolist() == [0, 1, 1, 1]  # those retained by half or more: exp(-3 / 5) = .55
    assert MemoryBank(top_k=2).activate(_query(), _graph()).stimulus.tolist() == [0, 0, 1, 1]
    graph = _graph_of(TURNS + 1, recalled=(1, 1))
    assert MemoryBank().activate(_query(), graph).scores[1] == pytest.approx(math.exp(-1 / (5 * 3)), rel=1e-5)


def test_memorybank_adapted_has_the_tuned_constants() -> None:
    """1.2: the published values; exp(-t t_scale / ((s + s_init) s_scale)) (SR-code)."""
    strategy = MEMORYBANK_ADAPTED
    assert strategy.top_k == 7
    assert strategy.forget_th == pytest.approx(0.12287, abs=1e-5)
    exponents = [-13.8224 * t / (9.06144 * 1.049558) for t in (4, 3, 2, 1)]
    activation = strategy.activate(_query(), _graph())
    assert activation.scores == pytest.approx([math.exp(exponent) for exponent in exponents], rel=1e-3)
    assert activation.stimulus.tolist() == [0, 0, 0, 1]


@pytest.mark.medium
def test_storing_is_a_query_too(tmp_path: Path) -> None:
    for name in RETENTION:
        with Memory(tmp_path / f"{name}.db", strategy=resolve_strategy(name), clock=FakeClock()) as memory:
            memory.remember(["Rain fell on the harbour.", "The harbour lay in rain.", "Rain and harbour."])
            kinds = [access.kind for row in range(2) for access in memory.graph().accesses_of(row)]
            assert AccessKind.STIMULATED in kinds


def test_question_without_vector_recalls_nothing() -> None:
    activation = MyAgent().activate(Query("x", NOON), _graph())
    assert not activation.scores.any()
    assert not activation.stimulus.any()


def _p(r: float, t: float, g: float) -> float:
    return (1 - math.exp(-r * math.exp(-t / g))) / (1 - math.exp(-1))


def _consolidated(g: float, t: float) -> float:
    return g + (1 - math.exp(-t)) / (1 + math.exp(-t))


def _query() -> Query:
    return Query("x", NOON, vector=np.array([1, 0], np.float32))


def _graph() -> Graph:
    return _graph_of(TURNS)


def _graph_of(turns: int, recalled: tuple[int, ...] = ()) -> Graph:
    """Turns with the cosines of ``COSINES``, then zeros; some of the first four are recalled after the fourth."""
    cosines = [*COSINES, *[0.0] * (turns - TURNS)]
    late = TURNS + len(recalled)  # the recalls have the numbers between the fourth turn and the fifth
    nodes = [sample_node(f"t{place}", seq=place + 1 if place < TURNS else late + place) for place in range(turns)]
    vectors = {
        node.id: np.array([cos, math.sqrt(1 - cos**2)], np.float32) for node, cos in zip(nodes, cosines, strict=True)
    }
    accesses = tuple(
        Access(f"t{row}", NOON + timedelta(hours=1), AccessKind.STIMULATED, 1.0, seq=TURNS + 1 + nth)
        for nth, row in enumerate(recalled)
    )
    return apply_batch(Graph(), WriteBatch(nodes=tuple(nodes), vectors=vectors, accesses=accesses, revision=1))
