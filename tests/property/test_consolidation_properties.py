"""Consolidation: what must hold whatever was told, however often it is run, and whenever it is broken off."""

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

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.memory import Memory
from ecphora.model import Episode, Kind, Query, Validity, WriteBatch
from ecphora.ports import FactUpdateScorer
from ecphora.stages.retrieval import filters
from ecphora.stages.retrieval.validity import validity_of
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, OverlapScorer, graph_differences

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[1] / "changes" / "matrix.jsonl"
NOW = datetime(2027, 1, 1, tzinfo=UTC)
QUESTIONS = ("Where does Ana live?", "When is the standup?", "Who quit smoking?")


def told() -> list[Episode]:
    """Statements of many cases, as if one circle of friends had told them all."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()[:60]]
    return [
        Episode(t["text"], f"{case['id']}/{t['id']}", t["speaker"], f"{case['id']}/{t['session']}", t["at"])
        for case in cases
        for t in case["told"]
    ]


TOLD = told()
OVERLAP = OverlapScorer()


@contextmanager
def memory(clock: FakeClock | None = None, comparer: FactUpdateScorer | None = OVERLAP) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        opened = Memory(
            Path(folder) / "m.db", embedder=HashingEmbedder(64), update_scorer=comparer, clock=clock or FakeClock(NOW)
        )
        try:
            yield opened
        finally:
            opened.close()


def rows(memory: Memory) -> WriteBatch:
    """Everything that is stored, but for the number of the last change."""
    return replace(memory._store.changes_since(memory.scope, 0), revision=0, analyses={}, vectors={})


def unnumbered(memory: Memory) -> WriteBatch:
    """The same, but for the numbers that a store gives out."""
    change = rows(memory)
    return replace(change, nodes=tuple(replace(node, seq=0) for node in change.nodes))


def recalled(memory: Memory) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for q in QUESTIONS for hit in memory.recall(q, log_access=False)]


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id), st.integers(1, 3))
def test_undo_restores_rows_edges_and_ranking(episodes: list[Episode], nights: int) -> None:
    with memory() as one:
        states = []
        size = -(-len(episodes) // nights)
        for start in range(0, len(episodes), size):
            one.remember(episodes[start : start + size])
            states.append((rows(one), recalled(one)))
            one.consolidate()
            if start + size < len(episodes):
                one.undo()
        assert [batch.id for batch in one.maintenance.batches()] == [one.maintenance.batches()[-1].id]
        taken = one.undo()
        assert (rows(one), recalled(one)) == states[-1]
        assert taken not in one.maintenance.batches()


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_a_grown_memory_and_a_reopened_one_are_the_same(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        again = Memory(one._store, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=FakeClock(NOW))
        assert not graph_differences(one.graph(), again.graph())
        one.undo()
        assert not graph_differences(one.graph(), again.graph())


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_sleeping_twice_adds_nothing(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        before = rows(one)
        again = one.consolidate()
        assert again.undo_batch is None
        assert again.pending_count == 0
        assert rows(one) == before


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id))
def test_a_dry_run_tells_what_a_night_writes_and_writes_nothing(episodes: list[Episode]) -> None:
    with memory() as one:
        one.remember(episodes)
        before = rows(one)
        dry = one.consolidate(dry_run=True)
        assert rows(one) == before
        done = one.consolidate()
        assert dry.undo_batch is None
        assert dict(dry.counts) == dict(done.counts)


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id), st.data())
def test_what_was_drawn_goes_with_its_source(episodes: list[Episode], data: st.DataObject) -> None:
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        gone = data.draw(st.sampled_from(episodes))
        one.forget(str(gone.id))
        sentences = {node.text for node in rows(one).nodes if node.kind != Kind.EPISODE}
        assert not any(text in gone.text for text in sentences if len(text) > 20)
        graph = one.graph()
        for row in range(len(graph)):
            found = validity_of(graph, row, Query("", NOW))
            if found is not None:
                others = (*found.superseded_by, *found.contradicted_by)
                assert str(gone.id) not in others
                assert all(graph.row(other) is not None for other in others)


MOVES = [
    Episode("I live in Lisbon.", "old", "Ana", "a", "2026-01-05"),
    Episode("I moved to Porto.", "new", "Ana", "b", "2026-05-03"),
]


@given(st.integers(0, 400), st.integers(0, 400))
def test_facts_hold_by_both_clocks(as_of: int, known_at: int) -> None:
    """What was so on a day, as far as was known on another: told and recorded on the same day here."""
    clock = FakeClock(datetime(2026, 1, 5, tzinfo=UTC))
    with memory(clock, None) as one:
        for episode in MOVES:
            clock.now = datetime.fromisoformat(str(episode.happened_at)).replace(tzinfo=UTC)
            one.remember(episode)
        one.consolidate()
        start = datetime(2026, 1, 6, tzinfo=UTC)
        at, by = start + timedelta(days=as_of), start + timedelta(days=known_at)
        moved = datetime(2026, 5, 3, tzinfo=UTC)
        found = one.recall("Where does Ana live?", as_of=at, known_at=by, log_access=False)
        changed = at >= moved and by >= moved
        assert found[0].id == ("new" if changed else "old")
        old = next(hit for hit in found if hit.id == "old").validity
        expected = Validity(is_valid=False, valid_to=moved, superseded_by=("new",))
        if changed:
            assert old == expected
        else:
            assert old is None or (old.is_valid and by >= moved)


@given(st.lists(st.sampled_from(TOLD), min_size=2, max_size=14, unique_by=lambda e: e.id), st.data())
def test_as_of_says_what_it_would_say_had_nothing_been_told_since(episodes: list[Episode], data: st.DataObject) -> None:
    at = datetime.fromisoformat(str(data.draw(st.sampled_from(episodes)).happened_at)).replace(tzinfo=UTC)
    later = [str(e.id) for e in episodes if datetime.fromisoformat(str(e.happened_at)).replace(tzinfo=UTC) > at]
    with memory() as one:
        one.remember(episodes)
        one.consolidate()
        cue = Query("", NOW, as_of=at)
        allowed, graph = filters.eligible(one.graph(), cue), one.graph()
        then = {graph.id(row): validity_of(graph, row, cue) for row in np.flatnonzero(allowed).tolist()}
        assert not then.keys() & set(later)
        one.forget(later)
        graph = one.graph()
        assert then == {graph.id(row): validity_of(graph, row, cue) for row in np.flatnonzero(graph.episodes).tolist()}


def test_a_question_about_a_time_past_is_answered_as_it_was_then() -> None:
    with memory(comparer=None) as one:
        one.remember(MOVES)
        one.consolidate()
        assert one.recall("Where does Ana live?", log_access=False)[0].id == "new"
        assert one.recall("Where did Ana live in March 2026?", log_access=False)[0].id == "old"


# ---- broken off

SCOPES = tuple(f"s{number}" for number in range(12))


SLEEPER = """
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
"""Another process that consolidates scope after scope, and says which are done."""


@pytest.mark.parametrize("acknowledged", [0, 1, 4])
def test_killed_at_any_instant_the_memory_is_as_before_or_after(tmp_path: Path, acknowledged: int) -> None:
    store = SQLiteStore(tmp_path / "m.db")
    opened = {
        scope: Memory(
            store, scope=scope, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=FakeClock(NOW)
        )
        for scope in SCOPES
    }
    before, after = {}, {}
    for scope, one in opened.items():
        one.remember(TOLD[:40])
        before[scope] = unnumbered(one)
        one.consolidate()
        after[scope] = unnumbered(one)
        one.undo()
    command = [sys.executable, "-c", SLEEPER, str(tmp_path / "m.db"), *SCOPES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        done = [child.stdout.readline().strip() for _ in range(acknowledged)]
        child.kill()
    assert all(done)
    for scope, one in opened.items():
        state = unnumbered(one)
        assert state in ([after[scope]] if scope in done else [before[scope], after[scope]])
        assert len(one.maintenance.batches()) == (state == after[scope])
    store.close()
