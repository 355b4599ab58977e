"""Training of fused: regression whose weights keep their signs, and what questions teach columns and signs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import weights
from ecphora.errors import InvalidRecord
from ecphora.learn import fused_weights as written
from ecphora.learn.fused_training import UNTRAINED, FusedExample, FusedModel, train, train_answerability, train_ranker
from ecphora.learn.regression import fit_logistic, fit_signed_logistic
from ecphora.model import PRIOR
from ecphora.stages.fused.answerability import ANSWERABILITY_FEATURES, answerability_features
from ecphora.stages.fused.feature_matrix import FeatureMatrix, Genre
from ecphora.stages.fused.features import feature_names_by_group
from ecphora.stages.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.stages.retrieval.term_coverage import TermCoverage
from ecphora.weights import former_names

# ---- regression


def examples(count: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    features = np.column_stack([draw.normal(size=(count, 3)), np.ones(count)])
    odds = features @ np.array([1.5, -2.0, 0.0, 0.5])
    return features, (draw.random(count) < 1 / (1 + np.exp(-odds))).astype(float)


def test_a_bound_that_does_not_bind_changes_nothing() -> None:
    features, labels = examples()
    ridge = np.full(4, 0.1)
    free = fit_logistic(features, labels, ridge)
    sign = np.array([1.0, -1.0, 0.0, 0.0])
    kept = fit_signed_logistic(features, labels, np.ones(len(labels)), ridge=ridge, sign=sign, prior=np.zeros(4))
    assert kept == pytest.approx(free, abs=1e-4)
    assert free[0] > 1 > -1 > free[1]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4), st.integers(0, 3))
def test_signs_are_kept_and_the_rest_is_best(signs_: list[float], seed: int) -> None:
    features, labels = examples(80, seed)
    sign, ridge, ones = np.array(signs_), np.full(4, 0.5), np.ones(80)
    found = fit_signed_logistic(features, labels, ones, ridge=ridge, sign=sign, prior=np.zeros(4))
    assert (found * sign >= 0).all()

    def loss(at: np.ndarray) -> float:
        odds = features @ at
        return float(np.sum(np.logaddexp(0, odds) - labels * odds) + 0.25 * at @ at)

    for place in range(4):  # no step along an axis that keeps the signs is better
        for step in (-1e-2, 1e-2):
            other = found.copy()
            other[place] += step
            assert other[place] * sign[place] < 0 or loss(other) >= loss(found) - 1e-6


def test_examples_count_as_often_as_they_are_said_to() -> None:
    features, labels = examples(60)
    counts = np.where(np.arange(60) < 20, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), counts.astype(int))
    free, ridge = np.zeros(4), np.full(4, 0.3)
    once = fit_signed_logistic(features, labels, counts, ridge=ridge, sign=free, prior=free)
    assert once == pytest.approx(fit_logistic(features[repeated], labels[repeated], ridge), abs=1e-4)


def test_what_teaches_nothing_leaves_the_prior() -> None:
    prior = np.array([0.5, -0.25, 0.0, 0.0])
    features = np.zeros((4, 4))
    found = fit_signed_logistic(features, np.ones(4), np.ones(4), ridge=np.ones(4), sign=np.zeros(4), prior=prior)
    assert found == pytest.approx(prior)


# ---- lessons


def pool(columns: Mapping[str, list[float]], sorts: list[int], covered: list[int] | None = None) -> FeatureMatrix:
    size = len(sorts)
    own = np.zeros((size, 2), np.bool_)
    own[[] if covered is None else covered, 0] = True
    zeros = np.zeros(size, np.float32)
    named = {name: np.array(values, np.float32) for name, values in columns.items()}
    base = dict.fromkeys(
        ("first-stage rank", "date match", "named speaker", "other speaker", "good", "is question"), zeros
    )
    return FeatureMatrix(
        rows=np.arange(size),
        features=base | named,
        genres=np.array(sorts),
        cosine=zeros,
        bm25=zeros,
        term_coverage=TermCoverage(np.ones(2), np.array([True, True]), own, own),
        has_query_date=False,
        has_unknown_entity=False,
    )


def told(
    good: list[float],
    gold: set[int],
    *,
    sort: Genre = Genre.UTTERANCE,
    answerable: bool = True,
    columns: Mapping[str, list[float]] | None = None,
) -> FusedExample:
    return FusedExample(
        dataset="s",
        space="one",
        question_id="q",
        is_full_space=True,
        matrix=pool({"good": good, **(columns or {})}, [sort] * len(good)),
        document_numbers=np.arange(len(good)),
        gold=frozenset(gold),
        is_answerable=answerable,
    )


LESSONS = [told([0.1 * n % 1, 2.0, 0.3], {1}, columns={"is question": [1.0, 0.0, 1.0]}) for n in range(30)]


def test_a_head_learns_from_the_rows_of_its_sort() -> None:
    found = train_ranker(LESSONS, UNTRAINED.ranker)
    assert found.utterance.weights["good"] > 0 > found.utterance.weights["is question"]
    assert (found.note, found.passage) == (UNTRAINED.ranker.note, UNTRAINED.ranker.passage)
    assert found.feature_names == tuple(found.utterance.weights)


def test_a_column_says_nothing_against_its_meaning() -> None:
    worse = [told([2.0, 0.0, 1.0], {1}, columns={"is question": [0.0, 1.0, 0.0]}) for _ in range(20)]
    assert train_ranker(worse, UNTRAINED.ranker).utterance.weights == {}


def test_of_a_text_in_pieces_the_best_touched_is_learned_from() -> None:
    pieces = replace(
        told([1.0, 0.0, 0.0, 0.5], {7}, sort=Genre.PASSAGE, columns={"first-stage rank": [-1.0, 0.0, -2.0, -3.0]}),
        document_numbers=np.array([7, 7, 7, 8]),
    )
    other = told([0.0, 1.0], {0}, sort=Genre.PASSAGE)
    found = train_ranker([pieces, other], UNTRAINED.ranker)  # of document 7 the second piece, which is not good
    assert "good" not in found.passage.weights


def test_small_parts_and_unanswered_questions_teach_no_ranking() -> None:
    for lesson in LESSONS[:1]:
        assert lesson.is_trainable
        assert not replace(lesson, is_full_space=False).is_trainable
        assert not replace(lesson, is_answerable=False, gold=frozenset()).is_trainable
        assert not replace(lesson, gold=frozenset({99})).is_trainable
    assert train_ranker([replace(one, is_full_space=False) for one in LESSONS], UNTRAINED.ranker) == UNTRAINED.ranker


def test_knowing_learns_what_tells_an_answer_from_none() -> None:
    there = [told([2.0 + 0.01 * n, 0.0], {0}) for n in range(20)]
    lacking = [told([0.1 + 0.01 * n, 0.0], set(), answerable=False) for n in range(20)]
    taught = FusedModel(
        Ranker(LinearModel(-3, {"good": 2.0}), LinearModel(-3, {}), LinearModel(-3, {})), UNTRAINED.answerability
    )
    found = train_answerability([*there, *lacking], taught.ranker, UNTRAINED.answerability)
    assert (found.text_weights, found.text_bias) == (UNTRAINED.answerability.text_weights, 0.0)

    def sure(one: FusedExample) -> float:
        return found.probability(one.matrix, taught.ranker.score(one.matrix))

    assert min(map(sure, there)) > 0.5 > max(map(sure, lacking))
    assert (
        train_answerability(there, taught.ranker, UNTRAINED.answerability) == UNTRAINED.answerability
    )  # nothing to tell apart


def test_the_same_event_told_of_another_is_a_sign() -> None:
    spoken = pool(
        {"good": [2.0, 0.2], "named speaker": [0.0, 1.0], "other speaker": [1.0, 0.0]},
        [Genre.UTTERANCE, Genre.UTTERANCE],
    )
    head = LinearModel(-3, {"good": 1.0, "named speaker": 5.0, "other speaker": -5.0})
    found = dict(
        zip(ANSWERABILITY_FEATURES, answerability_features(spoken, Ranker(head, head, head).score(spoken)), strict=True)
    )
    assert found["names one speaker"] == 1
    assert found["speaker margin"] == pytest.approx(-1.8)  # with the person left out of both
    theirs = pool(
        {"good": [2.0, 0.2], "named speaker": [1.0, 0.0], "other speaker": [0.0, 1.0]},
        [Genre.UTTERANCE, Genre.UTTERANCE],
    )
    found = dict(
        zip(ANSWERABILITY_FEATURES, answerability_features(theirs, Ranker(head, head, head).score(theirs)), strict=True)
    )
    assert found["speaker margin"] == pytest.approx(1.8)


def test_shares_add_up_and_each_row_has_the_head_of_its_sort() -> None:
    sheet = pool({"good": [1.0, 1.0, 1.0]}, [Genre.UTTERANCE, Genre.NOTE, Genre.PASSAGE])
    heads = Ranker(LinearModel(-9, {"good": 1.0}), LinearModel(-8, {"good": 2.0}), LinearModel(-7, {}))
    weighed = heads.score(sheet)
    assert weighed.log_odds.tolist() == [-8, -6, -7]
    assert weighed.scores.tolist() == [-8 - MIN_LOG_ODDS, -6 - MIN_LOG_ODDS, -7 - MIN_LOG_ODDS]
    assert np.sum([*weighed.contributions.values()], axis=0).tolist() == weighed.scores.tolist()
    assert weighed.contributions[PRIOR].tolist() == [-9 - MIN_LOG_ODDS, -8 - MIN_LOG_ODDS, -7 - MIN_LOG_ODDS]


# ---- written down


def test_weights_are_read_as_they_were_written() -> None:
    taught = train(LESSONS, UNTRAINED)
    text = written.format_fused_model(taught, {"command": "ecphora learn"})
    assert FusedModel(*weights.parse_fused_model(text)) == taught
    assert json.loads(text)["provenance"] == {"command": "ecphora learn"}
    for broken in ("", "{}", "[]", text.replace('"bias"', '"base"'), text.replace("log pool size", "pool size")):
        with pytest.raises(InvalidRecord, match="make them with ecphora learn"):
            weights.parse_fused_model(broken)


def test_weights_with_the_former_names_are_read() -> None:
    def former(features: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
        old = {name: former for former, name in names.items()}
        return {old.get(name, name): weight for name, weight in features.items()}

    found = json.loads(files("ecphora.weights").joinpath("fused.json").read_text("utf-8"))
    genres = {"spoken": "utterance", "noted": "note", "written": "passage"}
    parts: dict[str, Any] = {
        old: {"bias": found[name]["bias"], "columns": former(found[name]["features"], former_names.FEATURES)}
        for old, name in genres.items()
    }
    parts["knowing"] = {
        old: {
            "bias": model["bias"],
            "signs": former(model["features"], former_names.ANSWERABILITY_FEATURES),
        }
        for old, model in (("talk", found["answerability"]["dialogue"]), ("text", found["answerability"]["text"]))
    }
    today = {name for names in feature_names_by_group().values() for name in names}
    assert set(former_names.FEATURES.values()) - {"bm25 with previous turn"} <= today
    assert set(former_names.ANSWERABILITY_FEATURES.values()) <= set(ANSWERABILITY_FEATURES)
    assert set(parts["spoken"]["columns"]) & {"meaning", "words met", "further meaning"}
    assert weights.parse_fused_model(json.dumps(parts)) == weights.load_fused_model()


def test_the_weights_of_the_package_say_where_they_come_from() -> None:
    found = json.loads(files("ecphora.weights").joinpath("fused.json").read_text("utf-8"))
    assert set(found["provenance"]["questions"]) == set(found["provenance"]["figures"])
    assert {"locomo", "realtalk", "beam_100k", "memdaily"}.isdisjoint(found["provenance"]["questions"])
    taught = FusedModel(*weights.load_fused_model())
    for head in taught.ranker.models:
        assert head.weights
        assert all(abs(weight) < 20 for weight in head.weights.values())
