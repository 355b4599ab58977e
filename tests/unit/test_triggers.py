"""Triggers of consolidation: a number of new memories, the end of a session, an idle time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ecphora import Episode, Memory
from ecphora.model.cancellation import CallCancelled
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import RememberResult, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.triggers import CURSOR, AutoConsolidate, has_enough_pending, pending_rows
from ecphora.testing import FakeClock, sample_graph

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MOVES = [
    Episode("I live in Lisbon.", "old", "Ana", "a", "2026-01-05"),
    Episode("The bonsai lost its leaves.", "other", "Ben", "a", "2026-01-06"),
    Episode("I moved to Porto.", "new", "Ana", "b", "2026-05-03"),
]


@pytest.mark.parametrize(
    ("trigger", "batches"),
    [
        (None, 0),
        (AutoConsolidate(every_turns=2), 1),
        (AutoConsolidate(on_session_end=True), 1),
        (AutoConsolidate(after_idle=timedelta(hours=6)), 2),
        (AutoConsolidate(after_idle=timedelta(days=300)), 0),
    ],
)
def test_memory_consolidates_itself_when_triggered(
    tmp_path: Path, trigger: AutoConsolidate | None, batches: int
) -> None:
    clock = FakeClock(NOW)
    with Memory(
        tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, auto_consolidate=trigger, clock=clock
    ) as memory:
        for episode in MOVES:
            memory.remember(episode)
            clock.now += timedelta(days=1)
        assert len(memory.maintenance.batches()) == batches


def test_pending_rows_are_the_memories_beyond_the_cursor() -> None:
    graph = sample_graph()
    episodes = pending_rows(graph)
    assert graph.episodes[episodes].all()
    assert len(episodes) == graph.episodes.sum()
    seq = int(graph.nodes["seq"][episodes[1]])
    later = apply_batch(graph, WriteBatch(cursors={CURSOR: seq}, revision=graph.revision + 1))
    assert pending_rows(later).tolist() == episodes[2:].tolist()
    assert pending_rows(later, "another").tolist() == episodes.tolist()


def test_trigger_by_count_fires_at_its_number_and_not_before() -> None:
    graph = sample_graph()
    count = int(graph.episodes.sum())
    assert has_enough_pending(graph, "another", count)
    assert not has_enough_pending(graph, "another", count + 1)


def test_remember_stores_a_memory_although_consolidation_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with its error; an interruption and a cancellation are no failures."""

    class FailingScorer:
        name = "failing"
        error: BaseException = OverflowError("date value out of range")

        def score(self, _pairs: object, /) -> list[float]:
            raise self.error

    def remember(memory: Memory, number: int) -> RememberResult:
        return memory.remember(replace(MOVES[2], id=f"new{number}"))

    scorer, trigger = FailingScorer(), AutoConsolidate(every_turns=2)
    options = {"embedder": HashingEmbedder(64), "update_scorer": scorer, "auto_consolidate": trigger}
    with Memory(tmp_path / "m.db", **options) as memory:  # type: ignore[arg-type]
        memory.remember([MOVES[0], MOVES[2]])
        assert remember(memory, 1).created == ("new1",)
        assert caplog.messages == ["the automatic consolidation of the scope 'default' failed"]
        assert "OverflowError: date value out of range" in caplog.text
        with pytest.raises(OverflowError):
            memory.consolidate()
        for error in (KeyboardInterrupt(), CallCancelled()):
            monkeypatch.setattr(scorer, "error", error)
            with pytest.raises(type(error)):
                remember(memory, 2)
        assert len(memory) == 3
