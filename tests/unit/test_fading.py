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
from ecphora.graph import TOUCHES, Graph
from ecphora.model import MARKING, Access, Change, Edge, Forgotten, Kind, Link, Mask, Node, NodeId, Rows, Touch
from ecphora.ports import Activation
from ecphora.stages import choose, importance
from ecphora.stages.charge import charged
from ecphora.stages.chronology import last_touch
from ecphora.stages.dormancy import dormant
from ecphora.stages.fading import Fading, archived, faded, faintness, protected
from ecphora.stages.neuron import Neuron
from ecphora.stages.particles import particle
from ecphora.stores.sqlite import SQLite
from ecphora.strategies.fused import ARCHIVED, FADING, Fused
from ecphora.testing import NOON, sample_change, sample_cue, sample_graph, sample_node

DAY = 86_400.0
SIZE = 20
CUE = sample_cue("Did Mia find a school in Porto?")


def marked(graph: Graph, *touches: tuple[NodeId, Touch], days: float = 0.0) -> Graph:
    """A graph grown by accesses, so many days after noon."""
    seq = int(max(graph.nodes["seq"].max(), graph.accesses["seq"].max())) + 1
    at = NOON + timedelta(days=days)
    accesses = tuple(Access(node, at, touch, seq=seq + place) for place, (node, touch) in enumerate(touches))
    return graph.plus(Change(accesses=accesses, revision=graph.revision + 1))


def archiving(graph: Graph, rows: Iterable[int]) -> Graph:
    return marked(graph, *((f"t{row}", Touch.ARCHIVED) for row in rows))


def ids(graph: Graph, which: Any) -> list[NodeId]:
    rows = np.flatnonzero(which) if which.dtype == np.bool_ else which
    return [graph.id(int(row)) for row in rows]


def summed(found: Activation) -> Any:
    return np.sum(list(found.shares.values()), axis=0)


def ranked(found: Activation, graph: Graph) -> list[int]:
    rows: list[int] = choose.best(found.scores, choose.allowed(graph, CUE), SIZE).tolist()
    return rows


# ---- marks


def test_touches_keep_their_numbers() -> None:
    assert TOUCHES[:4] == (Touch.ENCODED, Touch.STIMULATED, Touch.RECALLED, Touch.USED)
    assert frozenset(TOUCHES[4:]) == MARKING


@given(
    log=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(TOUCHES)), max_size=16),
    cut=st.integers(0, 16),
)
def test_the_latest_mark_decides_and_none_is_an_access(log: list[tuple[int, Touch]], cut: int) -> None:
    accesses = [
        Access(f"t{row}", NOON + timedelta(days=place), touch, 0.4, seq=100 + place)
        for place, (row, touch) in enumerate(log)
    ]

    def grown(some: list[Access]) -> Graph:
        graph = sample_graph(3)
        for part in (some[:cut], some[cut:]):
            graph = graph.plus(Change(accesses=tuple(part), revision=graph.revision + 1))
            state(graph)  # of a grown graph only what is new is read
        return graph

    graph, bare = grown(accesses), grown([one for one in accesses if one.touch not in MARKING])
    for row in range(3):
        told = [one.touch for one in accesses if one.node == f"t{row}"]
        guarded = [one for one in told if one in {Touch.PROTECTED, Touch.RELEASED}]
        put_away = [one for one in told if one in {Touch.ARCHIVED, Touch.RETURNED}]
        assert protected(graph)[row] == (guarded[-1:] == [Touch.PROTECTED])
        assert archived(graph)[row] == (put_away[-1:] == [Touch.ARCHIVED])
        node = sample_node(f"t{row}")
        assert particle(graph, node).accesses == particle(bare, node).accesses
    assert not protected(bare).any()
    assert not archived(bare).any()
    for ours, theirs in zip(state(graph), state(bare), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def state(graph: Graph) -> list[Any]:
    """What follows from the accesses of a graph."""
    told = charged(graph, Neuron())
    rows = np.flatnonzero(graph.episodes)
    protected(graph), archived(graph)
    return [
        importance.importance(graph, importance.Fading(), NOON.timestamp() + 50 * DAY),
        last_touch(graph),
        *(dormant(graph, W) for W in (1, 2, 3)),
        told.now,
        told.counts,
        told.waited(rows),
        told.trains(rows).times,
        *(getattr(told.charge, name) for name in told.charge.__slots__),
    ]


# ---- what has faded


def passed(days: float) -> float:
    return NOON.timestamp() + days * DAY


def test_what_was_of_no_use_for_long_has_faded() -> None:
    graph = sample_graph(3)
    assert ids(graph, faded(graph, Fading(), passed(89))) == []
    assert ids(graph, faded(graph, Fading(), passed(101))) == ["t0", "t1", "t2"]
    assert ids(graph, faded(graph, Fading(below=0.2), passed(91))) == ["t0", "t1", "t2"]
    assert ids(graph, faded(graph, Fading(below=0.2), passed(89))) == []


def test_the_weakest_comes_first_and_use_holds_off() -> None:
    graph = marked(sample_graph(3), ("t0", Touch.USED), days=10)
    assert ids(graph, faded(graph, Fading(), passed(120))) == ["t1", "t2", "t0"]
    stirred = marked(graph, ("t1", Touch.STIMULATED), ("t2", Touch.ENCODED), days=100)
    assert ids(stirred, faded(stirred, Fading(), passed(120))) == ["t0"]


def test_what_is_marked_is_not_archived_again() -> None:
    graph = marked(sample_graph(3), ("t0", Touch.PROTECTED), ("t1", Touch.ARCHIVED))
    assert ids(graph, faded(graph, Fading(), passed(200))) == ["t2"]
    again = marked(graph, ("t0", Touch.RELEASED), ("t1", Touch.RETURNED), days=200)
    assert ids(again, faded(again, Fading(), passed(200))) == ["t0", "t2"]
    assert ids(again, faded(again, Fading(), passed(291))) == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("kinds", "edges", "left"),
    [
        ([Kind.INSIGHT], [("a", "t0", Link.DERIVED_FROM)], ["t1", "t2"]),
        ([Kind.CLAIM], [("a", "t0", Link.CLAIMED_IN)], ["t0", "t1", "t2"]),
        (
            [Kind.CLAIM, Kind.CLAIM],
            [("a", "t0", Link.CLAIMED_IN), ("b", "t1", Link.CLAIMED_IN), ("b", "a", Link.SUPERSEDES)],
            ["t0", "t2"],
        ),
        ([], [("t2", "t0", Link.SUPERSEDES)], ["t0", "t1"]),
        ([Kind.QUESTION], [("a", "t0", Link.ANSWERED_BY)], ["t0", "t1", "t2"]),
    ],
)
def test_what_something_rests_on_stays(
    kinds: list[Kind], edges: list[tuple[str, str, Link]], left: list[NodeId]
) -> None:
    nodes = [sample_node(id_, kind=kind, seq=50 + n) for n, (id_, kind) in enumerate(zip("ab", kinds, strict=False))]
    graph = sample_graph(3).plus(Change(nodes=tuple(nodes), edges=tuple(Edge(*edge) for edge in edges), revision=2))
    assert ids(graph, faded(graph, Fading(), passed(200))) == left


@given(days=st.floats(0, 400), guarded=st.sets(st.integers(0, 4)))
def test_faintness_grows_with_time(days: float, guarded: set[int]) -> None:
    graph = marked(sample_graph(5), *((f"t{row}", Touch.PROTECTED) for row in sorted(guarded)))
    earlier, later = (faintness(graph, Fading(), passed(time))[:5] for time in (days, days + 30))
    assert ((later >= earlier) & (earlier >= 0) & (later <= 1)).all()
    assert np.flatnonzero(later == 0).tolist() == sorted(guarded)
    even = Fading(importance.Fading(start=0.1, base=0.1))
    assert not faintness(graph, even, passed(days)).any()


# ---- in a rank


def test_without_marks_and_fading_nothing_changes() -> None:
    graph = sample_graph(SIZE)
    found, back = Fused().activate(CUE, graph), marked(graph, ("t3", Touch.ARCHIVED), ("t3", Touch.RETURNED))
    again = Fused().activate(CUE, back)
    np.testing.assert_array_equal(found.scores, again.scores)
    assert list(found.shares) == list(again.shares)
    assert not {FADING, ARCHIVED} & set(found.shares)


@given(away=st.sets(st.integers(0, SIZE - 1)), fades=st.booleans())
def test_what_is_archived_steps_back_behind_all_else(away: set[int], fades: bool) -> None:
    strategy = Fused(fading=Fading()) if fades else Fused()
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
    graph = marked(plain, (f"t{best}", Touch.ARCHIVED), (f"t{best}", Touch.PROTECTED))
    found = Fused(fading=Fading(), faint=0.9).activate(CUE, graph)
    assert found.shares[FADING][best] == 0
    assert ARCHIVED not in found.shares
    assert ranked(found, graph)[0] == best
    others = found.scores > 0
    others[best] = False
    assert (found.shares[FADING][others] < 0).all()


def test_it_says_why_and_why_not() -> None:
    plain = sample_graph(SIZE)
    best = ranked(Fused().activate(CUE, plain), plain)[0]
    graph = archiving(plain, [best])
    found = Fused().activate(CUE, graph)
    why = explain.why(graph, found, best)
    assert sum(share.value for share in why.shares) == pytest.approx(found.scores[best], abs=1e-4)
    assert [share.stage for share in why.shares if share.value < -1][-1] == ARCHIVED

    def read(rows: Rows) -> list[Node]:
        return [sample_node(graph.id(row)) for row in rows.tolist()]

    hits = explain.hits_of(graph, CUE, found, 3, read, explain=True)
    said = explain.why_not(explain.Answered(graph, CUE, found, hits, None, read), f"t{best}", [f"t{best}"])
    assert said.stage is explain.Fell.OUTRANKED
    assert said.lacking[0].stage == ARCHIVED


def test_marks_go_with_a_memory() -> None:
    change = sample_change(sample_node("a", seq=1), sample_node("b", seq=2))
    graph = marked(Graph().plus(replace(change, revision=1)), ("b", Touch.PROTECTED), ("b", Touch.ARCHIVED))
    gone = graph.plus(Change(forgotten=(Forgotten("a", b"a"),), revision=3))
    masks: list[Mask] = [protected(gone), archived(gone)]
    assert [mask.tolist() for mask in masks] == [[True], [True]]


def test_a_mark_survives_a_crash_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[bool] = []
    transaction = SQLite._transaction

    def spied(store: SQLite, mode: str, *, durable: bool = True) -> Any:
        waits.append(durable)
        return transaction(store, mode, durable=durable)

    store = SQLite(tmp_path / "m.db")
    store.commit("s", sample_change(sample_node("a")))
    monkeypatch.setattr(SQLite, "_transaction", spied)
    for touch in TOUCHES:
        store.commit("s", Change(accesses=(Access("a", NOON, touch),)))
    store.close()
    assert waits == [touch in MARKING for touch in TOUCHES]
