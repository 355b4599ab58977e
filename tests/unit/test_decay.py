"""Fading: marks in the access log, what may be archived, and how both change a rank."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import explain
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import (
    ACCESS_KINDS,
    Access,
    AccessKind,
    Mark,
    Mask,
    Node,
    NodeId,
    Rows,
    Tombstone,
    WriteBatch,
)
from ecphora.ports import Activation
from ecphora.recall import rank, why
from ecphora.stages.eisa.chronology import last_access
from ecphora.stages.fused.decay import DecayPolicy, archived_mask, decay, pinned_mask
from ecphora.stages.retrieval import filters, importance, top_k
from ecphora.stages.synapse.dormancy import dormant_mask
from ecphora.stages.synaptic.lif_neuron import Neuron
from ecphora.stages.synaptic.network_state import network_state
from ecphora.stages.weave.insight_particle import particle
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.fused import ARCHIVED, DECAY, Fused
from ecphora.testing import NOON, sample_batch, sample_graph, sample_node, sample_query

DAY = 86_400.0
SIZE = 20
CUE = sample_query("Did Mia find a school in Porto?")


def marked(graph: Graph, *touches: tuple[NodeId, AccessKind | Mark], days: float = 0.0) -> Graph:
    """A graph grown by accesses, so many days after noon."""
    seq = int(max(graph.nodes["seq"].max(), graph.accesses["seq"].max())) + 1
    at = NOON + timedelta(days=days)
    accesses = tuple(Access(node, at, touch, seq=seq + place) for place, (node, touch) in enumerate(touches))
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1))


def archiving(graph: Graph, rows: Iterable[int]) -> Graph:
    return marked(graph, *((f"t{row}", Mark.ARCHIVED) for row in rows))


def ids(graph: Graph, which: Any) -> list[NodeId]:
    rows = np.flatnonzero(which) if which.dtype == np.bool_ else which
    return [graph.id(int(row)) for row in rows]


def summed(found: Activation) -> Any:
    return np.sum(list(found.contributions.values()), axis=0)


def ranked(found: Activation, graph: Graph) -> list[int]:
    rows: list[int] = top_k.top_rows(found.scores, filters.eligible(graph, CUE), SIZE).tolist()
    return rows


# ---- marks


def test_touches_keep_their_numbers() -> None:
    assert ACCESS_KINDS[:4] == (AccessKind.ENCODED, AccessKind.STIMULATED, AccessKind.RECALLED, AccessKind.USED)
    assert ACCESS_KINDS[4:] == tuple(Mark)


@given(
    log=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ACCESS_KINDS)), max_size=16),
    cut=st.integers(0, 16),
)
def test_the_latest_mark_decides_and_none_is_an_access(log: list[tuple[int, AccessKind | Mark]], cut: int) -> None:
    accesses = [
        Access(f"t{row}", NOON + timedelta(days=place), touch, 0.4, seq=100 + place)
        for place, (row, touch) in enumerate(log)
    ]

    def grown(some: list[Access]) -> Graph:
        graph = sample_graph(3)
        for part in (some[:cut], some[cut:]):
            graph = apply_batch(graph, WriteBatch(accesses=tuple(part), revision=graph.revision + 1))
            state(graph)  # of a grown graph only what is new is read
        return graph

    graph, bare = grown(accesses), grown([one for one in accesses if not isinstance(one.kind, Mark)])
    for row in range(3):
        told = [one.kind for one in accesses if one.node == f"t{row}"]
        guarded = [one for one in told if one in {Mark.PINNED, Mark.UNPINNED}]
        put_away = [one for one in told if one in {Mark.ARCHIVED, Mark.UNARCHIVED}]
        assert pinned_mask(graph)[row] == (guarded[-1:] == [Mark.PINNED])
        assert archived_mask(graph)[row] == (put_away[-1:] == [Mark.ARCHIVED])
        node = sample_node(f"t{row}")
        assert particle(graph, node).accesses == particle(bare, node).accesses
    assert not pinned_mask(bare).any()
    assert not archived_mask(bare).any()
    for ours, theirs in zip(state(graph), state(bare), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def state(graph: Graph) -> list[Any]:
    """What follows from the accesses of a graph."""
    told = network_state(graph, Neuron())
    rows = np.flatnonzero(graph.episodes)
    pinned_mask(graph), archived_mask(graph)
    return [
        importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp() + 50 * DAY),
        last_access(graph),
        *(dormant_mask(graph, W) for W in (1, 2, 3)),
        told.now,
        told.spikes.counts,
        told.turns_since_spike(rows),
        told.spike_trains(rows).times,
        *(getattr(told.neurons, name) for name in told.neurons.__slots__),
    ]


# ---- what decay costs


def passed(days: float) -> float:
    return NOON.timestamp() + days * DAY


@given(days=st.floats(0, 400), guarded=st.sets(st.integers(0, 4)))
def test_faintness_grows_with_time(days: float, guarded: set[int]) -> None:
    graph = marked(sample_graph(5), *((f"t{row}", Mark.PINNED) for row in sorted(guarded)))
    earlier, later = (decay(graph, DecayPolicy(), passed(time))[:5] for time in (days, days + 30))
    assert ((later >= earlier) & (earlier >= 0) & (later <= 1)).all()
    assert np.flatnonzero(later == 0).tolist() == sorted(guarded)
    even = DecayPolicy(importance.ImportanceDecay(initial=0.1, base=0.1))
    assert not decay(graph, even, passed(days)).any()


# ---- in a rank


def test_without_marks_and_fading_nothing_changes() -> None:
    graph = sample_graph(SIZE)
    found, back = (
        Fused().activate(CUE, graph),
        marked(graph, ("t3", Mark.ARCHIVED), ("t3", Mark.UNARCHIVED)),
    )
    again = Fused().activate(CUE, back)
    np.testing.assert_array_equal(found.scores, again.scores)
    assert list(found.contributions) == list(again.contributions)
    assert not {DECAY, ARCHIVED} & set(found.contributions)


@given(away=st.sets(st.integers(0, SIZE - 1)), fades=st.booleans())
def test_what_is_archived_steps_back_behind_all_else(away: set[int], fades: bool) -> None:
    strategy = Fused(decay_policy=DecayPolicy()) if fades else Fused()
    graph = sample_graph(SIZE)
    before = strategy.activate(CUE, graph)
    graph = archiving(graph, sorted(away))
    after = strategy.activate(CUE, graph)
    was, now = ranked(before, graph), ranked(after, graph)
    assert now == [row for row in was if row not in away] + [row for row in was if row in away]
    here = np.array([row not in away for row in range(len(graph))])
    np.testing.assert_array_equal(after.scores[here], before.scores[here])
    active = after.scores > 0
    assert summed(after)[active] == pytest.approx(after.scores[active], abs=1e-4)
    assert after.confidence == before.confidence


def test_what_is_archived_still_comes_back_where_nothing_else_does() -> None:
    graph = archiving(sample_graph(SIZE), range(SIZE))
    found, before = Fused().activate(CUE, graph), Fused().activate(CUE, sample_graph(SIZE))
    np.testing.assert_array_equal(found.scores, before.scores)


def test_what_is_protected_loses_nothing() -> None:
    plain = sample_graph(SIZE)
    best = ranked(Fused().activate(CUE, plain), plain)[0]
    graph = marked(plain, (f"t{best}", Mark.ARCHIVED), (f"t{best}", Mark.PINNED))
    found = Fused(decay_policy=DecayPolicy(), decay_weight=0.9).activate(CUE, graph)
    assert found.contributions[DECAY][best] == 0
    assert ARCHIVED not in found.contributions
    assert ranked(found, graph)[0] == best
    others = found.scores > 0
    others[best] = False
    assert (found.contributions[DECAY][others] < 0).all()


def test_it_says_why_and_why_not() -> None:
    plain = sample_graph(SIZE)
    best = ranked(Fused().activate(CUE, plain), plain)[0]
    graph = archiving(plain, [best])
    found = Fused().activate(CUE, graph)
    reasons = why(graph, found, best)
    assert sum(share.value for share in reasons.contributions) == pytest.approx(found.scores[best], abs=1e-4)
    assert [share.feature for share in reasons.contributions if share.value < -1][-1] == ARCHIVED

    def read(rows: Rows) -> list[Node]:
        return [sample_node(graph.id(row)) for row in rows.tolist()]

    ranked_hits = rank(graph, CUE, found, 3, None, read, explain=True)
    said = explain.why_not(ranked_hits, f"t{best}", [f"t{best}"])
    assert said.miss_reason is explain.MissReason.BELOW_CUTOFF
    assert said.shortfall[0].feature == ARCHIVED


def test_marks_go_with_a_memory() -> None:
    change = sample_batch(sample_node("a", seq=1), sample_node("b", seq=2))
    graph = marked(apply_batch(Graph(), replace(change, revision=1)), ("b", Mark.PINNED), ("b", Mark.ARCHIVED))
    gone = apply_batch(graph, WriteBatch(tombstones=(Tombstone("a", b"a"),), revision=3))
    masks: list[Mask] = [pinned_mask(gone), archived_mask(gone)]
    assert [mask.tolist() for mask in masks] == [[True], [True]]


def test_a_mark_survives_a_crash_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[bool] = []
    transaction = SQLiteStore._transaction

    def spied(store: SQLiteStore, mode: str, *, durable: bool = True) -> Any:
        waits.append(durable)
        return transaction(store, mode, durable=durable)

    store = SQLiteStore(tmp_path / "m.db")
    store.commit("s", sample_batch(sample_node("a")))
    monkeypatch.setattr(SQLiteStore, "_transaction", spied)
    for touch in ACCESS_KINDS:
        store.commit("s", WriteBatch(accesses=(Access("a", NOON, touch),)))
    store.close()
    assert waits == [isinstance(touch, Mark) for touch in ACCESS_KINDS]
