"""Properties of consolidation for any memories, any number of runs, and any interruption."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.memory import Memory
from ecphora.model.ports import FactUpdateScorer
from ecphora.model.types import Episode, Kind, Query, Validity, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import filters
from ecphora.retrieval.validity import nodes_at_cutoffs, validity_of
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, OverlapScorer, graph_differences

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[1] / "changes" / "matrix.jsonl"
NOW = datetime(2027, 1, 1, tzinfo=UTC)
QUESTIONS = ("Where does Ana live?", "When is the standup?", "Who quit smoking?")


def read_statements() -> list[Episode]:
    """The statements of many cases in one memory."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()[:60]]
    return [
        Episode(t["text"], f"{case['id']}/{t['id']}", t["speaker"], f"{case['id']}/{t['session']}", t["at"])
        for case in cases
        for t in case["told"]
    ]


STATEMENTS = read_statements()
OVERLAP = OverlapScorer()


@contextmanager
def memory(clock: FakeClock | None = None, update_scorer: FactUpdateScorer | None = OVERLAP) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        memories = Memory(
            Path(folder) / "m.db",
            embedder=HashingEmbedder(64),
            update_scorer=update_scorer,
            clock=clock or FakeClock(NOW),
        )
        try:
            yield memories
        finally:
            memories.close()


def rows(memory: Memory) -> WriteBatch:
    """Everything that is stored, without the revision."""
    return replace(memory._store.changes_since(memory.scope, 0), revision=0, analyses={}, vectors={})


def rows_without_numbers(memory: Memory) -> WriteBatch:
    """The same without the numbers that a store assigns."""
    batch = rows(memory)
    return replace(batch, nodes=tuple(replace(node, seq=0) for node in batch.nodes))


def recall_all(memory: Memory) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for q in QUESTIONS for hit in memory.recall(q, options=RecallOptions(log_access=False))]


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id), st.integers(1, 3))
def test_undo_restores_rows_and_ranking(episodes: list[Episode], run_count: int) -> None:
    with memory() as one:
        states = []
        size = -(-len(episodes) // run_count)
        for start in range(0, len(episodes), size):
            one.remember(episodes[start : start + size])
            states.append((rows(one), recall_all(one)))
            one.consolidate()
            if start + size < len(episodes):
                one.maintenance.undo()
        assert [batch.id for batch in one.maintenance.batches()] == [one.maintenance.batches()[-1].id]
        undone = one.maintenance.undo()
        assert (rows(one), recall_all(one)) == states[-1]
        assert undone not in one.maintenance.batches()


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_consolidated_graph_equals_the_reloaded_one(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        again = Memory(one._store, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=FakeClock(NOW))
        assert not graph_differences(one.graph(), again.graph())
        one.maintenance.undo()
        assert not graph_differences(one.graph(), again.graph())


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_second_consolidation_writes_nothing(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        before = rows(one)
        again = one.consolidate()
        assert again.undo_batch is None
        assert again.pending_count == 0
        assert rows(one) == before


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_dry_run_counts_the_writes_and_writes_nothing(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        before = rows(one)
        dry = one.consolidate(dry_run=True)
        assert rows(one) == before
        done = one.consolidate()
        assert dry.undo_batch is None
        assert dict(dry.counts) == dict(done.counts)


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id), st.data())
def test_forgetting_a_memory_erases_what_was_derived_from_it(episodes: list[Episode], data: st.DataObject) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        forgotten = data.draw(st.sampled_from(episodes))
        one.forget(str(forgotten.id))
        sentences = {node.text for node in rows(one).nodes if node.kind != Kind.EPISODE}
        assert not any(text in forgotten.text for text in sentences if len(text) > 20)
        graph = one.graph()
        for row in range(len(graph)):
            found = validity_of(graph, row, Query("", NOW))
            if found is not None:
                others = (*found.superseded_by, *found.contradicted_by)
                assert str(forgotten.id) not in others
                assert all(graph.row(other) is not None for other in others)


MOVES = [
    Episode("I live in Lisbon.", "old", "Ana", "a", "2026-01-05"),
    Episode("I moved to Porto.", "new", "Ana", "b", "2026-05-03"),
]


@given(st.integers(0, 400), st.integers(0, 400))
def test_validity_follows_event_time_and_recording_time(as_of: int, known_at: int) -> None:
    """Here a message happened and was recorded on the same day."""
    clock = FakeClock(datetime(2026, 1, 5, tzinfo=UTC))
    with memory(clock, None) as one:
        for episode in MOVES:
            clock.now = datetime.fromisoformat(str(episode.happened_at)).replace(tzinfo=UTC)
            one.remember(episode)
        one.consolidate()
        start = datetime(2026, 1, 6, tzinfo=UTC)
        at, by = start + timedelta(days=as_of), start + timedelta(days=known_at)
        moved = datetime(2026, 5, 3, tzinfo=UTC)
        found = one.recall("Where does Ana live?", as_of=at, known_at=by, options=RecallOptions(log_access=False))
        is_updated = at >= moved and by >= moved
        assert found[0].id == ("new" if is_updated else "old")
        old = next(hit for hit in found if hit.id == "old").validity
        expected = Validity(is_valid=False, valid_to=moved, superseded_by=("new",))
        if is_updated:
            assert old == expected
        else:
            assert old is None or (old.is_valid and by >= moved)


@given(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=14, unique_by=lambda e: e.id), st.data())
def test_as_of_ignores_later_memories(episodes: list[Episode], data: st.DataObject) -> None:
    at = datetime.fromisoformat(str(data.draw(st.sampled_from(episodes)).happened_at)).replace(tzinfo=UTC)
    later = [str(e.id) for e in episodes if datetime.fromisoformat(str(e.happened_at)).replace(tzinfo=UTC) > at]
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        query = Query("", NOW, as_of=at)
        eligible, graph = filters.eligible(one.graph(), query), one.graph()
        expected = {graph.id(row): validity_of(graph, row, query) for row in np.flatnonzero(eligible).tolist()}
        assert not expected.keys() & set(later)
        rows, ids = graph.rows(expected).tolist(), list(expected)
        nodes = [node for id_ in ids if (node := one.get(id_)) is not None]
        assert [found for _, found in nodes_at_cutoffs(graph, rows, nodes, query)] == list(expected.values())
        one.forget(later)
        graph = one.graph()
        assert expected == {
            graph.id(row): validity_of(graph, row, query) for row in np.flatnonzero(graph.episodes).tolist()
        }


def test_question_about_the_past_ranks_the_fact_of_that_time_first() -> None:
    with memory(update_scorer=None) as one:
        one.remember(MOVES)
        one.consolidate()
        assert one.recall("Where does Ana live?", options=RecallOptions(log_access=False))[0].id == "new"
        assert one.recall("Where did Ana live in March 2026?", options=RecallOptions(log_access=False))[0].id == "old"


# ---- interruption

SCOPES = tuple(f"s{number}" for number in range(12))


CONSOLIDATOR = """
import sys
from datetime import UTC, datetime
from ecphora import HashingEmbedder, Memory, SQLiteStore
from ecphora.testing import FakeClock, OverlapScorer
store = SQLiteStore(sys.argv[1])
for scope in sys.argv[2:]:
    clock = FakeClock(datetime(2027, 1, 1, tzinfo=UTC))
    Memory(store, scope=scope, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=clock).consolidate()
    print(scope, flush=True)
"""
"""Another process that consolidates scope after scope and prints those that are done."""


@pytest.mark.parametrize("acknowledged", [0, 1, 4])
def test_killed_consolidation_leaves_each_scope_before_or_after(tmp_path: Path, acknowledged: int) -> None:
    store = SQLiteStore(tmp_path / "m.db")
    memories = {
        scope: Memory(
            store, scope=scope, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=FakeClock(NOW)
        )
        for scope in SCOPES
    }
    before, after = {}, {}
    for scope, one in memories.items():
        one.remember(STATEMENTS[:40])
        before[scope] = rows_without_numbers(one)
        one.consolidate()
        after[scope] = rows_without_numbers(one)
        one.maintenance.undo()
    command = [sys.executable, "-c", CONSOLIDATOR, str(tmp_path / "m.db"), *SCOPES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        done = [child.stdout.readline().strip() for _ in range(acknowledged)]
        child.kill()
    assert all(done)
    for scope, one in memories.items():
        state = rows_without_numbers(one)
        assert state in ([after[scope]] if scope in done else [before[scope], after[scope]])
        assert len(one.maintenance.batches()) == (state == after[scope])
    store.close()
