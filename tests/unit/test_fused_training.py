"""Training of fused: the ranker and the answerability model, and the files of their weights."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecphora.maintenance.learn.fused_training import (
    NEGATIVE_FEATURES,
    ROWS_PER_QUESTION,
    UNSIGNED_FEATURES,
    UNTRAINED,
    FusedExample,
    FusedModel,
    train_answerability,
    train_ranker,
)
from ecphora.model.types import PRIOR
from ecphora.retrieval.bm25 import TermCoverage
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, answerability_features
from ecphora.strategies.fused.feature_matrix import FeatureMatrix, Genre
from ecphora.strategies.fused.features import feature_names_by_group
from ecphora.strategies.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.strategies.fused.reranking import RERANKING_FEATURES

# ---- ranker and answerability


def pool(
    columns: Mapping[str, list[float]], genres: Sequence[int], reranker_scores: Sequence[float] | None = None
) -> FeatureMatrix:
    """A matrix of rows with these features; ``reranker_scores`` are a reranker's log-odds, None if it has read none."""
    size = len(genres)
    own = np.zeros((size, 2), np.bool_)
    zeros = np.zeros(size, np.float32)
    named = {name: np.array(values, np.float32) for name, values in columns.items()}
    base = dict.fromkeys(
        ("first-stage rank", "date match", "identifier match", "named speaker", "other speaker", "good", "is question"),
        zeros,
    )
    return FeatureMatrix(
        rows=np.arange(size),
        features=base | named,
        genres=np.array(genres),
        cosine=zeros,
        english_cosine=zeros,
        bm25=zeros,
        term_coverage=TermCoverage(np.ones(2), np.array([True, True]), own, own),
        has_query_date=False,
        has_unknown_entity=False,
        reranker_scores=np.full(size, np.nan, np.float32)
        if reranker_scores is None
        else np.array(reranker_scores, np.float32),
    )


def example(
    good: list[float],
    gold: set[int],
    *,
    genre: Genre = Genre.UTTERANCE,
    answerable: bool = True,
    columns: Mapping[str, list[float]] | None = None,
    reranker_scores: Sequence[float] | None = None,
    dataset: str = "s",
) -> FusedExample:
    return FusedExample(
        dataset=dataset,
        space="one",
        question_id="q",
        is_full_space=True,
        matrix=pool({"good": good, **(columns or {})}, [genre] * len(good), reranker_scores),
        document_numbers=np.arange(len(good)),
        gold=frozenset(gold),
        is_answerable=answerable,
    )


EXAMPLES = [example([0.1 * n % 1, 2.0, 0.3], {1}, columns={"is question": [1.0, 0.0, 1.0]}) for n in range(30)]


@pytest.mark.medium
def test_ranker_learns_from_rows_of_its_genre() -> None:
    found = train_ranker(EXAMPLES, UNTRAINED.ranker)
    assert found.utterance.weights["good"] > 0 > found.utterance.weights["is question"]
    assert found.models[1:] == UNTRAINED.ranker.models[1:]
    assert found.feature_names == tuple(found.utterance.weights)
    for genre in Genre:
        columns = {"similarity": [0.0, 1.0]}  # a feature of every genre
        own = train_ranker([example([0.0, 1.0], {1}, genre=genre, columns=columns)] * 30, UNTRAINED.ranker)
        assert [model.weights != {} for model in own.models] == [one is genre for one in Genre]


def test_statements_learn_no_feature_of_the_turns_beside_them() -> None:
    columns = {"similarity": [0.0, 1.0], "adjacent turn": [0.0, 1.0], "reranking": [0.0, 1.0]}
    for genre, names in ((Genre.STATEMENT, {"similarity", "reranking"}), (Genre.PASSAGE, {*columns, "good"})):
        found = train_ranker([example([0.0, 1.0], {1}, genre=genre, columns=columns)] * 30, UNTRAINED.ranker)
        assert found.models[genre].weights.keys() == names


def test_weights_never_oppose_the_sign_of_a_feature() -> None:
    worse = [example([2.0, 0.0, 1.0], {1}, columns={"is question": [0.0, 1.0, 0.0]}) for _ in range(20)]
    assert train_ranker(worse, UNTRAINED.ranker).utterance.weights == {}


def test_ranker_compares_rows_of_one_question_and_not_of_several() -> None:
    """Over all questions the wrong rows have more of the feature, in each question the right one has."""
    many = [example([10.0] * 20 + [11.0], {20}) for _ in range(20)]
    few = [example([0.0, 1.0], {1}) for _ in range(20)]
    assert train_ranker([*many, *few], UNTRAINED.ranker).utterance.weights["good"] > 0


def test_signs_are_of_features_that_exist() -> None:
    names = {name for names in feature_names_by_group().values() for name in names} | {*RERANKING_FEATURES}
    assert names >= NEGATIVE_FEATURES | UNSIGNED_FEATURES
    assert not NEGATIVE_FEATURES & UNSIGNED_FEATURES


@pytest.mark.medium
@pytest.mark.parametrize("name", sorted(NEGATIVE_FEATURES))
def test_negative_features_count_against_a_row(name: str) -> None:
    for right, is_used in (([1.0, 0.0], False), ([0.0, 1.0], True)):
        found = train_ranker([example([0.0, 0.0], {0}, columns={name: right})] * 30, UNTRAINED.ranker).utterance
        assert (found.weights.get(name, 0.0) < 0) == is_used
        assert (found.weights == {}) != is_used


def test_bias_makes_as_many_rows_right_as_expected() -> None:
    examples = [example([0.1 * n % 1, 2.0, 0.3, 1.0, *[0.0] * (n % 4)], {1}) for n in range(40)]
    other = [example([0.5, 1.0], {1}, dataset="of four questions") for _ in range(4)]
    ranker = train_ranker([*examples, *other], UNTRAINED.ranker)
    expected = right = 0.0
    for group in (examples, other):
        count = len(group) ** -0.5
        for one in group:
            log_odds = ranker.score(one.matrix).log_odds.astype(np.float64)
            expected += count * float(np.sum(1 / (1 + np.exp(-log_odds))))
            right += count
    assert expected == pytest.approx(right, rel=1e-3)


@pytest.mark.medium
def test_questions_of_a_set_count_for_the_root_of_their_number() -> None:
    """Sets that contradict each other: four times as many questions count twice."""
    columns = {"entity count": [0.0, 1.0]}
    against = {"entity count": [1.0, 0.0]}

    def weight(large: int, small: int) -> float:
        large_set = [example([0.0, 0.0], {1}, columns=columns, dataset="large")] * large
        small_set = [example([0.0, 0.0], {1}, columns=against, dataset="small")] * small
        model = train_ranker([*large_set, *small_set], UNTRAINED.ranker, ridge=1e-6).utterance
        return model.weights.get("entity count", 0.0)

    assert weight(40, 40) == 0
    assert weight(160, 40) == pytest.approx(np.log(2), abs=0.01)


@pytest.mark.medium
def test_ranker_learns_from_the_best_rows_of_a_question() -> None:
    """Of the rows beyond the best by the first stage nothing is learned, unless they hold the answer."""
    size = ROWS_PER_QUESTION + 20
    ranks = {"first-stage rank": [-float(place) for place in range(size)]}
    last = [float(place >= ROWS_PER_QUESTION - 1) for place in range(size)]  # with the answer, the 100th is beyond
    found = train_ranker([example(last, {size - 1}, columns=ranks)] * 30, UNTRAINED.ranker).utterance
    assert found.weights["good"] > 0
    first = train_ranker([example(last, {0}, columns={**ranks, "is question": last})] * 30, UNTRAINED.ranker).utterance
    assert first.weights["is question"] < 0  # the 100th is in
    behind = [float(place >= ROWS_PER_QUESTION) for place in range(size)]
    nothing = train_ranker([example([0.0] * size, {0}, columns={**ranks, "is question": behind})] * 30,
                           UNTRAINED.ranker).utterance  # fmt: skip
    assert "is question" not in nothing.weights
    prior = Ranker(LinearModel(-3.0, {"good": 1.0}), *UNTRAINED.ranker.models[1:])
    by_prior = train_ranker([example(behind, {0}, columns={**ranks, "is question": behind})] * 30, prior).utterance
    assert by_prior.weights["is question"] < 0  # the prior ranks them first


def test_features_that_no_row_has_keep_the_weight_of_the_prior() -> None:
    """Feedback has no scores of a reranker: what the package learned of them stays."""
    prior_model = LinearModel(-3.0, {"reranking": 0.7, "older answer": -2.0, "date match": 0.5, "good": 0.2})
    prior = Ranker(prior_model, *UNTRAINED.ranker.models[1:])
    found = train_ranker(EXAMPLES, prior).utterance.weights  # neither "reranking" nor "older answer"; no date match
    assert found["good"] != 0.2
    assert {name: found[name] for name in ("reranking", "older answer", "date match")} == {
        "reranking": 0.7,
        "older answer": -2.0,
        "date match": 0.5,
    }
    read = [example([0.1, 2.0, 0.3], {1}, columns={"reranking": [0.0, 3.0, 0.0]}) for _ in range(30)]
    assert train_ranker(read, prior).utterance.weights["reranking"] != 0.7


def test_training_stays_near_the_prior() -> None:
    prior = Ranker(LinearModel(-3.0, {"good": 5.0}), *UNTRAINED.ranker.models[1:])
    few = train_ranker(EXAMPLES[:1], prior).utterance.weights["good"]
    assert few == pytest.approx(5.0, abs=0.1)
    assert train_ranker(EXAMPLES[:1], prior, ridge=1e-3).utterance.weights["good"] > few


def test_ranker_learns_from_the_best_chunk_of_a_document() -> None:
    chunks = replace(
        example([1.0, 0.0, 0.0, 0.5], {7}, genre=Genre.PASSAGE, columns={"first-stage rank": [-1.0, 0.0, -2.0, -3.0]}),
        document_numbers=np.array([7, 7, 7, 8]),
    )
    other = example([0.0, 1.0], {0}, genre=Genre.PASSAGE)
    found = train_ranker([chunks, other], UNTRAINED.ranker)  # the second chunk of document 7, which is not good
    assert "good" not in found.passage.weights


def test_untrainable_examples_do_not_train_the_ranker() -> None:
    for example_ in EXAMPLES[:1]:
        assert example_.is_trainable
        assert not replace(example_, is_full_space=False).is_trainable
        assert not replace(example_, is_answerable=False, gold=frozenset()).is_trainable
        assert not replace(example_, gold=frozenset({99})).is_trainable
    assert (
        train_ranker([replace(example_, is_full_space=False) for example_ in EXAMPLES], UNTRAINED.ranker)
        == UNTRAINED.ranker
    )


@pytest.mark.medium
def test_answerability_separates_answerable_questions() -> None:
    answerable_examples = [example([2.0 + 0.01 * n, 0.0], {0}) for n in range(20)]
    unanswerable_examples = [example([0.1 + 0.01 * n, 0.0], set(), answerable=False) for n in range(20)]
    model = FusedModel(
        Ranker(LinearModel(-3, {"good": 2.0}), *[LinearModel(-3, {})] * (len(Genre) - 1)),
        UNTRAINED.answerability,
    )
    found = train_answerability([*answerable_examples, *unanswerable_examples], model.ranker, UNTRAINED.answerability)
    assert (found.read_weights, found.read_bias) == (UNTRAINED.answerability.read_weights, 0.0)

    def probability(example_: FusedExample) -> float:
        return found.probability(example_.matrix, model.ranker.score(example_.matrix))

    assert min(map(probability, answerable_examples)) > 0.5 > max(map(probability, unanswerable_examples))
    assert (
        train_answerability(answerable_examples, model.ranker, UNTRAINED.answerability) == UNTRAINED.answerability
    )  # there is nothing to distinguish


@pytest.mark.medium
def test_answerability_of_questions_that_were_read_is_trained_apart() -> None:
    def questions(reranker_scores: Sequence[float] | None, *, answerable: bool) -> list[FusedExample]:
        gold = {0} if answerable else set()
        return [
            example([1.0 + 0.01 * n, 0.0], gold, answerable=answerable,
                    reranker_scores=reranker_scores and [value + 0.01 * n for value in reranker_scores])
            for n in range(20)
        ]  # fmt: skip

    ranker = Ranker(*[LinearModel(-3, {"good": 2.0})] * len(Genre))
    read = [*questions([3.0, -3.0], answerable=True), *questions([-3.0, -4.0], answerable=False)]
    prior = replace(UNTRAINED.answerability, unread_bias=0.25)
    found = train_answerability(read, ranker, prior)
    assert (found.unread_weights, found.unread_bias) == (prior.unread_weights, 0.25)
    by_name = dict(zip(ANSWERABILITY_FEATURES, found.read_weights, strict=True))
    assert by_name["best reranker score"] > 0
    values = [found.probability(one.matrix, ranker.score(one.matrix)) for one in read]
    assert min(values[:20]) > 0.5 > max(values[20:])
    unread = [*questions(None, answerable=True), *questions(None, answerable=False)]
    both = train_answerability([*read, *unread], ranker, prior)
    assert (both.read_weights, both.read_bias) == (found.read_weights, found.read_bias)
    assert all(weight == 0 for name, weight in zip(ANSWERABILITY_FEATURES, both.unread_weights, strict=True)
               if "reranker score" in name)  # fmt: skip


def test_answerability_features_of_reranker_scores_vectors_and_genres() -> None:
    reranker_scores = [0.5, np.nan, 2.0, -1.0]
    genres = [Genre.UTTERANCE, Genre.LONG_TURN, Genre.STATEMENT, Genre.PASSAGE]
    matrix = replace(
        pool({"good": [3.0, 2.0, 1.0, 0.0]}, genres, reranker_scores),
        english_cosine=np.array([0.1, 0.7, 0.2, 0.3], np.float32),
    )
    ranker = Ranker(*[LinearModel(-3, {"good": 1.0})] * len(Genre))

    def values(one: FeatureMatrix) -> dict[str, float]:
        found = answerability_features(one, ranker.score(one)).tolist()
        return dict(zip(ANSWERABILITY_FEATURES, found, strict=True))

    found = values(matrix)
    assert found["English cosine"] == pytest.approx(0.7)
    assert found["conversation share"] == 0.5
    assert (found["best reranker score"], found["second best reranker score"], found["reranker score of top"]) == (
        2.0,
        0.5,
        0.5,
    )
    total = sum(1 / (1 + np.exp(-one)) for one in (0.5, 2.0, -1.0))
    assert found["log sum of reranker scores"] == pytest.approx(np.log(total + 1e-4), abs=1e-5)
    top_unread = values(replace(matrix, reranker_scores=np.array([np.nan, 0.5, 2.0, -1.0], np.float32)))
    assert top_unread["reranker score of top"] == -1.0  # as bad as the worst that was read
    assert (
        values(replace(matrix, reranker_scores=np.array([np.nan, 4.0, np.nan, np.nan])))["second best reranker score"]
        == 4.0
    )
    assert matrix.is_read
    unread = replace(matrix, reranker_scores=np.full(4, np.nan, np.float32))
    assert not unread.is_read
    assert [value for name, value in values(unread).items() if "reranker score" in name] == [0.0] * 5


def test_answerability_uses_the_weights_for_what_was_read() -> None:
    count = len(ANSWERABILITY_FEATURES)
    model = replace(UNTRAINED.answerability, read_bias=2.0, unread_bias=-2.0)
    ranker = Ranker(*[LinearModel(-3, {})] * len(Genre))
    for reranker_scores, expected in ((None, 1 / (1 + np.exp(2))), ([1.0, np.nan], 1 / (1 + np.exp(-2)))):
        matrix = pool({}, [0, 0], reranker_scores)
        assert model.probability(matrix, ranker.score(matrix)) == pytest.approx(expected)
    assert len(model.read_weights) == len(model.unread_weights) == count
    nothing = pool({}, [0, 0])
    below = Ranker(*[LinearModel(MIN_LOG_ODDS - 1, {})] * len(Genre)).score(nothing)
    assert model.probability(nothing, below) == 0


def test_speaker_margin_compares_named_and_other_speakers() -> None:
    matrix = pool(
        {"good": [2.0, 0.2], "named speaker": [0.0, 1.0], "other speaker": [1.0, 0.0]},
        [Genre.UTTERANCE, Genre.UTTERANCE],
    )
    linear_model = LinearModel(-3, {"good": 1.0, "named speaker": 5.0, "other speaker": -5.0})
    found = dict(
        zip(
            ANSWERABILITY_FEATURES,
            answerability_features(matrix, Ranker(*[linear_model] * len(Genre)).score(matrix)),
            strict=True,
        )
    )
    assert found["names one speaker"] == 1
    assert found["speaker margin"] == pytest.approx(-1.8)  # without the weights of the speaker features
    swapped = pool(
        {"good": [2.0, 0.2], "named speaker": [1.0, 0.0], "other speaker": [0.0, 1.0]},
        [Genre.UTTERANCE, Genre.UTTERANCE],
    )
    found = dict(
        zip(
            ANSWERABILITY_FEATURES,
            answerability_features(swapped, Ranker(*[linear_model] * len(Genre)).score(swapped)),
            strict=True,
        )
    )
    assert found["speaker margin"] == pytest.approx(1.8)


def test_contributions_add_up_with_the_model_of_each_genre() -> None:
    matrix = pool({"good": [1.0] * len(Genre)}, list(Genre))
    weights_by_genre = ((-9, 1.0), (-8, 2.0), (-7, 0.0), (-6, 3.0))
    scored = Ranker(*(LinearModel(bias, {"good": weight}) for bias, weight in weights_by_genre)).score(matrix)
    assert scored.log_odds.tolist() == [-8, -6, -7, -3]
    assert scored.scores.tolist() == [odds - MIN_LOG_ODDS for odds in (-8, -6, -7, -3)]
    assert np.sum([*scored.contributions.values()], axis=0).tolist() == scored.scores.tolist()
    assert scored.contributions[PRIOR].tolist() == [bias - MIN_LOG_ODDS for bias, _ in weights_by_genre]
