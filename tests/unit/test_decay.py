"""Decay: marks in the access log, memories that may be archived, and the effect on ranks."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph.graph import Graph, archived_mask, last_access, pinned_mask
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import ACCESS_KINDS, Access, AccessKind, Mark, Mask, Node, NodeId, Rows, Tombstone, WriteBatch
from ecphora.recall import explain
from ecphora.recall.recall import rank, why
from ecphora.retrieval import filters, fusion, importance
from ecphora.retrieval.importance import DecayPolicy, decay
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.fused.strategy import ARCHIVED, DECAY, Fused
from ecphora.strategies.synapse.dormancy import dormant_mask
from ecphora.strategies.synaptic.lif_neuron import Neuron
from ecphora.strategies.synaptic.network_state import network_state
from ecphora.testing import NOON, sample_batch, sample_graph, sample_node, sample_query

DAY = 86_400.0
SIZE = 20
QUERY = sample_query("Did Mia find a school in Porto?")


def marked(graph: Graph, *marks: tuple[NodeId, AccessKind | Mark], days: float = 0.0) -> Graph:
    """A graph with more accesses, ``days`` after noon."""
    seq = int(max(graph.nodes["seq"].max(), graph.accesses["seq"].max())) + 1
    at = NOON + timedelta(days=days)
    accesses = tuple(Access(node, at, kind, seq=seq + index) for index, (node, kind) in enumerate(marks))
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1))


def archiving(graph: Graph, rows: Iterable[int]) -> Graph:
    return marked(graph, *((f"t{row}", Mark.ARCHIVED) for row in rows))


def ids(graph: Graph, selection: Any) -> list[NodeId]:
    rows = np.flatnonzero(selection) if selection.dtype == np.bool_ else selection
    return [graph.id(int(row)) for row in rows]


def summed(found: Activation) -> Any:
    return np.sum(list(found.contributions.values()), axis=0)


def ranked(found: Activation, graph: Graph) -> list[int]:
    rows: list[int] = fusion.top_rows(found.scores, filters.eligible(graph, QUERY), SIZE).tolist()
    return rows


# ---- marks


def test_access_kinds_keep_their_order() -> None:
    assert ACCESS_KINDS[:4] == (AccessKind.ENCODED, AccessKind.STIMULATED, AccessKind.RECALLED, AccessKind.USED)
    assert ACCESS_KINDS[4:] == tuple(Mark)


@pytest.mark.medium
@given(
    log=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ACCESS_KINDS)), max_size=16),
    cut=st.integers(0, 16),
)
def test_latest_mark_counts_and_marks_are_not_accesses(log: list[tuple[int, AccessKind | Mark]], cut: int) -> None:
    accesses = [
        Access(f"t{row}", NOON + timedelta(days=index), kind, 0.4, seq=100 + index)
        for index, (row, kind) in enumerate(log)
    ]

    def graph_of(added: list[Access]) -> Graph:
        graph = sample_graph(3)
        for part in (added[:cut], added[cut:]):
            graph = apply_batch(graph, WriteBatch(accesses=tuple(part), revision=graph.revision + 1))
            state(graph)  # caches values that the grown graph extends
        return graph

    graph, bare = graph_of(accesses), graph_of([access for access in accesses if not isinstance(access.kind, Mark)])
    for row in range(3):
        kinds = [access.kind for access in accesses if access.node == f"t{row}"]
        pinned = [kind for kind in kinds if kind in {Mark.PINNED, Mark.UNPINNED}]
        archived = [kind for kind in kinds if kind in {Mark.ARCHIVED, Mark.UNARCHIVED}]
        assert pinned_mask(graph)[row] == (pinned[-1:] == [Mark.PINNED])
        assert archived_mask(graph)[row] == (archived[-1:] == [Mark.ARCHIVED])
    assert not pinned_mask(bare).any()
    assert not archived_mask(bare).any()
    for ours, theirs in zip(state(graph), state(bare), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def state(graph: Graph) -> list[Any]:
    """The values derived from the accesses of a graph."""
    network = network_state(graph, Neuron())
    rows = np.flatnonzero(graph.episodes)
    pinned_mask(graph), archived_mask(graph)
    return [
        importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp() + 50 * DAY),
        last_access(graph),
        *(dormant_mask(graph, W) for W in (1, 2, 3)),
        network.now,
        network.spikes.counts,
        network.turns_since_spike(rows),
        network.spike_trains(rows).times,
        *(getattr(network.neurons, name) for name in network.neurons.__slots__),
    ]


# ---- what decay costs


def time_after(days: float) -> float:
    return NOON.timestamp() + days * DAY


@given(days=st.floats(0, 400), pinned=st.sets(st.integers(0, 4)))
def test_decay_grows_with_time(days: float, pinned: set[int]) -> None:
    graph = marked(sample_graph(5), *((f"t{row}", Mark.PINNED) for row in sorted(pinned)))
    earlier, later = (decay(graph, DecayPolicy(), time_after(time))[:5] for time in (days, days + 30))
    assert ((later >= earlier) & (earlier >= 0) & (later <= 1)).all()
    assert np.flatnonzero(later == 0).tolist() == sorted(pinned)
    constant = DecayPolicy(importance.ImportanceDecay(initial=0.1, base=0.1))
    assert not decay(graph, constant, time_after(days)).any()


# ---- effect on ranks


def test_recall_without_marks_is_unchanged() -> None:
    graph = sample_graph(SIZE)
    found, unarchived = (
        Fused().activate(QUERY, graph),
        marked(graph, ("t3", Mark.ARCHIVED), ("t3", Mark.UNARCHIVED)),
    )
    repeated = Fused().activate(QUERY, unarchived)
    np.testing.assert_array_equal(found.scores, repeated.scores)
    assert list(found.contributions) == list(repeated.contributions)
    assert not {DECAY, ARCHIVED} & set(found.contributions)


@pytest.mark.medium
@given(archived=st.sets(st.integers(0, SIZE - 1)), has_decay=st.booleans())
def test_archived_memories_rank_last_in_their_order(archived: set[int], has_decay: bool) -> None:
    strategy = Fused(decay_policy=DecayPolicy()) if has_decay else Fused()
    graph = sample_graph(SIZE)
    activation_before = strategy.activate(QUERY, graph)
    graph = archiving(graph, sorted(archived))
    activation_after = strategy.activate(QUERY, graph)
    ranks_before, ranks_after = ranked(activation_before, graph), ranked(activation_after, graph)
    assert ranks_after == [row for row in ranks_before if row not in archived] + [
        row for row in ranks_before if row in archived
    ]
    not_archived = np.array([row not in archived for row in range(len(graph))])
    np.testing.assert_array_equal(activation_after.scores[not_archived], activation_before.scores[not_archived])
    active = activation_after.scores > 0
    assert summed(activation_after)[active] == pytest.approx(activation_after.scores[active], abs=1e-4)
    assert activation_after.confidence == activation_before.confidence


def test_archived_memories_are_recalled_if_all_are_archived() -> None:
    graph = archiving(sample_graph(SIZE), range(SIZE))
    found, activation_before = Fused().activate(QUERY, graph), Fused().activate(QUERY, sample_graph(SIZE))
    np.testing.assert_array_equal(found.scores, activation_before.scores)


def test_pinned_memory_has_no_penalty() -> None:
    unmarked = sample_graph(SIZE)
    best = ranked(Fused().activate(QUERY, unmarked), unmarked)[0]
    graph = marked(unmarked, (f"t{best}", Mark.ARCHIVED), (f"t{best}", Mark.PINNED))
    found = Fused(decay_policy=DecayPolicy(), decay_weight=0.9).activate(QUERY, graph)
    assert found.contributions[DECAY][best] == 0
    assert ARCHIVED not in found.contributions
    assert ranked(found, graph)[0] == best
    others = found.scores > 0
    others[best] = False
    assert (found.contributions[DECAY][others] < 0).all()


def test_explanations_name_the_archived_penalty() -> None:
    unmarked = sample_graph(SIZE)
    best = ranked(Fused().activate(QUERY, unmarked), unmarked)[0]
    graph = archiving(unmarked, [best])
    found = Fused().activate(QUERY, graph)
    reasons = why(graph, found, best)
    assert sum(contribution.value for contribution in reasons.contributions) == pytest.approx(
        found.scores[best], abs=1e-4
    )
    assert [contribution.feature for contribution in reasons.contributions if contribution.value < -1][-1] == ARCHIVED

    def read(rows: Rows) -> list[Node]:
        return [sample_node(graph.id(row)) for row in rows.tolist()]

    ranked_hits = rank(graph, QUERY, found, 3, None, read, explain=True)
    miss = explain.why_not(ranked_hits, f"t{best}", [f"t{best}"])
    assert miss.miss_reason is explain.MissReason.BELOW_CUTOFF
    assert miss.shortfall[0].feature == ARCHIVED


def test_marks_are_deleted_with_a_memory() -> None:
    batch = sample_batch(sample_node("a", seq=1), sample_node("b", seq=2))
    graph = marked(apply_batch(Graph(), replace(batch, revision=1)), ("b", Mark.PINNED), ("b", Mark.ARCHIVED))
    after_forgetting = apply_batch(graph, WriteBatch(tombstones=(Tombstone("a", b"a"),), revision=3))
    masks: list[Mask] = [pinned_mask(after_forgetting), archived_mask(after_forgetting)]
    assert [mask.tolist() for mask in masks] == [[True], [True]]


def test_marks_are_written_durably(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    durable_flags: list[bool] = []
    transaction = SQLiteStore._transaction

    def recording_transaction(store: SQLiteStore, mode: str, *, durable: bool = True) -> Any:
        durable_flags.append(durable)
        return transaction(store, mode, durable=durable)

    store = SQLiteStore(tmp_path / "m.db")
    store.commit("s", sample_batch(sample_node("a")))
    monkeypatch.setattr(SQLiteStore, "_transaction", recording_transaction)
    for kind in ACCESS_KINDS:
        store.commit("s", WriteBatch(accesses=(Access("a", NOON, kind),)))
    store.close()
    assert durable_flags == [isinstance(kind, Mark) for kind in ACCESS_KINDS]


def test_decay_is_the_lost_part_of_the_importance() -> None:
    """(initial − importance) / (initial − base), by the importance at each time."""
    graph, policy = sample_graph(), DecayPolicy(importance.ImportanceDecay(initial=0.8, base=0.2))
    for days in (0, 30, 400):
        now = NOON.timestamp() + days * DAY
        values = importance.importance(graph, policy.importance_decay, now)
        expected = np.clip((0.8 - values) / (0.8 - 0.2), 0, 1)
        assert decay(graph, policy, now) == pytest.approx(expected, abs=1e-6)
        assert days == 0 or decay(graph, policy, now).max() > 0.01
