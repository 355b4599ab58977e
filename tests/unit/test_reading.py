"""Reading the best candidates of a recall: what is read, before which deadline, and what it changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory, Recollection
from ecphora.candidate_reading import CandidateReading
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidInput, LLMUnavailable, ReaderUnavailable
from ecphora.model import Filter, Mask, Query, Rows, Scores
from ecphora.ports import Passage, Reader
from ecphora.stages.fused.candidate_pool import build_pool
from ecphora.stages.fused.feature_matrix import Genre
from ecphora.stages.fused.newer_answers import (
    CandidatePairs,
    NewerAnswerModel,
    Preferences,
    ShareModel,
    comparable_pairs,
    standardize_cosines,
    time_order,
)
from ecphora.stages.fused.ranker import RankedPool
from ecphora.stages.fused.reading import (
    MAX_LOG_ODDS,
    NAMED_SPEAKER_PREFERENCE,
    NEWER_ANSWER,
    READING,
    ReadCandidates,
    ReadingModel,
    ReadingPolicy,
)
from ecphora.stages.fused.recency_preference import RecencyPreference, RecencyPreferences
from ecphora.stages.retrieval import dense
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.strategies.fused import Fused
from ecphora.testing import ConstantReader, FakeClock, sample_graph, sample_query

pytestmark = pytest.mark.medium

TURNS = [
    Episode("Where does your sister live?", speaker="Bo", session="chat", happened_at="2026-03-01T10:00"),
    Episode("In Porto, near the river.", speaker="Ana", session="chat", happened_at="2026-03-01T10:01"),
    Episode("My sister plays the cello.", speaker="Ana", session="chat", happened_at="2026-03-02T10:00"),
    Episode("The sister of a friend lives abroad.", speaker="Bo", session="chat", happened_at="2026-03-03T10:00"),
]
QUESTION = "Where does the sister of Ana live?"
MODEL = ReadingModel(
    (1.0, 0.5, 0.25, 2.0, 3.0),
    NewerAnswerModel(
        compared=ShareModel(bias=-1.0, pair_score=1.0, to_reading=1.0, from_reading=-1.0),
        uncompared=ShareModel(bias=-1.0, pair_score=0.5, to_reading=0.5, from_reading=-0.5),
    ),
    LinearModel(0.5, {"log sum of readings": 1.0, "log count": -0.5}),
    {},
)


class WordReader:
    """Likes passages with a word and no others; ``calls`` has the question, day and passages of each call."""

    name = "word"
    batch_size = 2

    def __init__(self, word: str = "cello") -> None:
        self.word = word
        self.calls: list[tuple[str, date, list[Passage]]] = []

    def read(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Return log-odds of 5 for passages with the word and -5 else."""
        self.calls.append((question, asked_on, list(passages)))
        return np.array([5.0 if self.word in passage.text else -5.0 for passage in passages])

    @property
    def passages(self) -> list[Passage]:
        """All passages of all calls."""
        return [passage for _, _, passages in self.calls for passage in passages]


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[Callable[[Reader | None], Memory]]:
    """A function that opens a memory of ``TURNS`` with a reader."""
    handles: list[Memory] = []

    def open_(reader: Reader | None) -> Memory:
        memory = Memory(tmp_path / f"{len(handles)}.db", embedder=HashingEmbedder(64), reader=reader, clock=FakeClock())
        handles.append(memory)
        memory.remember(TURNS)
        return memory

    yield open_
    for handle in handles:
        handle.close()


def recall(memory: Memory, **options: Any) -> Recollection:
    return memory.recall(QUESTION, **{"reading": "always", **options})


def test_memory_reads_nothing_by_default(open_memory: Callable[[Reader | None], Memory]) -> None:
    found = recall(open_memory(None))
    assert found.cost.passages_read == 0
    assert found.cost.step_milliseconds["read"] == 0


def test_reader_gets_question_day_and_passages_with_their_context(
    open_memory: Callable[[Reader | None], Memory],
) -> None:
    reader = WordReader()
    found = recall(open_memory(reader))
    assert {question for question, _, _ in reader.calls} == {QUESTION}
    assert {day for _, day, _ in reader.calls} == {FakeClock()().date()}
    assert found.cost.passages_read == len(reader.passages) == len(TURNS)
    answer = next(passage for passage in reader.passages if "Porto" in passage.text)
    assert answer == Passage(
        "In Porto, near the river.",
        speaker="Ana",
        happened_on=date(2026, 3, 1),
        previous_turn="Bo: Where does your sister live?",
    )


def test_reader_sees_no_turn_that_the_filter_excludes(open_memory: Callable[[Reader | None], Memory]) -> None:
    reader = WordReader()
    recall(open_memory(reader), where=Filter(speakers=("Ana",)))
    assert {passage.speaker for passage in reader.passages} == {"Ana"}
    assert not any("Bo:" in passage.previous_turn for passage in reader.passages)


def test_reading_asks_as_of_the_day_of_the_query(open_memory: Callable[[Reader | None], Memory]) -> None:
    reader = WordReader()
    recall(open_memory(reader), as_of="2026-03-02")
    assert {day for _, day, _ in reader.calls} <= {date(2026, 3, 2), date(2026, 3, 3)}
    assert all(passage.happened_on < date(2026, 3, 3) for passage in reader.passages if passage.happened_on)


def test_reading_ranks_the_answer_first_and_explains_it(open_memory: Callable[[Reader | None], Memory]) -> None:
    memory = open_memory(WordReader())
    before, after = recall(memory, reading="never"), recall(memory)
    assert "cello" not in before[0].text
    assert "cello" in after[0].text
    assert "is likelier to answer, says the reader" in after[0].reason
    contributions = {one.feature: one.value for one in after[0].why.contributions}
    assert contributions[READING] > 0
    assert sum(contributions.values()) == pytest.approx(after[0].score, abs=1e-4)


def test_confidence_follows_the_reader(open_memory: Callable[[Reader | None], Memory]) -> None:
    def confidence(reader: Reader | None, question: str) -> float:
        return open_memory(reader).recall(question, reading="always").confidence

    likes, dislikes, question = ConstantReader(6.0), ConstantReader(-6.0), "Where does my sister live?"
    assert confidence(likes, question) > confidence(dislikes, question)
    assert len({confidence(reader, QUESTION) for reader in (likes, dislikes, None)}) == 1  # it names a speaker


def test_reading_is_automatic_only_in_doubt(open_memory: Callable[[Reader | None], Memory]) -> None:
    memory = open_memory(WordReader())
    assert recall(memory, reading="auto").cost.passages_read > 0
    sure = ReadingPolicy(MODEL, clear_lead=-1.0, clear_confidence=0.0)
    memory.strategy = type(memory.strategy)(reading=sure)  # type: ignore[call-arg]  # it is ``fused``
    assert recall(memory, reading="auto").cost.passages_read == 0
    assert recall(memory, reading="always").cost.passages_read > 0
    assert recall(memory, reading="never").cost.passages_read == 0


@pytest.mark.parametrize("error", [ReaderUnavailable("the server sleeps"), LLMUnavailable("the server sleeps")])
def test_recall_goes_on_when_the_reader_fails(error: Exception, open_memory: Callable[[Reader | None], Memory]) -> None:
    found = recall(open_memory(ConstantReader(error=error)))
    assert [hit.id for hit in found] == [hit.id for hit in recall(open_memory(None))]
    cost = found.cost
    assert (cost.passages_read, cost.passages_unread, cost.reader_error) == (0, len(TURNS), "the server sleeps")


def test_why_not_reads_as_recall_does(open_memory: Callable[[Reader | None], Memory]) -> None:
    memory = open_memory(WordReader())
    best = recall(memory)[0].id

    def rank(reading: str) -> int | None:
        return memory.why_not(QUESTION, best, limit=1, reading=reading).rank

    assert rank("never") != 1
    assert rank("always") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reading": "often"}, "reading is 'often'; give one of 'auto', 'never', 'always'"),
        ({"reading": None}, "reading is None; give one of"),
        ({"reading_ms": 0}, "reading_ms is 0; give a number above 0"),
        ({"reading_ms": "fast"}, "reading_ms is 'fast'; give a number"),
    ],
)
def test_recall_rejects_wrong_reading_options(
    options: dict[str, Any], message: str, open_memory: Callable[[Reader | None], Memory]
) -> None:
    with pytest.raises(InvalidInput, match=message):
        recall(open_memory(None), **options)


def test_reading_starts_no_batch_that_would_end_too_late(open_memory: Callable[[Reader | None], Memory]) -> None:
    memory, reader, seconds = open_memory(None), WordReader(), iter(range(100))
    graph, query = memory.graph(), memory.build_query(QUESTION)

    def read_nodes(rows: NDArray[np.intp]) -> list[Any]:
        return [node for row in rows if (node := memory.get(graph.id(row))) is not None]

    def read(time_limit: float | None) -> tuple[int, int]:
        clock = iter(seconds)  # every look at the clock is a second later, so a batch takes one second
        one = CandidateReading(reader, graph, query, read_nodes, time_limit, clock=lambda: float(next(clock)))
        assert np.isfinite(one(np.arange(4), graph.episodes)).sum() == one.count
        return one.count, one.unread_count

    assert read(2.5) == (2, 2)
    assert read(3.0) == (4, 0)
    assert read(None) == (4, 0)


def test_unread_candidates_keep_their_scores() -> None:
    pool = build_pool(sample_graph(), sample_query("Where did Ana go?"))
    before = ranked_pool([5.0, 4.0, 3.0, 2.0])
    read = ReadCandidates(np.array([0, 1, 2]), np.array([-4.0, 3.0, -4.0], np.float32))
    found = ReadingPolicy(MODEL).rerank(pool, before, read, Comparer())
    assert found.scores.tolist() == [5.0, 11.0, 3.0, 2.0]
    assert (found.scores - before.scores).tolist() == found.contributions[READING].tolist()
    assert (found.log_odds - before.log_odds).tolist() == found.contributions[READING].tolist()
    assert not found.contributions[NEWER_ANSWER].any()


class Comparer:
    """A row reader that gives all passages and pairs the same log-odds."""

    is_mandatory = False

    def __init__(self, update: float = 6.0) -> None:
        self.update = update

    def __call__(self, rows: Rows, _eligible: Mask, /) -> Scores:
        return np.zeros(len(rows), np.float32)

    def reread(self, _rows: Rows, log_odds: Scores, /) -> Scores:
        return log_odds

    def score_updates(self, earlier: Rows, _later: Rows, /) -> Scores:
        return np.full(len(earlier), self.update, np.float32)


def constant_preferences(value: float, query: Query, *, uncompared: float | None = None) -> RecencyPreferences:
    """Preferences that do not depend on the question, for vectors like that of a query."""
    assert query.vector is not None
    weights = np.zeros_like(query.vector)
    other = value if uncompared is None else uncompared
    return RecencyPreferences(RecencyPreference(value, weights), RecencyPreference(other, weights))


@pytest.mark.parametrize("coverage", [1.0, 0.25])
@pytest.mark.parametrize(
    ("question", "factor"), [("Where does Ana live?", NAMED_SPEAKER_PREFERENCE), ("Where is the flat?", 1.0)]
)
def test_newer_answers_depend_on_ranking_reading_and_updates(question: str, factor: float, coverage: float) -> None:
    graph = sample_graph()
    query = replace(sample_query(question), embedder="some-model", embedder_coverage=coverage)
    assert query.vector is not None
    pool = build_pool(graph, query)
    count = len(pool.rows)
    before = ranked_pool([float(place % 3) for place in range(count)])
    log_odds = np.linspace(-2, 3, count).astype(np.float32)
    model = replace(MODEL, recency_preferences={"some": constant_preferences(0.7, query, uncompared=-0.2)})
    found = ReadingPolicy(model).rerank(pool, before, ReadCandidates(np.arange(count), log_odds), Comparer(90.0))
    similarities = np.float32(coverage) * standardize_cosines(dense.pairwise_cosines(graph, pool.rows, pool.rows))
    after_reading = before.log_odds + found.contributions[READING]
    updates = np.full((count, count), np.nan, np.float32)
    order = time_order(graph, pool.rows)
    for pair in comparable_pairs(after_reading, similarities, order, ReadingPolicy(model).max_compared):
        updates[pair] = MAX_LOG_ODDS
    pairs = CandidatePairs(similarities, order, updates)
    preferences = Preferences(0.7 * factor, -0.2 * factor)
    expected = MODEL.newer_answers.gains(after_reading, log_odds, pairs, preferences)
    assert found.contributions[NEWER_ANSWER] == pytest.approx(expected, abs=1e-4)
    assert expected.any()


def test_reading_counts_by_genre(tmp_path: Path) -> None:
    policy = ReadingPolicy(MODEL)
    with Memory(
        tmp_path / "m.db",
        embedder=HashingEmbedder(64),
        reader=WordReader(),
        clock=FakeClock(),
        strategy=Fused(reading=policy),
    ) as memory:
        memory.remember(
            [
                Episode("Her cello is old.", id="utterance", speaker="Ana", happened_at="2026-03-01"),
                Episode("The cello is in the cellar.", id="note", happened_at="2026-03-01"),
                Episode("A cello has four strings.", id="passage", title="Strings"),
                Episode("The cello is mine.", id="undated"),
                Episode(
                    "The cello. " + "word " * 60, id="long", speaker="Ana", session="chat", happened_at="2026-03-01"
                ),
                *(Episode(f"The {name} is old.") for name in ("boat", "tower", "bridge")),
            ]
        )
        found = memory.recall("Which cello is old?", reading="always")
    gains = {hit.id: {one.feature: one.value for one in hit.why.contributions}.get(READING) for hit in found}
    assert [gains[genre] for genre in ("utterance", "note", "passage", "long", "undated")] == pytest.approx(
        [10.0, 5.0, 2.5, 20.0, 30.0]
    )


def test_genre_without_a_weight_is_ranked_as_without_reading() -> None:
    graph = sample_graph()
    query = replace(sample_query("Where does Ana live?"), embedder="some-model")
    assert query.vector is not None
    pool = build_pool(graph, query)
    count = len(pool.rows)
    before = ranked_pool([float(place % 3) for place in range(count)])
    preferences = {"some": constant_preferences(1.0, query)}
    model = replace(MODEL, reading=(0.0,) * len(Genre), recency_preferences=preferences)
    log_odds = np.linspace(-2, 3, count).astype(np.float32)
    after = ReadingPolicy(model).rerank(pool, before, ReadCandidates(np.arange(count), log_odds), Comparer())
    assert after.scores.tolist() == before.scores.tolist()


@pytest.mark.parametrize(("bias", "best"), [(1.0, 1), (0.0, 0), (-1.0, 0)])
def test_newest_answer_is_first_unless_a_former_state_is_asked_for(bias: float, best: int) -> None:
    graph = sample_graph()
    query = replace(sample_query("Where does Ana live?"), embedder="some-model")
    assert query.vector is not None
    pool = build_pool(graph, query)
    order = np.argsort(graph.nodes["happened"][pool.rows], kind="stable")[[0, -1]]  # the oldest and the newest
    scores = [0.0] * len(pool.rows)
    for place, score in zip(order.tolist(), (5.1, 5.0), strict=True):
        scores[place] = score
    model = replace(MODEL, recency_preferences={"some": constant_preferences(bias, query)})
    read = ReadCandidates(order, np.zeros(2, np.float32))
    found = ReadingPolicy(model).rerank(pool, ranked_pool(scores), read, Comparer())
    assert int(np.argmax(found.scores)) == order[best]
    assert np.sign(found.contributions[NEWER_ANSWER][order[0]]) == -np.sign(bias)


def test_reader_log_odds_have_a_bound() -> None:
    class Extreme(Comparer):
        is_mandatory = True

        def __call__(self, rows: NDArray[np.intp], eligible: NDArray[np.bool_], /) -> Scores:
            assert eligible[rows].all()
            return np.array([1e9, -1e9, np.nan], np.float32)[: len(rows)]

    pool = build_pool(sample_graph(), sample_query("Where does Ana live?"))
    scores = [5.0, 4.0, 3.0, *[0.0] * (len(pool.rows) - 3)]
    found = ReadingPolicy(MODEL).read_candidates(pool, ranked_pool(scores), 0.5, Extreme())
    assert found is not None
    assert (found.indices.tolist(), found.unread_count) == ([0, 1], 1)
    assert found.log_odds.tolist() == [MAX_LOG_ODDS, -MAX_LOG_ODDS]


@pytest.mark.parametrize(
    ("lead", "answerability", "biases", "best", "is_read"),
    [
        (4.0, 0.95, (1.0, 1.0), -1, False),  # the newest is clearly the best
        (4.0, 0.5, (1.0, 1.0), -1, True),
        (1.0, 0.95, (1.0, 1.0), -1, True),
        (4.0, 0.95, (1.0, 0.0), 0, True),  # the oldest is, and may be outdated
        (4.0, 0.95, (0.0, 1.0), 0, True),
        (4.0, 0.95, (-1.0, -1.0), 0, False),  # a former state is asked for
    ],
)
def test_doubt_is_a_small_lead_a_low_confidence_or_a_rival_in_time(
    lead: float, answerability: float, biases: tuple[float, float], best: int, *, is_read: bool
) -> None:
    graph, query = sample_graph(), replace(sample_query("Where is the flat?"), embedder="some-model")
    pool = build_pool(graph, query)
    order = np.argsort(graph.nodes["happened"][pool.rows], kind="stable")[[0, -1]]
    scores = [0.0] * len(pool.rows)
    scores[order[best]], scores[order[-1 - best]] = 5.0 + lead, 5.0
    preferences = constant_preferences(biases[0], query, uncompared=biases[1])
    policy = ReadingPolicy(replace(MODEL, recency_preferences={"some": preferences}))
    found = policy.read_candidates(pool, ranked_pool(scores), answerability, Comparer())
    assert (found is not None) is is_read
    if found is not None:  # the confidence of a clear ranking is kept
        assert (policy.confidence(pool, answerability, found) == answerability) == (lead * answerability > 3)


def ranked_pool(scores: Sequence[float]) -> RankedPool:
    """A pool with these scores."""
    values = np.array(scores, np.float32)
    return RankedPool({"dense similarity": values}, values, values - 14)
