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
from ecphora.model import Filter, Mask, Rows, Scores
from ecphora.ports import Passage, Reader
from ecphora.stages.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.stages.fused.candidate_pool import CandidatePool, build_pool
from ecphora.stages.fused.feature_matrix import FeatureMatrix, Genre, build_feature_matrix
from ecphora.stages.fused.newer_answers import answer_pairs, newer_answer_features
from ecphora.stages.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.stages.fused.reading import (
    MAX_LOG_ODDS,
    NEWER_ANSWER,
    OLDER_ANSWER,
    READING,
    READING_FEATURES,
    ROLE_AGREEMENT,
    SECOND_READING,
    SERIES_END,
    ReadingPolicy,
    unread_log_odds,
)
from ecphora.stages.fused.recency_preference import RecencyPreference
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
GIVEN = "given"
"""A feature that stands for all others of the ranking before reading."""
LINEAR = LinearModel(
    MIN_LOG_ODDS,
    {
        GIVEN: 1.0,
        "similarity": 1.0,
        READING: 0.5,
        SECOND_READING: 2.0,
        ROLE_AGREEMENT: 1.5,
        NEWER_ANSWER: 3.0,
        OLDER_ANSWER: -4.0,
        SERIES_END: -5.0,
    },
)
RANKER = Ranker(*[LINEAR] * len(Genre))
LIFTED = Ranker(*[replace(LINEAR, bias=MIN_LOG_ODDS + 20)] * len(Genre))
"""The same, so that every memory is recalled."""
NO_PREFERENCE = ReadingPolicy({})


def answerability_model(**read_weights: float) -> AnswerabilityModel:
    """A model of what a reader says; without one it gives 0.5."""
    weights = {name.replace("_", " "): value for name, value in read_weights.items()}
    values = tuple(weights.pop(name, 0.0) for name in ANSWERABILITY_FEATURES)
    assert not weights
    return AnswerabilityModel(values, 0.0, (0.0,) * len(values), 0.0)


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
        memory = Memory(
            tmp_path / f"{len(handles)}.db",
            embedder=HashingEmbedder(64),
            reader=reader,
            strategy=Fused(LIFTED, answerability_model(best_reading=1.0), NO_PREFERENCE),
            clock=FakeClock(),
        )
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
    def confidence(reader: Reader | None) -> float:
        return recall(open_memory(reader)).confidence

    likes, dislikes = (1 / (1 + np.exp(-value)) for value in (6.0, -6.0))
    assert confidence(ConstantReader(6.0)) == pytest.approx(likes, abs=1e-6)
    assert confidence(ConstantReader(-6.0)) == pytest.approx(dislikes, abs=1e-6)
    assert confidence(ConstantReader(error=ReaderUnavailable("no"))) == confidence(None) == 0.5


def test_reading_is_automatic_only_in_doubt(open_memory: Callable[[Reader | None], Memory]) -> None:
    memory = open_memory(WordReader())
    assert recall(memory, reading="auto").cost.passages_read > 0
    sure = ReadingPolicy({}, clear_lead=-1.0, clear_confidence=0.0)
    assert isinstance(memory.strategy, Fused)
    memory.strategy = replace(memory.strategy, reading=sure)
    assert recall(memory, reading="auto").cost.passages_read == 0
    assert recall(memory, reading="always").cost.passages_read > 0
    assert recall(memory, reading="never").cost.passages_read == 0


@pytest.mark.parametrize("error", [ReaderUnavailable("the server sleeps"), LLMUnavailable("the server sleeps")])
def test_recall_goes_on_when_the_reader_fails(error: Exception, open_memory: Callable[[Reader | None], Memory]) -> None:
    found = recall(open_memory(ConstantReader(error=error)))
    expected = recall(open_memory(None))
    assert [(hit.text, hit.score, hit.why.contributions) for hit in found] == [
        (hit.text, hit.score, hit.why.contributions) for hit in expected
    ]
    assert found.confidence == expected.confidence
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


class GivenReader:
    """A row reader that says the same of rows wherever they are; ``received_rows`` has what it was to read."""

    def __init__(
        self, log_odds: Sequence[float] = (0.0,), *, again: float = 0.0, role: float = 0.0, is_mandatory: bool = True
    ) -> None:
        self.log_odds, self.again, self.role, self.is_mandatory = log_odds, again, role, is_mandatory
        self.received_rows: list[int] = []
        self.reread_rows: list[int] = []
        self.roles_of: list[int] = []

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        assert eligible[rows].all()
        self.received_rows += rows.tolist()
        return np.resize(np.array(self.log_odds, np.float32), len(rows))

    def reread(self, rows: Rows, log_odds: Scores, /) -> Scores:
        self.reread_rows += rows.tolist()
        return log_odds + np.float32(self.again)

    def role_agreements(self, rows: Rows, /) -> Scores:
        self.roles_of += rows.tolist()
        return np.full(len(rows), self.role, np.float32)


def pool_of(question: str = "Where is the flat?") -> CandidatePool:
    return build_pool(sample_graph(), replace(sample_query(question), embedder="some-model"))


def matrix_of(pool: CandidatePool, scores: Sequence[float]) -> FeatureMatrix:
    """A matrix that ``RANKER`` gives these scores, and 0 to the rows after them."""
    values = np.zeros(len(pool.rows), np.float32)
    values[: len(scores)] = scores
    matrix = build_feature_matrix(pool)
    return replace(matrix, features={**matrix.features, GIVEN: values, "similarity": np.zeros_like(values)})


def read_with(
    policy: ReadingPolicy, pool: CandidatePool, matrix: FeatureMatrix, reader: GivenReader, confidence: float = 0.5
) -> FeatureMatrix:
    return policy.read(pool, matrix, RANKER.score(matrix), RANKER, confidence, reader)


def preference_of(value: float, pool: CandidatePool) -> dict[str, RecencyPreference]:
    """A preference that does not depend on the question."""
    assert pool.query.vector is not None
    return {"some": RecencyPreference(value, np.zeros_like(pool.query.vector))}


def test_at_most_the_best_are_read() -> None:
    pool, reader = pool_of(), GivenReader()
    matrix = matrix_of(pool, [1.0, 3.0, 0.0, 2.0, 5.0])
    read_with(ReadingPolicy({}, max_candidates=3), pool, matrix, reader)
    assert reader.received_rows == reader.roles_of == pool.rows[[4, 1, 3]].tolist()
    wide = GivenReader()
    read_with(NO_PREFERENCE, pool, matrix, wide)
    assert wide.received_rows == pool.rows[[4, 1, 3, 0]].tolist()  # not those with a score of 0
    assert NO_PREFERENCE.max_candidates == 24


def test_reading_is_relative_to_what_was_not_read() -> None:
    pool = pool_of()
    matrix = matrix_of(pool, [5.0, 4.0, 3.0, 2.0, 1.0])
    found = read_with(ReadingPolicy({}, max_candidates=4), pool, matrix, GivenReader([1.0, -3.0, np.nan, -1.0]))
    worse_half = -2.0  # the median of -3 and -1
    assert found.features[READING][:6].tolist() == [1.0 - worse_half, -1.0, 0.0, 1.0, 0.0, 0.0]
    assert not found.features[READING][6:].any()
    assert np.isnan(found.readings[[2, 4, 5]]).all()
    assert found.readings[[0, 1, 3]].tolist() == [1.0, -3.0, -1.0]
    assert found.is_read
    assert not matrix.is_read
    for name, values in matrix.features.items():
        assert found.features[name] is values
    assert {*found.features} == {*matrix.features, *READING_FEATURES}


@pytest.mark.parametrize(
    ("log_odds", "expected"),
    [((2.0,), 2.0), ((2.0, -1.0), -1.0), ((2.0, -1.0, -3.0), -2.0), ((4.0, 3.0, 2.0, 1.0, -9.0), 1.0)],
)
def test_what_was_not_read_is_like_the_worse_half(log_odds: tuple[float, ...], expected: float) -> None:
    assert unread_log_odds(np.array(log_odds, np.float32)) == expected


def test_reader_log_odds_have_a_bound() -> None:
    pool = pool_of()
    found = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0, 4.0, 3.0]), GivenReader([1e9, -1e9, np.nan]))
    assert found.readings[:2].tolist() == [MAX_LOG_ODDS, -MAX_LOG_ODDS]
    assert found.features[READING][:2].tolist() == [2 * MAX_LOG_ODDS, 0.0]
    again = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0]), GivenReader([7.0], again=90.0))
    assert again.readings[0] == MAX_LOG_ODDS
    assert again.features[SECOND_READING][0] == MAX_LOG_ODDS - 7


def test_second_reading_is_what_it_says_more() -> None:
    pool, reader = pool_of(), GivenReader([1.0, 1.5, 0.5], again=-0.75)
    found = read_with(ReadingPolicy({}, max_reread=2), pool, matrix_of(pool, [3.0, 2.5, 2.0]), reader)
    assert reader.reread_rows == pool.rows[[0, 1]].tolist()
    assert found.features[SECOND_READING][:4].tolist() == [-0.75, -0.75, 0.0, 0.0]
    assert found.readings[:3].tolist() == [0.25, 0.75, 0.5]
    assert found.features[READING][:3].tolist() == [0.25, 0.75, -0.25]  # relative to the first readings


def test_contributions_sum_to_the_scores() -> None:
    pool = pool_of("Where does Ana live?")
    policy = ReadingPolicy(preference_of(0.7, pool), max_candidates=5)
    matrix = matrix_of(pool, [float(place % 3) for place in range(len(pool.rows))])
    before = RANKER.score(matrix)
    after = RANKER.score(read_with(policy, pool, matrix, GivenReader([2.0, -1.0, np.nan], again=1.0, role=-0.5)))
    gain = np.sum([after.contributions[name] for name in READING_FEATURES], axis=0)
    assert after.scores == pytest.approx(np.sum(list(after.contributions.values()), axis=0), abs=1e-4)
    assert after.scores - before.scores == pytest.approx(gain, abs=1e-4)
    assert after.log_odds - before.log_odds == pytest.approx(gain, abs=1e-4)
    was_read = np.isfinite(read_with(policy, pool, matrix, GivenReader([2.0, -1.0, np.nan])).readings)
    assert 0 < was_read.sum() < 5
    assert not gain[~was_read].any()
    assert after.contributions[ROLE_AGREEMENT][was_read].tolist() == [-0.75] * int(was_read.sum())


@pytest.mark.parametrize("log_odds", [[np.nan], []])
def test_nothing_changes_if_nothing_is_read(log_odds: list[float]) -> None:
    pool = pool_of()
    matrix = matrix_of(pool, [5.0, 4.0] if log_odds else [])  # or there is no candidate
    reader = GivenReader(log_odds)
    assert read_with(NO_PREFERENCE, pool, matrix, reader) is matrix
    assert not reader.reread_rows
    assert not reader.roles_of


@pytest.mark.parametrize(
    ("question", "preference", "series"),
    [("Where is the flat?", 0.7, 0), ("Where is my latest flat?", 1.0, 1), ("Where was the first flat?", -1.0, -1)],
)
def test_newer_answers_are_those_of_the_second_reading(question: str, preference: float, series: int) -> None:
    pool = pool_of(question)
    matrix = matrix_of(pool, [3.0] * len(pool.rows))
    reader = GivenReader(np.linspace(-2, 3, len(pool.rows)).tolist(), again=1.0)
    found = read_with(ReadingPolicy(preference_of(0.7, pool)), pool, matrix, reader)
    places = np.flatnonzero(np.isfinite(found.readings))
    pairs = answer_pairs(pool.graph, pool.query, pool.rows[places])
    expected = newer_answer_features(pairs, found.readings[places], preference, series)
    assert found.features[SECOND_READING].any()
    for name, values in expected.items():
        assert found.features[name][places] == pytest.approx(values, abs=1e-6)
        assert bool(values.any()) is (series != 0 or name != SERIES_END)


@pytest.mark.parametrize(
    ("lead", "confidence", "preference", "best", "is_read"),
    [
        (4.0, 0.95, 1.0, -1, False),  # the newest is clearly the best
        (4.0, 0.9, 1.0, -1, False),
        (4.0, 0.89, 1.0, -1, True),
        (3.0, 0.95, 1.0, -1, True),
        (4.0, 0.95, 0.1, 0, True),  # the oldest is, and may be outdated
        (4.0, 0.95, 0.0, 0, False),
        (4.0, 0.95, -1.0, 0, False),  # a former state is asked for
        (4.0, 0.95, -1.0, -1, True),
    ],
)
def test_doubt_is_a_small_lead_a_low_confidence_or_a_rival_in_time(
    lead: float, confidence: float, preference: float, best: int, *, is_read: bool
) -> None:
    pool = pool_of()
    order = np.argsort(pool.graph.nodes["happened"][pool.rows], kind="stable")[[0, -1]]  # the oldest and the newest
    scores = [0.0] * len(pool.rows)
    scores[order[best]], scores[order[-1 - best]] = 5.0 + lead, 5.0
    policy, matrix = ReadingPolicy(preference_of(preference, pool)), matrix_of(pool, scores)
    for is_mandatory in (False, True):
        reader = GivenReader(is_mandatory=is_mandatory)
        found = read_with(policy, pool, matrix, reader, confidence)
        assert bool(reader.received_rows) is (found is not matrix) is (is_read or is_mandatory)


def test_single_candidate_leads_clearly() -> None:
    pool, reader = pool_of(), GivenReader(is_mandatory=False)
    matrix = matrix_of(pool, [0.5])
    assert read_with(NO_PREFERENCE, pool, matrix, reader, 0.95) is matrix
    assert read_with(NO_PREFERENCE, pool, matrix, reader, 0.5) is not matrix


def test_reading_counts_by_genre(tmp_path: Path) -> None:
    weights = {Genre.UTTERANCE: 0.5, Genre.STATEMENT: 1.0, Genre.PASSAGE: 0.25, Genre.LONG_TURN: 2.0}
    ranker = Ranker(*(LinearModel(0.0, {READING: weights[genre]}) for genre in Genre))
    with Memory(
        tmp_path / "m.db",
        embedder=HashingEmbedder(64),
        reader=WordReader(),
        clock=FakeClock(),
        strategy=Fused(ranker=ranker, reading=NO_PREFERENCE),
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
        found = memory.recall("Which cello is old?", reading="always")
    gains = {hit.id: {one.feature: one.value for one in hit.why.contributions}.get(READING) for hit in found}
    assert [gains[genre] for genre in ("utterance", "statement", "passage", "long")] == pytest.approx(
        [5.0, 10.0, 2.5, 20.0]
    )
