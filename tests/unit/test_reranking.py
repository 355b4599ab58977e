"""Reading the best candidates of a recall: what is read, before which deadline, and what it changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory, RecallOptions, Recollection
from ecphora.errors import InvalidInput, LLMUnavailable, RerankerUnavailable
from ecphora.model.ports import Passage, Reranker
from ecphora.model.types import Filter
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.reranking import RERANKING, RerankPolicy
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import ConstantReranker, FakeClock

pytestmark = pytest.mark.medium

TURNS = [
    Episode("Where does your sister live?", speaker="Bo", session="chat", happened_at="2026-03-01T10:00"),
    Episode("In Porto, near the river.", speaker="Ana", session="chat", happened_at="2026-03-01T10:01"),
    Episode("My sister plays the cello.", speaker="Ana", session="chat", happened_at="2026-03-02T10:00"),
    Episode("The sister of a friend lives abroad.", speaker="Bo", session="chat", happened_at="2026-03-03T10:00"),
]
QUESTION = "Where does the sister of Ana live?"
RANKER = Ranker(*[LinearModel(0.0, {"similarity": 1.0, RERANKING: 0.5})] * len(Genre))
"""It scores every memory above 0, so that all are recalled."""
NO_PREFERENCE = RerankPolicy({})


def answerability_model(**read_weights: float) -> AnswerabilityModel:
    """A model of what a reranker says; without one it gives 0.5."""
    weights = {name.replace("_", " "): value for name, value in read_weights.items()}
    values = tuple(weights.pop(name, 0.0) for name in ANSWERABILITY_FEATURES)
    assert not weights
    return AnswerabilityModel(values, 0.0, (0.0,) * len(values), 0.0)


class WordReranker:
    """Likes passages with a word and no others; ``calls`` has the question, day and passages of each call."""

    name = "word"
    batch_size = 2

    def __init__(self, word: str = "cello") -> None:
        self.word = word
        self.calls: list[tuple[str, date, list[Passage]]] = []

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return log-odds of 5 for passages with the word and -5 else."""
        self.calls.append((question, asked_on, list(passages)))
        return np.array([5.0 if self.word in passage.text else -5.0 for passage in passages])

    @property
    def passages(self) -> list[Passage]:
        """All passages of all calls."""
        return [passage for _, _, passages in self.calls for passage in passages]


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[Callable[[Reranker | None], Memory]]:
    """A function that opens a memory of ``TURNS`` with a reranker."""
    handles: list[Memory] = []

    def open_(reranker: Reranker | None) -> Memory:
        memory = Memory(
            tmp_path / f"{len(handles)}.db",
            embedder=HashingEmbedder(64),
            reranker=reranker,
            strategy=Fused(RANKER, answerability_model(best_reranker_score=1.0), NO_PREFERENCE),
            clock=FakeClock(),
        )
        handles.append(memory)
        memory.remember(TURNS)
        return memory

    yield open_
    for handle in handles:
        handle.close()


def recall(memory: Memory, **options: Any) -> Recollection:
    return memory.recall(QUESTION, **{"rerank": "always", **options})


def test_memory_reads_nothing_by_default(open_memory: Callable[[Reranker | None], Memory]) -> None:
    found = recall(open_memory(None))
    assert found.cost.passages_reranked == 0
    assert found.cost.step_milliseconds["rerank"] == 0


def test_cost_counts_each_step_once(
    open_memory: Callable[[Reranker | None], Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter(range(100))
    memory = open_memory(WordReranker())
    monkeypatch.setattr("ecphora.recall.prepared_recall.perf_counter", lambda: float(next(seconds)))
    cost = recall(memory).cost
    steps = dict(cost.step_milliseconds)
    assert cost.milliseconds == pytest.approx(sum(steps.values())) == pytest.approx(3000)
    assert 0 < steps["rerank"] < 1000
    assert steps["activate"] == pytest.approx(1000 - steps["rerank"])
    assert (steps["embed"], steps["fetch"]) == (1000, 1000)


def test_reader_gets_question_day_and_passages_with_their_context(
    open_memory: Callable[[Reranker | None], Memory],
) -> None:
    reranker = WordReranker()
    found = recall(open_memory(reranker))
    assert {question for question, _, _ in reranker.calls} == {QUESTION}
    assert {day for _, day, _ in reranker.calls} == {FakeClock()().date()}
    assert found.cost.passages_reranked == len(reranker.passages) == len(TURNS)
    answer = next(passage for passage in reranker.passages if "Porto" in passage.text)
    assert answer == Passage(
        "In Porto, near the river.",
        speaker="Ana",
        happened_on=date(2026, 3, 1),
        previous_turn="Bo: Where does your sister live?",
    )


def test_reader_sees_no_turn_that_the_filter_excludes(open_memory: Callable[[Reranker | None], Memory]) -> None:
    reranker = WordReranker()
    recall(open_memory(reranker), where=Filter(speakers=("Ana",)))
    assert {passage.speaker for passage in reranker.passages} == {"Ana"}
    assert not any("Bo:" in passage.previous_turn for passage in reranker.passages)


def test_reading_asks_as_of_the_day_of_the_query(open_memory: Callable[[Reranker | None], Memory]) -> None:
    reranker = WordReranker()
    recall(open_memory(reranker), as_of="2026-03-02")
    assert {day for _, day, _ in reranker.calls} <= {date(2026, 3, 2), date(2026, 3, 3)}
    assert all(passage.happened_on < date(2026, 3, 3) for passage in reranker.passages if passage.happened_on)


def test_reading_ranks_the_answer_first_and_explains_it(open_memory: Callable[[Reranker | None], Memory]) -> None:
    memory = open_memory(WordReranker())
    before, after = recall(memory, rerank="never"), recall(memory)
    assert "cello" not in before[0].text
    assert "cello" in after[0].text
    assert "is likelier to answer, says the reranker" in after[0].reason
    contributions = {one.feature: one.value for one in after[0].why.contributions}
    assert contributions[RERANKING] > 0
    assert sum(contributions.values()) == pytest.approx(after[0].score, abs=1e-4)


def test_confidence_follows_the_reader(open_memory: Callable[[Reranker | None], Memory]) -> None:
    def confidence(reranker: Reranker | None) -> float:
        return recall(open_memory(reranker)).confidence

    likes, dislikes = (1 / (1 + np.exp(-value)) for value in (6.0, -6.0))
    assert confidence(ConstantReranker(6.0)) == pytest.approx(likes, abs=1e-6)
    assert confidence(ConstantReranker(-6.0)) == pytest.approx(dislikes, abs=1e-6)
    assert confidence(ConstantReranker(error=RerankerUnavailable("no"))) == confidence(None) == 0.5


def test_reading_is_automatic_only_in_doubt(open_memory: Callable[[Reranker | None], Memory]) -> None:
    memory = open_memory(WordReranker())
    assert recall(memory, rerank="auto").cost.passages_reranked > 0
    sure = RerankPolicy({}, clear_lead=-1.0, clear_confidence=0.0)
    assert isinstance(memory.strategy, Fused)
    memory.strategy = replace(memory.strategy, reranking=sure)
    assert recall(memory, rerank="auto").cost.passages_reranked == 0
    assert recall(memory, rerank="always").cost.passages_reranked > 0
    assert recall(memory, rerank="never").cost.passages_reranked == 0


@pytest.mark.parametrize("error", [RerankerUnavailable("the server sleeps"), LLMUnavailable("the server sleeps")])
def test_recall_goes_on_when_the_reader_fails(
    error: Exception, open_memory: Callable[[Reranker | None], Memory]
) -> None:
    found = recall(open_memory(ConstantReranker(error=error)))
    expected = recall(open_memory(None))
    assert [(hit.text, hit.score, hit.why.contributions) for hit in found] == [
        (hit.text, hit.score, hit.why.contributions) for hit in expected
    ]
    assert found.confidence == expected.confidence
    cost = found.cost
    assert (cost.passages_reranked, cost.passages_left, cost.reranker_error) == (0, len(TURNS), "the server sleeps")


def test_why_not_reads_as_recall_does(open_memory: Callable[[Reranker | None], Memory]) -> None:
    memory = open_memory(WordReranker())
    best = recall(memory)[0].id

    def rank(reading: str) -> int | None:
        return memory.why_not(QUESTION, best, limit=1, rerank=reading).rank

    assert rank("never") != 1
    assert rank("always") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rerank": "often"}, "rerank is 'often'; give one of 'auto', 'never', 'always'"),
        ({"rerank": None}, "rerank is None; give one of"),
        ({"options": RecallOptions(rerank_ms=0)}, "rerank_ms is 0; give a number above 0"),
        ({"options": RecallOptions(rerank_ms=cast("float", "fast"))}, "rerank_ms is 'fast'; give a number"),
    ],
)
def test_recall_rejects_wrong_reading_options(
    options: dict[str, Any], message: str, open_memory: Callable[[Reranker | None], Memory]
) -> None:
    with pytest.raises(InvalidInput, match=message):
        recall(open_memory(None), **options)


def test_reading_starts_no_batch_that_would_end_too_late(open_memory: Callable[[Reranker | None], Memory]) -> None:
    memory, reranker, seconds = open_memory(None), WordReranker(), iter(range(100))
    graph, query = memory.graph(), memory.build_query(QUESTION)

    def read_nodes(rows: NDArray[np.intp]) -> list[Any]:
        return [node for row in rows if (node := memory.get(graph.id(row))) is not None]

    def read(time_limit: float | None) -> tuple[int, int]:
        clock = iter(seconds)  # every look at the clock is a second later, so a batch takes one second
        one = CandidateReranking(reranker, graph, query, read_nodes, time_limit, clock=lambda: float(next(clock)))
        assert np.isfinite(one(np.arange(4), graph.episodes)).sum() == one.count
        return one.count, one.unread_count

    assert read(2.5) == (2, 2)
    assert read(3.0) == (4, 0)
    assert read(None) == (4, 0)


def test_reading_counts_by_genre(tmp_path: Path) -> None:
    weights = {Genre.UTTERANCE: 0.5, Genre.STATEMENT: 1.0, Genre.PASSAGE: 0.25, Genre.LONG_TURN: 2.0}
    ranker = Ranker(*(LinearModel(0.0, {RERANKING: weights[genre]}) for genre in Genre))
    with Memory(
        tmp_path / "m.db",
        embedder=HashingEmbedder(64),
        reranker=WordReranker(),
        clock=FakeClock(),
        strategy=Fused(ranker=ranker, reranking=NO_PREFERENCE),
    ) as memory:
        memory.remember(
            [
                Episode("Is the cello old?", id="utterance", speaker="Ana", session="talk"),
                Episode("Yes.", speaker="Bo", session="talk"),
                Episode("The cello is in the cellar.", id="statement", happened_at="2026-03-01"),
                Episode("A cello has four strings.", id="passage", title="Strings"),
                Episode("The cello. " + "word " * 60, id="long", speaker="Ana", session="chat"),
                *(Episode(f"The {name} is old.") for name in ("boat", "tower", "bridge", "house")),
            ]
        )
        found = memory.recall("Which cello is old?", rerank="always")
    gains = {hit.id: {one.feature: one.value for one in hit.why.contributions}.get(RERANKING) for hit in found}
    assert [gains[genre] for genre in ("utterance", "statement", "passage", "long")] == pytest.approx(
        [5.0, 10.0, 2.5, 20.0]
    )
