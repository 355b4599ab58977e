"""The reading policy: what is read, and the features that come of it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from ecphora.maintenance.learn.fused_training import UNTRAINED
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Passage
from ecphora.model.types import Mask, Rows, Scores
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.candidate_pool import CandidatePool, build_pool
from ecphora.strategies.fused.feature_matrix import (
    FORMER_STATE,
    ROLE_AGREEMENT,
    STATEMENT_FEATURES,
    FeatureMatrix,
    Genre,
    build_feature_matrix,
    statement_features,
)
from ecphora.strategies.fused.newer_answers import (
    NEWER_ANSWER,
    OLDER_ANSWER,
    SERIES_END,
    answer_pairs,
    newer_answer_features,
)
from ecphora.strategies.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.strategies.fused.reranking import (
    MAX_LOG_ODDS,
    RERANKING,
    RERANKING_FEATURES,
    RERANKING_NOT_ENGLISH,
    SECOND_RERANKING,
    RecencyPreference,
    RerankPolicy,
    unread_log_odds,
)
from ecphora.testing import sample_batch, sample_graph, sample_node, sample_query

pytestmark = pytest.mark.medium

GIVEN = "given"
"""A feature that stands for all others of the ranking before reading."""
LINEAR = LinearModel(
    MIN_LOG_ODDS,
    {
        GIVEN: 1.0,
        RERANKING: 0.5,
        RERANKING_NOT_ENGLISH: 0.25,
        SECOND_RERANKING: 2.0,
        **dict.fromkeys(STATEMENT_FEATURES, 0.25),
        ROLE_AGREEMENT: 1.5,
        NEWER_ANSWER: 3.0,
        OLDER_ANSWER: -4.0,
        SERIES_END: -5.0,
    },
)
ANSWERABILITY = UNTRAINED.answerability
RANKER = Ranker(*[LINEAR] * len(Genre))
NO_PREFERENCE = RerankPolicy({})


class GivenReranker:
    """A row reranker that says the same of rows wherever they are; ``received_rows`` has what it was to read.

    The rows have its ``texts`` in turn, in the order of reading, whatever the graph has.
    """

    def __init__(
        self,
        log_odds: Sequence[float] = (0.0,),
        *,
        again: float = 0.0,
        texts: Sequence[str] = ("It rained.",),
        is_mandatory: bool = True,
    ) -> None:
        self.log_odds, self.again, self.texts, self.is_mandatory = log_odds, again, texts, is_mandatory
        self.received_rows: list[int] = []
        self.reread_rows: list[int] = []
        self.passage_rows: list[int] = []

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        assert eligible[rows].all()
        self.received_rows += rows.tolist()
        return np.resize(np.array(self.log_odds, np.float32), len(rows))

    def rescore(self, rows: Rows, log_odds: Scores, /) -> Scores:
        self.reread_rows += rows.tolist()
        return log_odds + np.float32(self.again)

    def passages(self, rows: Rows, /) -> list[Passage]:
        self.passage_rows += rows.tolist()
        return [Passage(text) for text, _ in zip(cycle(self.texts), rows, strict=False)]


def pool_of(question: str = "Where is the flat?") -> CandidatePool:
    return build_pool(sample_graph(), replace(sample_query(question), embedder="some-model"))


def matrix_of(pool: CandidatePool, scores: Sequence[float]) -> FeatureMatrix:
    """A matrix that ``RANKER`` gives these scores, and 0 to the rows after them."""
    values = np.zeros(len(pool.rows), np.float32)
    values[: len(scores)] = scores
    matrix = build_feature_matrix(pool)
    return replace(matrix, features={**matrix.features, GIVEN: values})


def read_with(
    policy: RerankPolicy, pool: CandidatePool, matrix: FeatureMatrix, reranker: GivenReranker, confidence: float = 0.5
) -> FeatureMatrix:
    return policy.rerank(pool, matrix, RANKER.score(matrix), RANKER, ANSWERABILITY, confidence, reranker)


def preference_of(value: float, pool: CandidatePool) -> dict[str, RecencyPreference]:
    """A preference that does not depend on the question."""
    assert pool.query.vector is not None
    return {"some": RecencyPreference(value, np.zeros_like(pool.query.vector))}


def test_best_are_read_up_to_a_limit() -> None:
    pool, reranker = pool_of(), GivenReranker()
    matrix = matrix_of(pool, [1.0, 3.0, 0.0, 2.0, 5.0])
    read_with(RerankPolicy({}, max_candidates=3), pool, matrix, reranker)
    assert reranker.received_rows == reranker.passage_rows == pool.rows[[4, 1, 3]].tolist()
    wide = GivenReranker()
    read_with(NO_PREFERENCE, pool, matrix, wide)
    assert wide.received_rows == pool.rows[[4, 1, 3, 0]].tolist()  # not those with a score of 0
    assert NO_PREFERENCE.max_candidates == 24


@pytest.mark.parametrize(
    ("term_count", "is_mandatory", "is_read"), [(24, False, True), (25, False, False), (25, True, True)]
)
def test_long_question_is_read_only_if_reading_is_mandatory(
    term_count: int, *, is_mandatory: bool, is_read: bool
) -> None:
    pool, reranker = (
        pool_of(" ".join(f"w{number}x" for number in range(term_count))),
        GivenReranker(is_mandatory=is_mandatory),
    )
    assert len(pool.query.term_hashes) == term_count
    matrix = matrix_of(pool, [5.0, 4.0])
    assert (read_with(NO_PREFERENCE, pool, matrix, reranker) is not matrix) == is_read
    assert bool(reranker.received_rows) == is_read


@pytest.mark.parametrize(("length", "is_read"), [(36, True), (38, False)])
def test_question_of_many_characters_is_long_by_its_words(length: int, *, is_read: bool) -> None:
    """Each ideograph and each pair of them is a term; 72 such terms count as 24 words."""
    pool, reranker = (
        pool_of("".join(chr(0x4E00 + 7 * number) for number in range(length))),
        GivenReranker(is_mandatory=False),
    )
    assert len(pool.query.term_hashes) > 24
    matrix = matrix_of(pool, [5.0, 4.0])
    assert (read_with(NO_PREFERENCE, pool, matrix, reranker) is not matrix) == is_read


@pytest.mark.parametrize(
    ("is_english", "read_places"), [(False, [11, 10, 9, 0, 8, 7, 6, 1]), (True, [11, 10, 9, 8, 7, 6, 5, 4])]
)
def test_one_in_four_is_read_for_its_similarity_unless_all_is_english(
    *, is_english: bool, read_places: list[int]
) -> None:
    """The later a node, the farther its vector is from the question, and the better it ranks before reading."""
    asked = np.array([1, 0], np.float32)
    cosines = np.linspace(0.9, 0.1, 12)
    nodes = [sample_node(f"n{place}", "It rained.", minutes=place, seq=place + 1) for place in range(12)]
    vectors = {
        node.id: np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)
        for node, cosine in zip(nodes, cosines, strict=True)
    }
    batch = sample_batch(*nodes, vectors=vectors, english_vectors=vectors if is_english else {})
    query = replace(sample_query("Did it rain?", vector=asked), english_vector=asked if is_english else None)
    pool, reranker = build_pool(apply_batch(Graph(), replace(batch, revision=1)), query), GivenReranker()
    read_with(RerankPolicy({}, max_candidates=8), pool, matrix_of(pool, np.linspace(1.0, 9.0, 12).tolist()), reranker)
    assert reranker.received_rows == read_places


@pytest.mark.parametrize("is_english", [True, False])
def test_reading_counts_more_unless_question_and_candidate_are_english(*, is_english: bool) -> None:
    vector = np.array([1, 0], np.float32)
    nodes = [sample_node(f"n{place}", "It rained.", minutes=place, seq=place + 1) for place in range(3)]
    batch = sample_batch(
        *nodes, vectors={node.id: vector for node in nodes}, english_vectors={node.id: vector for node in nodes[:2]}
    )
    query = sample_query("Did it rain?", vector=vector)
    pool = build_pool(
        apply_batch(Graph(), replace(batch, revision=1)),
        replace(query, embedder="some-model", english_vector=vector if is_english else None),
    )
    found = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0, 4.0, 3.0]), GivenReranker([2.0, 1.0, -1.0]))
    assert found.features[RERANKING].tolist() == [2.0, 1.0, -1.0]
    assert found.features[RERANKING_NOT_ENGLISH].tolist() == ([0.0, 0.0, -1.0] if is_english else [2.0, 1.0, -1.0])


def test_roles_count_only_where_those_of_some_candidate_are_reversed() -> None:
    same, swapped, gave, other = (
        "Jonas lent Mira the drill.",
        "Mira lent Jonas the drill.",
        "Mira gave Jonas the drill.",
        "It rained.",
    )
    for texts, expected in (((same, other), [0.0, 0.0]), ((same, swapped), [1.0, -1.0]), ((other, gave), [0.0, -0.5])):
        pool, reranker = pool_of("Who lent Mira the drill?"), GivenReranker(texts=texts)
        found = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0, 4.0]), reranker)
        assert found.features[ROLE_AGREEMENT][:2].tolist() == expected


def test_reading_is_relative_to_what_was_not_read() -> None:
    pool = pool_of()
    matrix = matrix_of(pool, [5.0, 4.0, 3.0, 2.0, 1.0])
    found = read_with(RerankPolicy({}, max_candidates=4), pool, matrix, GivenReranker([1.0, -3.0, np.nan, -1.0]))
    worse_half = -2.0  # the median of -3 and -1
    assert found.features[RERANKING][:6].tolist() == [1.0 - worse_half, -1.0, 0.0, 1.0, 0.0, 0.0]
    assert not found.features[RERANKING][6:].any()
    assert np.isnan(found.reranker_scores[[2, 4, 5]]).all()
    assert found.reranker_scores[[0, 1, 3]].tolist() == [1.0, -3.0, -1.0]
    assert found.is_read
    assert not matrix.is_read
    for name, values in matrix.features.items():
        assert found.features[name] is values
    assert {*found.features} == {*matrix.features, *RERANKING_FEATURES}


@pytest.mark.parametrize(
    ("log_odds", "expected"),
    [((2.0,), 2.0), ((2.0, -1.0), -1.0), ((2.0, -1.0, -3.0), -2.0), ((4.0, 3.0, 2.0, 1.0, -9.0), 1.0)],
)
def test_candidates_that_were_not_read_are_like_the_worse_half(log_odds: tuple[float, ...], expected: float) -> None:
    assert unread_log_odds(np.array(log_odds, np.float32)) == expected


def test_reader_log_odds_have_a_bound() -> None:
    pool = pool_of()
    found = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0, 4.0, 3.0]), GivenReranker([1e9, -1e9, np.nan]))
    assert found.reranker_scores[:2].tolist() == [MAX_LOG_ODDS, -MAX_LOG_ODDS]
    assert found.features[RERANKING][:2].tolist() == [2 * MAX_LOG_ODDS, 0.0]
    again = read_with(NO_PREFERENCE, pool, matrix_of(pool, [5.0, 5.0]), GivenReranker([7.0, 7.0], again=90.0))
    assert again.reranker_scores[0] == MAX_LOG_ODDS
    assert again.features[SECOND_RERANKING][0] == MAX_LOG_ODDS - 7


def test_second_reading_is_what_it_says_more() -> None:
    pool, reranker = pool_of(), GivenReranker([1.0, 1.5, 0.5], again=-0.75)
    found = read_with(RerankPolicy({}, max_rescore=2), pool, matrix_of(pool, [3.0, 2.5, 2.0]), reranker)
    assert reranker.reread_rows == pool.rows[[0, 1]].tolist()
    assert found.features[SECOND_RERANKING][:4].tolist() == [-0.75, -0.75, 0.0, 0.0]
    assert found.reranker_scores[:3].tolist() == [0.25, 0.75, 0.5]
    assert found.features[RERANKING][:3].tolist() == [0.25, 0.75, -0.25]  # relative to the first scores


@pytest.mark.parametrize(
    ("confidence", "is_mandatory", "is_read_again"),
    [(0.3, False, False), (0.5, False, True), (0.7, False, False), (0.7, True, True)],
)
def test_best_is_read_again_in_doubt(confidence: float, is_mandatory: bool, is_read_again: bool) -> None:
    pool, policy = pool_of(), RerankPolicy({}, doubt=(0.4, 0.6))
    reranker = GivenReranker([1.0, 1.5, 0.5], again=-0.75, is_mandatory=is_mandatory)
    matrix, nothing = matrix_of(pool, [3.0, 2.5, 2.0]), (0.0,) * len(ANSWERABILITY_FEATURES)
    given = AnswerabilityModel(nothing, float(np.log(confidence / (1 - confidence))), nothing, 0.0)
    found = policy.rerank(pool, matrix, RANKER.score(matrix), RANKER, given, 0.5, reranker)
    assert reranker.reread_rows == (pool.rows[[0]].tolist() if is_read_again else [])
    assert found.features[SECOND_RERANKING][0] == (-0.75 if is_read_again else 0.0)
    assert found.reranker_scores[0] == (0.25 if is_read_again else 1.0)


def test_contributions_sum_to_the_scores() -> None:
    pool = pool_of("Who lent Mira the drill?")
    policy = RerankPolicy(preference_of(0.7, pool), max_candidates=5)
    texts = ("Mira gave Jonas the drill.",)
    matrix = matrix_of(pool, [float(place % 3) for place in range(len(pool.rows))])
    before = RANKER.score(matrix)
    after = RANKER.score(read_with(policy, pool, matrix, GivenReranker([2.0, -1.0, np.nan], again=1.0, texts=texts)))
    gain = np.sum([after.contributions[name] for name in RERANKING_FEATURES], axis=0)
    assert after.scores == pytest.approx(np.sum(list(after.contributions.values()), axis=0), abs=1e-4)
    assert after.scores - before.scores == pytest.approx(gain, abs=1e-4)
    assert after.log_odds - before.log_odds == pytest.approx(gain, abs=1e-4)
    was_read = np.isfinite(read_with(policy, pool, matrix, GivenReranker([2.0, -1.0, np.nan])).reranker_scores)
    assert 0 < was_read.sum() < 5
    assert not gain[~was_read].any()
    assert after.contributions[ROLE_AGREEMENT][was_read].tolist() == [-0.75] * int(was_read.sum())


@pytest.mark.parametrize("log_odds", [[np.nan], []])
def test_matrix_stays_if_nothing_is_read(log_odds: list[float]) -> None:
    pool = pool_of()
    matrix = matrix_of(pool, [5.0, 4.0] if log_odds else [])  # or there is no candidate
    reranker = GivenReranker(log_odds)
    assert read_with(NO_PREFERENCE, pool, matrix, reranker) is matrix
    assert not reranker.reread_rows
    assert not reranker.passage_rows


@pytest.mark.parametrize(
    ("question", "preference", "series"),
    [("Where is the flat?", 0.7, 0), ("Where is my latest flat?", 1.0, 1), ("Where was the first flat?", -1.0, -1)],
)
def test_newer_answers_are_those_of_the_second_reading(question: str, preference: float, series: int) -> None:
    pool = pool_of(question)
    matrix = matrix_of(pool, [3.0] * len(pool.rows))
    reranker = GivenReranker(np.linspace(-2, 3, len(pool.rows)).tolist(), again=1.0)
    found = read_with(RerankPolicy(preference_of(0.7, pool)), pool, matrix, reranker)
    places = np.flatnonzero(np.isfinite(found.reranker_scores))
    pairs = answer_pairs(pool.graph, pool.query, pool.rows[places], *np.zeros((2, len(places)), np.bool_))
    expected = newer_answer_features(pairs, found.reranker_scores[places], preference, series)
    assert found.features[SECOND_RERANKING].any()
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
    policy, matrix = RerankPolicy(preference_of(preference, pool)), matrix_of(pool, scores)
    for is_mandatory in (False, True):
        reranker = GivenReranker(is_mandatory=is_mandatory)
        found = read_with(policy, pool, matrix, reranker, confidence)
        assert bool(reranker.received_rows) is (found is not matrix) is (is_read or is_mandatory)


def test_single_candidate_leads_clearly() -> None:
    pool, reranker = pool_of(), GivenReranker(is_mandatory=False)
    matrix = matrix_of(pool, [0.5])
    assert read_with(NO_PREFERENCE, pool, matrix, reranker, 0.95) is matrix
    assert read_with(NO_PREFERENCE, pool, matrix, reranker, 0.5) is not matrix


def as_statements(matrix: FeatureMatrix) -> FeatureMatrix:
    return replace(matrix, genres=np.full(len(matrix), Genre.STATEMENT))


OWN, NEWER_OWN = "I live in Ghent.", "I live in Bonn."
OF_ANOTHER, ADVICE, WISH = "My brother lives in Ulm.", "You should consider moving to Rome.", "I wish I lived in Lyon."


@pytest.mark.parametrize("other", [OF_ANOTHER, ADVICE, WISH, "I used to live in Rome."])
def test_text_that_cannot_answer_is_no_rival_in_time(other: str) -> None:
    """Two answers that are read alike; the newer one gains and the older one loses, unless one cannot answer."""
    pool = pool_of("Where do I live?")
    order = np.argsort(pool.graph.nodes["happened"][pool.rows], kind="stable")
    old, new = int(order[0]), int(order[-1])
    policy = RerankPolicy(preference_of(1.0, pool))
    scores = [0.0] * len(pool.rows)
    scores[new], scores[old] = 3.0, 2.5
    matrix = as_statements(matrix_of(pool, scores))
    found = read_with(policy, pool, matrix, GivenReranker([3.0], texts=(NEWER_OWN, OWN)))
    assert found.features[NEWER_ANSWER][new] > 0
    assert found.features[OLDER_ANSWER][old] > 0
    assert found.reranker_scores[[old, new]].tolist() == [3.0, 3.0]
    for texts, place in (((other, OWN), new), ((NEWER_OWN, other), old)):
        reranker = GivenReranker([3.0], texts=texts)
        found = read_with(policy, pool, matrix, reranker)
        assert reranker.passage_rows == pool.rows[[new, old]].tolist()
        assert np.abs(found.features[NEWER_ANSWER]).max() == pytest.approx(0, abs=1e-3)
        assert np.abs(found.features[OLDER_ANSWER]).max() == pytest.approx(0, abs=1e-3)
        assert found.reranker_scores[place] == -MAX_LOG_ODDS
        assert found.reranker_scores[new + old - place] == 3.0
        assert found.features[SECOND_RERANKING][place] == 0  # what the reranker says stays a feature


def test_features_of_statements_are_those_of_the_passages_in_order_of_reading() -> None:
    pool = pool_of("Where do I live?")
    texts = (OWN, OF_ANOTHER, WISH, "I used to live in Rome.")
    found = read_with(
        RerankPolicy(preference_of(0.5, pool)),
        pool,
        as_statements(matrix_of(pool, [1.0, 2.0, 4.0, 3.0])),
        GivenReranker(texts=texts),
    )
    expected = statement_features(
        pool.query, [Passage(text) for text in texts], np.full(len(texts), Genre.STATEMENT), 0.5
    )
    for name in STATEMENT_FEATURES:
        assert found.features[name][[2, 3, 1, 0]].tolist() == expected[name].tolist()
        assert not found.features[name][4:].any()
    assert found.features[FORMER_STATE][0] == 0.5
