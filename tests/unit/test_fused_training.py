"""Training of fused: logistic regression with sign constraints, the ranker, and the answerability model."""

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
from ecphora.strategies.fused import Fused
from ecphora.testing import sample_graph, sample_query
from ecphora.weights import former_names

# ---- regression


def examples(count: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    features = np.column_stack([rng.normal(size=(count, 3)), np.ones(count)])
    log_odds = features @ np.array([1.5, -2.0, 0.0, 0.5])
    return features, (rng.random(count) < 1 / (1 + np.exp(-log_odds))).astype(float)


def test_inactive_sign_constraints_change_nothing() -> None:
    features, labels = examples()
    ridge = np.full(4, 0.1)
    unconstrained = fit_logistic(features, labels, ridge)
    sign = np.array([1.0, -1.0, 0.0, 0.0])
    constrained = fit_signed_logistic(features, labels, np.ones(len(labels)), ridge=ridge, sign=sign, prior=np.zeros(4))
    assert constrained == pytest.approx(unconstrained, abs=1e-4)
    assert unconstrained[0] > 1 > -1 > unconstrained[1]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4), st.integers(0, 3))
def test_signed_weights_are_optimal_within_their_signs(signs: list[float], seed: int) -> None:
    features, labels = examples(80, seed)
    sign, ridge, ones = np.array(signs), np.full(4, 0.5), np.ones(80)
    found = fit_signed_logistic(features, labels, ones, ridge=ridge, sign=sign, prior=np.zeros(4))
    assert (found * sign >= 0).all()

    def loss(point: np.ndarray) -> float:
        log_odds = features @ point
        return float(np.sum(np.logaddexp(0, log_odds) - labels * log_odds) + 0.25 * point @ point)

    for place in range(4):  # no step along an axis within the signs is better
        for step in (-1e-2, 1e-2):
            other = found.copy()
            other[place] += step
            assert other[place] * sign[place] < 0 or loss(other) >= loss(found) - 1e-6


def test_sample_weights_count_as_repetitions() -> None:
    features, labels = examples(60)
    counts = np.where(np.arange(60) < 20, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), counts.astype(int))
    unconstrained, ridge = np.zeros(4), np.full(4, 0.3)
    weighted = fit_signed_logistic(features, labels, counts, ridge=ridge, sign=unconstrained, prior=unconstrained)
    assert weighted == pytest.approx(fit_logistic(features[repeated], labels[repeated], ridge), abs=1e-4)


def test_uninformative_examples_keep_the_prior() -> None:
    prior = np.array([0.5, -0.25, 0.0, 0.0])
    features = np.zeros((4, 4))
    found = fit_signed_logistic(features, np.ones(4), np.ones(4), ridge=np.ones(4), sign=np.zeros(4), prior=prior)
    assert found == pytest.approx(prior)


# ---- ranker and answerability


def pool(columns: Mapping[str, list[float]], genres: list[int], covered: list[int] | None = None) -> FeatureMatrix:
    size = len(genres)
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
        genres=np.array(genres),
        cosine=zeros,
        bm25=zeros,
        term_coverage=TermCoverage(np.ones(2), np.array([True, True]), own, own),
        has_query_date=False,
        has_unknown_entity=False,
    )


def example(
    good: list[float],
    gold: set[int],
    *,
    genre: Genre = Genre.UTTERANCE,
    answerable: bool = True,
    columns: Mapping[str, list[float]] | None = None,
) -> FusedExample:
    return FusedExample(
        dataset="s",
        space="one",
        question_id="q",
        is_full_space=True,
        matrix=pool({"good": good, **(columns or {})}, [genre] * len(good)),
        document_numbers=np.arange(len(good)),
        gold=frozenset(gold),
        is_answerable=answerable,
    )


EXAMPLES = [example([0.1 * n % 1, 2.0, 0.3], {1}, columns={"is question": [1.0, 0.0, 1.0]}) for n in range(30)]


def test_ranker_learns_from_rows_of_its_genre() -> None:
    found = train_ranker(EXAMPLES, UNTRAINED.ranker)
    assert found.utterance.weights["good"] > 0 > found.utterance.weights["is question"]
    assert (found.note, found.passage) == (UNTRAINED.ranker.note, UNTRAINED.ranker.passage)
    assert found.feature_names == tuple(found.utterance.weights)


def test_weights_never_oppose_the_sign_of_a_feature() -> None:
    worse = [example([2.0, 0.0, 1.0], {1}, columns={"is question": [0.0, 1.0, 0.0]}) for _ in range(20)]
    assert train_ranker(worse, UNTRAINED.ranker).utterance.weights == {}


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
    assert (found.text_weights, found.text_bias) == (UNTRAINED.answerability.text_weights, 0.0)

    def probability(example_: FusedExample) -> float:
        return found.probability(example_.matrix, model.ranker.score(example_.matrix))

    assert min(map(probability, answerable_examples)) > 0.5 > max(map(probability, unanswerable_examples))
    assert (
        train_answerability(answerable_examples, model.ranker, UNTRAINED.answerability) == UNTRAINED.answerability
    )  # there is nothing to distinguish


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
    weights_by_genre = ((-9, 1.0), (-8, 2.0), (-7, 0.0), (-6, 3.0), (-5, 1.0))
    scored = Ranker(*(LinearModel(bias, {"good": weight}) for bias, weight in weights_by_genre)).score(matrix)
    assert scored.log_odds.tolist() == [-8, -6, -7, -3, -4]
    assert scored.scores.tolist() == [odds - MIN_LOG_ODDS for odds in (-8, -6, -7, -3, -4)]
    assert np.sum([*scored.contributions.values()], axis=0).tolist() == scored.scores.tolist()
    assert scored.contributions[PRIOR].tolist() == [bias - MIN_LOG_ODDS for bias, _ in weights_by_genre]


# ---- weights files


def test_fused_weights_round_trip() -> None:
    model = train(EXAMPLES, UNTRAINED)
    text = written.format_fused_model(model, {"command": "ecphora learn"})
    assert FusedModel(*weights.parse_fused_model(text)) == model
    assert json.loads(text)["provenance"] == {"command": "ecphora learn"}
    for broken in ("", "{}", "[]", text.replace('"bias"', '"base"'), text.replace("log pool size", "pool size")):
        with pytest.raises(InvalidRecord, match="make them with ecphora learn"):
            weights.parse_fused_model(broken)


def test_genres_that_a_file_lacks_have_the_weights_of_others() -> None:
    found = json.loads(written.format_fused_model(train(EXAMPLES, UNTRAINED), {}))
    del found["long turn"], found["plain text"]
    found["passage"]["bias"] = -3.0
    ranker, _ = weights.parse_fused_model(json.dumps(found))
    assert ranker.long_turn == ranker.utterance != UNTRAINED.ranker.utterance
    assert ranker.plain_text == ranker.passage != ranker.note
    assert ranker.passage.bias == -3.0


def test_fused_weights_with_former_names_load() -> None:
    def former(features: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
        former_name = {name: former for former, name in names.items()}
        return {former_name.get(name, name): weight for name, weight in features.items()}

    found = json.loads(files("ecphora.weights").joinpath("fused.json").read_text("utf-8"))
    genres = {"spoken": "utterance", "noted": "note", "written": "passage"}
    parts: dict[str, Any] = {
        former_name: {
            "bias": found[name]["bias"],
            "columns": former(found[name]["features"], former_names.FEATURES),
        }
        for former_name, name in genres.items()
    }
    parts["knowing"] = {
        former_name: {
            "bias": model["bias"],
            "signs": former(model["features"], former_names.ANSWERABILITY_FEATURES),
        }
        for former_name, model in (
            ("talk", found["answerability"]["dialogue"]),
            ("text", found["answerability"]["text"]),
        )
    }
    current_names = {name for names in feature_names_by_group().values() for name in names}
    assert set(former_names.FEATURES.values()) - {"bm25 with previous turn"} <= current_names
    assert set(former_names.ANSWERABILITY_FEATURES.values()) <= set(ANSWERABILITY_FEATURES)
    assert set(parts["spoken"]["columns"]) & {"meaning", "words met", "further meaning"}
    assert weights.parse_fused_model(json.dumps(parts)) == weights.load_fused_model()


def test_shipped_fused_weights_name_their_training_data() -> None:
    found = json.loads(files("ecphora.weights").joinpath("fused.json").read_text("utf-8"))
    assert set(found["provenance"]["questions"]) == set(found["provenance"]["figures"])
    assert {"locomo", "realtalk", "beam_100k", "memdaily"}.isdisjoint(found["provenance"]["questions"])
    model = FusedModel(*weights.load_fused_model())
    for linear_model in model.ranker.models:
        assert linear_model.weights
        assert all(abs(weight) < 20 for weight in linear_model.weights.values())


def test_fused_weights_belong_to_an_embedder() -> None:
    names = {"fused.json": "all-MiniLM-L6-v2/int8", "fused_e5.json": "multilingual-e5-small"}
    for file, embedder in names.items():
        found = json.loads(files("ecphora.weights").joinpath(file).read_text("utf-8"))
        assert found["provenance"]["embedder"].startswith(embedder)
        parsed = weights.parse_fused_model(json.dumps(found))
        assert weights.load_fused_model(found["provenance"]["embedder"]) == parsed
    assert weights.load_fused_model("some-other-model") == weights.load_fused_model()


def test_fused_ranks_with_the_weights_of_the_query_embedder() -> None:
    graph, query = sample_graph(), sample_query("school lunch")
    e5 = replace(query, embedder="multilingual-e5-small/int8 (query:/passage:)")
    ranker, answerability = weights.load_fused_model(e5.embedder)
    own = Fused().activate(e5, graph)
    assert own.scores.tobytes() == Fused(ranker, answerability).activate(query, graph).scores.tobytes()
    assert own.scores.tobytes() != Fused().activate(query, graph).scores.tobytes()
