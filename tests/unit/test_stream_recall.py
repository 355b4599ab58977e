"""Memory.stream_recall: its events, in which order things happen, and what is left out if nobody streams."""

import inspect
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import CandidatesFound, Episode, HitsRanked, Memory, RecallEnd, Recollection
from ecphora.errors import InvalidInput, StoreClosed
from ecphora.model.ports import Passage
from ecphora.model.types import AccessKind
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.recall_steps import RecallSteps
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import FakeClock

TURNS = [
    Episode("My sister plays the cello.", id="cello", speaker="Ana"),
    Episode("My sister lives in Porto.", id="porto", speaker="Ana"),
    Episode("A sister of a friend lives abroad.", id="friend", speaker="Bo"),
]
QUESTION = "Where does the sister of Ana live?"


class CelloReader:
    """Likes passages about a cello; ``passages`` are those that it has read."""

    name = "cello"
    batch_size = 2

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return log-odds of 8 for passages about a cello and -8 else."""
        del question, asked_on
        self.passages += passages
        return np.array([8.0 if "cello" in passage.text else -8.0 for passage in passages])


@pytest.fixture
def reader() -> CelloReader:
    return CelloReader()


@pytest.fixture
def memory(tmp_path: Path, reader: CelloReader) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reader=reader, clock=FakeClock()) as opened:
        opened.remember(TURNS)
        yield opened


def comparable(found: Recollection) -> object:
    return (
        [hit.to_dict() for hit in found],
        found.evidence,
        found.confidence,
        found.query.text,
        found.cost.passages_read,
    )


def accesses(memory: Memory) -> int:
    graph = memory.graph()
    found = [access for row in range(len(graph)) for access in graph.accesses_of(row)]
    return sum(access.kind == AccessKind.RECALLED for access in found)


def test_candidates_come_before_the_reader_reads_and_hits_after(memory: Memory, reader: CelloReader) -> None:
    by_words = Fused(Ranker(*[LinearModel(-5.0, {"bm25": 3.0, "reading": 1.0})] * len(Genre)))
    events = memory.stream_recall(QUESTION, reading="always", strategy=by_words)
    first = next(events)
    assert isinstance(first, CandidatesFound)
    assert first.hits[0].id == "porto"
    assert reader.passages == []
    second = next(events)
    assert isinstance(second, HitsRanked)
    assert second.hits[0].id == "cello"
    assert len(reader.passages) == 3
    end = next(events)
    assert isinstance(end, RecallEnd)
    assert end.recollection.hits == second.hits
    assert next(events, None) is None
    assert len(reader.passages) == 3


@pytest.mark.parametrize("reading", ["auto", "always", "never"])
@pytest.mark.parametrize("strategy", ["fused", "bm25", "synaptic"])
def test_end_holds_what_recall_returns(reading: str, strategy: str, memory: Memory) -> None:
    options = {"strategy": strategy, "reading": reading, "log_access": False}
    *_, end = memory.stream_recall(QUESTION, limit=2, budget=20, **options)  # type: ignore[arg-type]
    assert isinstance(end, RecallEnd)
    assert comparable(end.recollection) == comparable(memory.recall(QUESTION, limit=2, budget=20, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"strategy": "bm25"}, {"reading": "never"}])
def test_hits_are_those_of_the_candidates_if_nothing_is_read(options: dict[str, object], memory: Memory) -> None:
    candidates, hits, end = memory.stream_recall(QUESTION, limit=2, **options)  # type: ignore[arg-type]
    assert isinstance(candidates, CandidatesFound)
    assert isinstance(hits, HitsRanked)
    assert isinstance(end, RecallEnd)
    assert end.recollection.cost.passages_read == 0
    assert hits.hits is candidates.hits


def test_recall_builds_no_hits_for_candidates(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_steps: RecallSteps) -> None:
        raise AssertionError

    monkeypatch.setattr(RecallSteps, "candidate_hits", fail)
    assert memory.recall(QUESTION, reading="always")[0].id == "cello"
    with pytest.raises(AssertionError):
        next(memory.stream_recall(QUESTION))


@pytest.mark.medium
def test_access_log_is_written_with_the_last_event_only(memory: Memory) -> None:
    for count in range(3):
        events = memory.stream_recall(QUESTION, limit=2)
        for _ in range(count):
            next(events)
    assert accesses(memory) == 0
    list(memory.stream_recall(QUESTION, limit=2, log_access=False))
    assert accesses(memory) == 0
    list(memory.stream_recall(QUESTION, limit=2))
    assert accesses(memory) == 2


def test_arguments_are_checked_before_the_first_event(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="limit is 0"):
        memory.stream_recall(QUESTION, limit=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'limits'"):
        memory.stream_recall(QUESTION, limits=3)  # type: ignore[call-arg]


def test_parameters_are_those_of_recall() -> None:
    recall, stream = inspect.signature(Memory.recall), inspect.signature(Memory.stream_recall)
    assert list(stream.parameters.values()) == list(recall.parameters.values())
    assert stream.return_annotation != recall.return_annotation


def test_memory_that_is_forgotten_between_events_does_not_come_back(memory: Memory) -> None:
    events = memory.stream_recall(QUESTION, reading="always")
    assert "porto" in {hit.id for hit in next(events).hits}  # type: ignore[union-attr]
    memory.forget("porto")
    *_, end = events
    assert isinstance(end, RecallEnd)
    assert {hit.id for hit in end.recollection} == {"cello", "friend"}
    assert accesses(memory) == 2


def test_memory_that_is_closed_between_events_is_an_error(memory: Memory) -> None:
    events = memory.stream_recall(QUESTION, reading="always")
    next(events)
    memory.close()
    with pytest.raises(StoreClosed):
        next(events)
    assert next(events, None) is None


def test_cost_counts_the_steps_and_not_the_time_between_events(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.001  # each look takes a millisecond
        return now

    monkeypatch.setattr("ecphora.recall.recall_steps.perf_counter", clock)
    for event in memory.stream_recall(QUESTION, reading="always"):
        now += 1000
        end = event
    assert isinstance(end, RecallEnd)
    cost = end.recollection.cost
    assert cost.milliseconds < 100_000
    assert cost.milliseconds == pytest.approx(sum(cost.step_milliseconds.values()))
    # twice activated, once without reading; candidates and hits fetched, and logged
    assert cost.step_milliseconds["activate"] == pytest.approx(2 - cost.step_milliseconds["read"])
    assert cost.step_milliseconds["fetch"] == pytest.approx(3)
