"""The access log is bounded: each memory keeps the last accesses of each kind, and what follows from them stays."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ecphora.cli import render
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import StoreDamaged
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.memory import Memory
from ecphora.model import (
    ACCESS_KINDS,
    FULL_LOG,
    Access,
    AccessKind,
    Episode,
    LogRetention,
    Mark,
    NodeId,
    Tombstone,
    WriteBatch,
)
from ecphora.ports import FullLogStrategy
from ecphora.stages.eisa.chronology import last_access
from ecphora.stages.fused.decay import archived_mask, pinned_mask
from ecphora.stages.retrieval import importance
from ecphora.stores.batch_writer import KEEP_LAST
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies import BUILT_IN, FAITHFUL
from ecphora.testing import NOON, FakeClock, graph_differences, sample_batch, sample_graph, sample_node, sample_query

SMALL = partial(SQLiteStore, keep_last=3, min_log_growth=10)
"""A store whose log expires soon."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SMALL(path)) as found:
        found.commit("s", sample_batch(sample_node("a"), sample_node("b")))
        yield found


def touched(
    *nodes: NodeId, touch: AccessKind | Mark = AccessKind.RECALLED, hours: float = 0, strength: float = 0.5
) -> WriteBatch:
    at = NOON + timedelta(hours=hours)
    return WriteBatch(accesses=tuple(Access(node, at, touch, strength) for node in nodes))


def loaded(store: SQLiteStore, scope: str = "s") -> Graph:
    return apply_batch(Graph(), store.changes_since(scope, 0))


def logged(graph: Graph, node: NodeId, touch: AccessKind | Mark = AccessKind.RECALLED) -> list[Access]:
    return [access for access in graph.accesses_of(graph.row(node) or 0) if access.kind is touch]


# ---- the bound


def test_of_each_kind_the_last_are_kept_and_know_how_many_there_were(store: SQLiteStore) -> None:
    for hour in range(1, 12):
        store.commit("s", touched("a", hours=hour))
    store.commit("s", touched("b", touch=AccessKind.USED))
    graph = loaded(store)
    # The tenth access let the log expire; two came after it.
    assert [(one.nth, one.at) for one in logged(graph, "a")] == [
        (nth, NOON + timedelta(hours=nth)) for nth in (8, 9, 10, 11)
    ]
    assert [one.nth for one in logged(graph, "b", AccessKind.USED)] == [1]
    assert [one.kind for one in graph.accesses_of(1)] == [AccessKind.ENCODED, AccessKind.USED]
    assert graph.retention == LogRetention(through_seq=12, keep_last=3)


def test_the_bound_holds_whatever_is_recalled(store: SQLiteStore, path: Path) -> None:
    stored, counting = [], []
    for turn in range(160):
        store.commit("s", touched(*("ab"[turn % 3 % 2 :]), touch=ACCESS_KINDS[turn % 4]))
        stored.append(len(store.changes_since("s", 0).accesses))
        counting.append(len(loaded(store).accesses) - 2)
    left, growth = 2 * 4 * 3, 12
    assert max(counting) <= left + growth + 2
    assert max(stored) <= left + 2 * growth + 2
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("SELECT count(*), max(nth) FROM access").fetchall() == [(stored[-1], 41)]  # stored once
        assert db.execute("SELECT log_size FROM scope").get == stored[-1]


def test_to_remember_again_is_counted_from_the_first_time(store: SQLiteStore) -> None:
    for _ in range(10):
        store.commit("s", touched("a", touch=AccessKind.ENCODED))
    assert [one.nth for one in logged(loaded(store), "a", AccessKind.ENCODED)] == [1, 9, 10, 11]


def test_a_mark_is_never_lost(store: SQLiteStore) -> None:
    store.commit("s", touched("a", touch=Mark.PINNED))
    store.commit("s", touched("b", touch=Mark.ARCHIVED))
    store.commit("s", touched("b", touch=Mark.UNARCHIVED))
    grown = loaded(store)
    for _ in range(20):
        grown = apply_batch(grown, store.commit("s", touched("a", "b")))
        for graph in (grown, loaded(store)):
            assert pinned_mask(graph).tolist() == [True, False]
            assert archived_mask(graph).tolist() == [False, False]
    assert grown.retention != FULL_LOG


def test_a_reader_who_missed_much_sees_what_is_left(store: SQLiteStore, path: Path) -> None:
    """Read after every commit, now and then, or from the start: one graph, and the same follows from it."""
    follower = SMALL(path)
    every, seldom, graphs = loaded(follower), loaded(follower), [loaded(follower)]
    for turn in range(60):
        change = touched("a", "b", hours=turn) if turn % 3 else touched("b", touch=AccessKind.USED, hours=turn)
        if turn == 30:
            change = WriteBatch(tombstones=(Tombstone("a", b"a"),), nodes=(sample_node("c"),))
        written = store.commit("s", change if turn < 30 else replace(change, accesses=change.accesses[-1:]))
        every = apply_batch(every, written)
        follow(every)
        if turn % 7 == 0:
            seldom = apply_batch(seldom, follower.changes_since("s", seldom.revision))
            follow(seldom)
            assert graph_differences(seldom, every) == []
        graphs.append(every)
    fresh = loaded(follower)
    for graph in graphs:
        again = apply_batch(graph, follower.changes_since("s", graph.revision))
        assert graph_differences(again, fresh) == []
        for ours, theirs in zip(follow(again), follow(fresh), strict=True):
            assert ours.tolist() == theirs.tolist()
    follower.close()


def follow(graph: Graph) -> list[np.ndarray]:
    """What follows from the log."""
    return [importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp() + 1e6), last_access(graph)]


# ---- what is read of it


def test_no_practical_strategy_recalls_otherwise_for_what_has_expired() -> None:
    """The last accesses are all that they read: what expires changes no score."""
    graph, seq = sample_graph(), 100
    for turn in range(3 * KEEP_LAST):
        rows = [f"t{(turn + step) % 7}" for step in range(3)]
        accesses = tuple(
            Access(node, NOON + timedelta(minutes=turn), AccessKind.RECALLED, 0.5, seq + step, turn)
            for step, node in enumerate(rows)
        )
        graph, seq = apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1)), seq + 3
    ended = apply_batch(graph, WriteBatch(retention=LogRetention(seq, KEEP_LAST), revision=graph.revision + 1))
    assert len(ended.accesses) < len(graph.accesses)
    cue = sample_query("Where does Ana live in Porto?")
    for strategy in BUILT_IN.values():
        assert strategy.activate(cue, ended).scores.tolist() == strategy.activate(cue, graph).scores.tolist()


@given(
    days=st.lists(st.sampled_from([0.0, 0.01, 1, 5, 9, 12, 20, 30, 90]), min_size=KEEP_LAST + 1, max_size=3 * KEEP_LAST)
)
def test_importance_outlives_what_it_was_counted_from(days: Sequence[float]) -> None:
    graph = sample_graph(1)
    at = np.cumsum(days).tolist()
    accesses = tuple(
        Access("t0", NOON + timedelta(days=day), AccessKind.RECALLED, 1.0, 100 + place, place + 1)
        for place, day in enumerate(at)
    )
    whole = apply_batch(graph, WriteBatch(accesses=accesses, revision=2))
    ended = apply_batch(whole, WriteBatch(retention=LogRetention(99 + len(at), KEEP_LAST), revision=3))
    assert len(ended.accesses) == KEEP_LAST + 1
    now = NOON.timestamp() + (at[-1] + 10) * 86_400
    found, before = (importance.importance(one, importance.ImportanceDecay(), now)[0] for one in (ended, whole))
    assert found == pytest.approx(before, abs=0.003)


def test_importance_counts_what_has_expired() -> None:
    """Two uses are left of fifty-one: I = .6 + .2 (1 - exp(-50 / 5)) + .2 (1 - exp(-51 / 5))."""
    accesses = tuple(Access("t0", NOON, AccessKind.RECALLED, 1.0, 100 + nth, nth) for nth in (50, 51))
    graph = apply_batch(sample_graph(1), WriteBatch(accesses=accesses, retention=LogRetention(200, 2), revision=2))
    found = importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp())
    assert found[0] == pytest.approx(0.6 + 0.2 * (1 - np.exp(-10)) + 0.2 * (1 - np.exp(-10.2)))
    used = (Access("t0", NOON, AccessKind.USED, 1.0, 200, 9),)  # of both kinds together
    graph = apply_batch(sample_graph(1), WriteBatch(accesses=accesses[:1] + used, revision=2))
    found = importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp())
    assert found[0] == pytest.approx(0.6 + 0.2 * (1 - np.exp(-10)) + 0.2 * (1 - np.exp(-59 / 5)))


def test_a_life_tells_how_often_it_was_touched(path: Path) -> None:
    with closing(SMALL(path)) as store, Memory(store, embedder=HashingEmbedder(64), strategy="bm25") as memory:
        memory.remember(Episode("The river is lovely.", id="river"))
        for _ in range(14):
            memory.recall("river")
        found = memory.history("river")
        assert found is not None
        assert [access.nth for access in found.accesses] == [1, *range(8, 15)]
        out = StringIO()
        render.print_history(Console(file=out, width=200), found)
        assert "1× encoded, 14× recalled" in out.getvalue()


# ---- logs that stay whole


@pytest.mark.parametrize("name", ["synaptic", "synapse", "eisa", "weave"])
def test_only_the_published_forms_ask_for_a_whole_log(name: str) -> None:
    for strategy, whole in ((BUILT_IN[name], False), (FAITHFUL[f"{name}-faithful"], True)):
        assert isinstance(strategy, FullLogStrategy)
        assert strategy.needs_full_log is whole


@pytest.mark.parametrize("recalls", [True, False], ids=["recalled", "stored"])
def test_a_scope_used_by_a_published_form_keeps_everything(path: Path, recalls: bool) -> None:
    with closing(SMALL(path)) as store:
        for scope in ("faithful", "other"):
            with Memory(store, scope=scope, embedder=HashingEmbedder(64), strategy="bm25") as memory:
                memory.remember(Episode("The river is lovely.", id="river"))
                if scope == "faithful" and recalls:
                    memory.recall("river", strategy="synapse-faithful")
            if scope == "faithful" and not recalls:
                with Memory(store, scope=scope, embedder=HashingEmbedder(64), strategy="weave-faithful") as memory:
                    memory.remember("The boat.")
            with Memory(store, scope=scope, embedder=HashingEmbedder(64), strategy="bm25") as memory:
                for _ in range(30):
                    memory.recall("river")
        kept = {scope: len(logged(loaded(store, scope), "river")) for scope in ("faithful", "other")}
        assert kept["faithful"] >= 30
        assert kept["other"] < 15


def test_a_log_that_is_whole_stays_so_elsewhere(path: Path, store: SQLiteStore) -> None:
    store.commit("s", replace(touched("a"), needs_full_log=True))
    for _ in range(20):
        store.commit("s", touched("a"))
    with (
        Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory,
        closing(SMALL(path.with_name("b.db"))) as there,
    ):
        out = StringIO()
        memory.export(out)
        with Memory(there, scope="s", embedder=HashingEmbedder(16)) as other:
            other.import_(out.getvalue().splitlines())
            assert [one.nth for one in logged(other.graph(), "a")] == list(range(1, 22))


# ---- carried elsewhere


def exported(store: SQLiteStore) -> list[str]:
    out = StringIO()
    with Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory:
        memory.export(out)
    return out.getvalue().splitlines()


def taken_in(store: SQLiteStore, lines: Sequence[str]) -> int:
    with Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory:
        return memory.import_(lines).accesses


def test_what_has_expired_does_not_come_back_by_an_import(store: SQLiteStore) -> None:
    for hour in range(1, 9):
        store.commit("s", touched("a", hours=hour))
    before = exported(store)
    for hour in range(9, 16):
        store.commit("s", touched("a", hours=hour))
    assert taken_in(store, before) == 0
    assert [one.nth for one in logged(loaded(store), "a")] == list(range(8, 16))


def test_counts_are_carried_along(store: SQLiteStore, path: Path) -> None:
    for hour in range(1, 12):
        store.commit("s", touched("a", hours=hour))
    lines = exported(store)
    with closing(SMALL(path.with_name("b.db"))) as there:
        assert taken_in(there, lines) == 4
        assert taken_in(there, lines) == 0
        assert [one.nth for one in logged(loaded(there), "a")] == [8, 9, 10, 11]
        assert exported(there)[1:] == lines[1:]
        store.commit("s", touched("a", "b", hours=12))
        assert taken_in(there, exported(store)) == 2
        assert exported(there)[1:] == exported(store)[1:]


# ---- rows that cannot be read, and several readers


@pytest.mark.parametrize(
    ("change", "what"), [("kind = 99", "99 is no kind of access"), ("at = 9e18", "9000000000000000000 is no time")]
)
def test_an_access_that_cannot_be_read_is_damage(store: SQLiteStore, path: Path, change: str, what: str) -> None:
    store.commit("s", touched("a"))
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"UPDATE access SET {change}")  # noqa: S608
    with pytest.raises(StoreDamaged, match=f"an access of node 'a': {what}"):
        store.changes_since("s", 0)


def test_recalls_of_one_process_stay_visible_while_the_log_expires(path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(closing(SMALL(path)))
        memory = stack.enter_context(Memory(store, embedder=HashingEmbedder(64), strategy="bm25", clock=FakeClock()))
        memory.remember(Episode("The river is lovely.", id="river"))
        for count in range(1, 40):
            memory.recall("river")
            assert logged(memory.graph(), "river")[-1].nth == count
        assert memory.unlogged_count == 0
        memory._access_log.flush(10)
        assert graph_differences(memory.graph(), loaded(store, "default")) == []
