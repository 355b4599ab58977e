"""The bounded access log: each memory keeps the last accesses of each kind, and derived values stay."""

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
from ecphora.errors import StoreDamaged
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph, archived_mask, last_access, pinned_mask
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import FullLogStrategy
from ecphora.model.types import (
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
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import importance
from ecphora.stores.rows.batch_writer import KEEP_LAST
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


def access_batch(
    *nodes: NodeId, kind: AccessKind | Mark = AccessKind.RECALLED, hours: float = 0, strength: float = 0.5
) -> WriteBatch:
    at = NOON + timedelta(hours=hours)
    return WriteBatch(accesses=tuple(Access(node, at, kind, strength) for node in nodes))


def loaded(store: SQLiteStore, scope: str = "s") -> Graph:
    return apply_batch(Graph(), store.changes_since(scope, 0))


def logged(graph: Graph, node: NodeId, kind: AccessKind | Mark = AccessKind.RECALLED) -> list[Access]:
    return [access for access in graph.accesses_of(graph.row(node) or 0) if access.kind is kind]


# ---- bound


def test_last_accesses_are_kept_with_their_counts(store: SQLiteStore) -> None:
    for hour in range(1, 12):
        store.commit("s", access_batch("a", hours=hour))
    store.commit("s", access_batch("b", kind=AccessKind.USED))
    graph = loaded(store)
    # The tenth access let the log expire; two came after it.
    assert [(access.count, access.at) for access in logged(graph, "a")] == [
        (nth, NOON + timedelta(hours=nth)) for nth in (8, 9, 10, 11)
    ]
    assert [access.count for access in logged(graph, "b", AccessKind.USED)] == [1]
    assert [access.kind for access in graph.accesses_of(1)] == [AccessKind.ENCODED, AccessKind.USED]
    assert graph.retention == LogRetention(through_seq=12, keep_last=3)


@pytest.mark.medium
def test_log_size_is_bounded(store: SQLiteStore, path: Path) -> None:
    stored_counts, loaded_counts = [], []
    for turn in range(160):
        store.commit("s", access_batch(*("ab"[turn % 3 % 2 :]), kind=ACCESS_KINDS[turn % 4]))
        stored_counts.append(len(store.changes_since("s", 0).accesses))
        loaded_counts.append(len(loaded(store).accesses) - 2)
    retained, growth = 2 * 4 * 3, 12
    assert max(loaded_counts) <= retained + growth + 2
    assert max(stored_counts) <= retained + 2 * growth + 2
    with closing(apsw.Connection(str(path))) as db:
        rows = db.execute("SELECT count(*), max(nth) FROM access").fetchall()
        assert rows == [(stored_counts[-1], 41)]  # each access is stored once
        assert db.execute("SELECT log_size FROM scope").get == stored_counts[-1]


def test_first_encoding_is_kept(store: SQLiteStore) -> None:
    for _ in range(10):
        store.commit("s", access_batch("a", kind=AccessKind.ENCODED))
    assert [access.count for access in logged(loaded(store), "a", AccessKind.ENCODED)] == [1, 9, 10, 11]


@pytest.mark.medium
def test_marks_never_expire(store: SQLiteStore) -> None:
    store.commit("s", access_batch("a", kind=Mark.PINNED))
    store.commit("s", access_batch("b", kind=Mark.ARCHIVED))
    store.commit("s", access_batch("b", kind=Mark.UNARCHIVED))
    grown = loaded(store)
    for _ in range(20):
        grown = apply_batch(grown, store.commit("s", access_batch("a", "b")))
        for graph in (grown, loaded(store)):
            assert pinned_mask(graph).tolist() == [True, False]
            assert archived_mask(graph).tolist() == [False, False]
    assert grown.retention != FULL_LOG


@pytest.mark.medium
def test_late_reader_sees_the_retained_log(store: SQLiteStore, path: Path) -> None:
    """Reading after every commit, rarely, or from the start gives one graph with the same derived values."""
    follower = SMALL(path)
    always, rarely, graphs = loaded(follower), loaded(follower), [loaded(follower)]
    for turn in range(60):
        batch = access_batch("a", "b", hours=turn) if turn % 3 else access_batch("b", kind=AccessKind.USED, hours=turn)
        if turn == 30:
            batch = WriteBatch(tombstones=(Tombstone("a", b"a"),), nodes=(sample_node("c"),))
        written = store.commit("s", batch if turn < 30 else replace(batch, accesses=batch.accesses[-1:]))
        always = apply_batch(always, written)
        derived_values(always)
        if turn % 7 == 0:
            rarely = apply_batch(rarely, follower.changes_since("s", rarely.revision))
            derived_values(rarely)
            assert graph_differences(rarely, always) == []
        graphs.append(always)
    fresh = loaded(follower)
    for graph in graphs:
        again = apply_batch(graph, follower.changes_since("s", graph.revision))
        assert graph_differences(again, fresh) == []
        for ours, theirs in zip(derived_values(again), derived_values(fresh), strict=True):
            assert ours.tolist() == theirs.tolist()
    follower.close()


def derived_values(graph: Graph) -> list[np.ndarray]:
    """The values derived from the log."""
    return [importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp() + 1e6), last_access(graph)]


# ---- derived values


@pytest.mark.medium
def test_expired_accesses_change_no_practical_score() -> None:
    """They read only the last accesses, so expired ones change no score."""
    graph, seq = sample_graph(), 100
    for turn in range(3 * KEEP_LAST):
        rows = [f"t{(turn + step) % 7}" for step in range(3)]
        accesses = tuple(
            Access(node, NOON + timedelta(minutes=turn), AccessKind.RECALLED, 0.5, seq + step, turn)
            for step, node in enumerate(rows)
        )
        graph, seq = apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1)), seq + 3
    expired = apply_batch(graph, WriteBatch(retention=LogRetention(seq, KEEP_LAST), revision=graph.revision + 1))
    assert len(expired.accesses) < len(graph.accesses)
    query = sample_query("Where does Ana live in Porto?")
    for strategy in BUILT_IN.values():
        assert strategy.activate(query, expired).scores.tolist() == strategy.activate(query, graph).scores.tolist()


@pytest.mark.medium
@given(
    days=st.lists(st.sampled_from([0.0, 0.01, 1, 5, 9, 12, 20, 30, 90]), min_size=KEEP_LAST + 1, max_size=3 * KEEP_LAST)
)
def test_importance_is_unchanged_by_expiry(days: Sequence[float]) -> None:
    graph = sample_graph(1)
    at = np.cumsum(days).tolist()
    accesses = tuple(
        Access("t0", NOON + timedelta(days=day), AccessKind.RECALLED, 1.0, 100 + index, index + 1)
        for index, day in enumerate(at)
    )
    full = apply_batch(graph, WriteBatch(accesses=accesses, revision=2))
    expired = apply_batch(full, WriteBatch(retention=LogRetention(99 + len(at), KEEP_LAST), revision=3))
    assert len(expired.accesses) == KEEP_LAST + 1
    now = NOON.timestamp() + (at[-1] + 10) * 86_400
    found, before = (importance.importance(one, importance.ImportanceDecay(), now)[0] for one in (expired, full))
    assert found == pytest.approx(before, abs=0.003)


def test_importance_counts_expired_accesses() -> None:
    """Two uses are left of fifty-one: I = .6 + .2 (1 - exp(-50 / 5)) + .2 (1 - exp(-51 / 5))."""
    accesses = tuple(Access("t0", NOON, AccessKind.RECALLED, 1.0, 100 + nth, nth) for nth in (50, 51))
    graph = apply_batch(sample_graph(1), WriteBatch(accesses=accesses, retention=LogRetention(200, 2), revision=2))
    found = importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp())
    assert found[0] == pytest.approx(0.6 + 0.2 * (1 - np.exp(-10)) + 0.2 * (1 - np.exp(-10.2)))
    uses = (Access("t0", NOON, AccessKind.USED, 1.0, 200, 9),)  # both kinds are counted together
    graph = apply_batch(sample_graph(1), WriteBatch(accesses=accesses[:1] + uses, revision=2))
    found = importance.importance(graph, importance.ImportanceDecay(), NOON.timestamp())
    assert found[0] == pytest.approx(0.6 + 0.2 * (1 - np.exp(-10)) + 0.2 * (1 - np.exp(-59 / 5)))


@pytest.mark.medium
def test_history_has_access_counts(path: Path) -> None:
    with closing(SMALL(path)) as store, Memory(store, embedder=HashingEmbedder(64), strategy="bm25") as memory:
        memory.remember(Episode("The river is lovely.", id="river"))
        for _ in range(14):
            memory.recall("river")
        found = memory.history("river")
        assert found is not None
        assert [access.count for access in found.accesses] == [1, *range(8, 15)]
        out = StringIO()
        render.print_history(Console(file=out, width=200), found)
        assert "1× encoded, 14× recalled" in out.getvalue()


# ---- full logs


@pytest.mark.parametrize("name", ["synaptic", "synapse", "eisa", "weave"])
def test_only_faithful_strategies_need_a_full_log(name: str) -> None:
    for strategy, full in ((BUILT_IN[name], False), (FAITHFUL[f"{name}-faithful"], True)):
        assert isinstance(strategy, FullLogStrategy)
        assert strategy.needs_full_log is full


@pytest.mark.medium
@pytest.mark.parametrize("recalls", [True, False], ids=["recalled", "stored"])
def test_scope_of_a_faithful_strategy_keeps_all_accesses(path: Path, recalls: bool) -> None:
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
        counts = {scope: len(logged(loaded(store, scope), "river")) for scope in ("faithful", "other")}
        assert counts["faithful"] >= 30
        assert counts["other"] < 15


def test_full_log_stays_full_after_import(path: Path, store: SQLiteStore) -> None:
    store.commit("s", replace(access_batch("a"), needs_full_log=True))
    for _ in range(20):
        store.commit("s", access_batch("a"))
    with (
        Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory,
        closing(SMALL(path.with_name("b.db"))) as other_store,
    ):
        out = StringIO()
        memory.export(out)
        with Memory(other_store, scope="s", embedder=HashingEmbedder(16)) as other:
            other.import_(out.getvalue().splitlines())
            assert [access.count for access in logged(other.graph(), "a")] == list(range(1, 22))


# ---- export and import


def exported(store: SQLiteStore) -> list[str]:
    out = StringIO()
    with Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory:
        memory.export(out)
    return out.getvalue().splitlines()


def import_accesses(store: SQLiteStore, lines: Sequence[str]) -> int:
    with Memory(store, scope="s", embedder=HashingEmbedder(16)) as memory:
        return memory.import_(lines, change_existing=True).accesses


def test_import_does_not_restore_expired_accesses(store: SQLiteStore) -> None:
    for hour in range(1, 9):
        store.commit("s", access_batch("a", hours=hour))
    before = exported(store)
    for hour in range(9, 16):
        store.commit("s", access_batch("a", hours=hour))
    assert import_accesses(store, before) == 0
    assert [access.count for access in logged(loaded(store), "a")] == list(range(8, 16))


@pytest.mark.medium
def test_export_and_import_keep_access_counts(store: SQLiteStore, path: Path) -> None:
    for hour in range(1, 12):
        store.commit("s", access_batch("a", hours=hour))
    lines = exported(store)
    with closing(SMALL(path.with_name("b.db"))) as other_store:
        assert import_accesses(other_store, lines) == 4
        assert import_accesses(other_store, lines) == 0
        assert [access.count for access in logged(loaded(other_store), "a")] == [8, 9, 10, 11]
        assert exported(other_store)[1:] == lines[1:]
        store.commit("s", access_batch("a", "b", hours=12))
        assert import_accesses(other_store, exported(store)) == 2
        assert exported(other_store)[1:] == exported(store)[1:]


# ---- damaged rows and concurrent rerankers


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [("kind = 99", "99 is not a kind of access"), ("at = 9e18", "9000000000000000000 is not a time")],
)
def test_unreadable_access_is_damage(store: SQLiteStore, path: Path, assignment: str, problem: str) -> None:
    store.commit("s", access_batch("a"))
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"UPDATE access SET {assignment}")  # noqa: S608
    with pytest.raises(StoreDamaged, match=f"an access of node 'a': {problem}"):
        store.changes_since("s", 0)


@pytest.mark.medium
def test_recalls_stay_visible_while_the_log_expires(path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(closing(SMALL(path)))
        memory = stack.enter_context(Memory(store, embedder=HashingEmbedder(64), strategy="bm25", clock=FakeClock()))
        memory.remember(Episode("The river is lovely.", id="river"))
        for count in range(1, 40):
            memory.recall("river")
            assert logged(memory.graph(), "river")[-1].count == count
        assert memory.unlogged_count == 0
        memory._access_log.flush(10)
        assert graph_differences(memory.graph(), loaded(store, "default")) == []
