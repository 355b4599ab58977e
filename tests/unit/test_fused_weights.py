"""The weights of fused: their files, those of the package, and the embedder that they are for."""

import json
from dataclasses import replace

import pytest

from ecphora.errors import InvalidRecord
from ecphora.maintenance.learn import weight_files as written
from ecphora.maintenance.learn.fused_training import NEGATIVE_FEATURES, UNSIGNED_FEATURES, UNTRAINED, FusedModel
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.features import feature_names_by_group
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.reranking import RERANKING_FEATURES, RERANKING_NOT_ENGLISH
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import sample_graph, sample_query

MODEL = FusedModel(
    Ranker(*(LinearModel(-3.5 - genre, {"bm25": 0.25 * genre, "is question": -1.0}) for genre in Genre)),
    replace(
        UNTRAINED.answerability,
        read_weights=tuple(0.5 * place for place in range(len(ANSWERABILITY_FEATURES))),
        read_bias=0.75,
        unread_bias=-0.25,
    ),
)


def test_fused_weights_round_trip() -> None:
    model = MODEL
    text = written.format_fused_model(model, {"command": "ecphora learn"})
    assert FusedModel(*weights.parse_fused_model(text)) == model
    assert json.loads(text)["provenance"] == {"command": "ecphora learn"}
    for broken in ("", "{}", "[]", text.replace('"bias"', '"base"'), text.replace("log pool size", "pool size")):
        with pytest.raises(InvalidRecord, match="make them with ecphora learn"):
            weights.parse_fused_model(broken)


def test_file_needs_the_weights_of_every_genre_and_both_answerability_models() -> None:
    text = written.format_fused_model(MODEL, {})
    for genre in Genre:
        found = json.loads(text)
        del found[genre.label]
        with pytest.raises(InvalidRecord, match=f"'{genre.label}'"):
            weights.parse_fused_model(json.dumps(found))
    for name in ("read", "unread"):
        found = json.loads(text)
        del found["answerability"][name]
        with pytest.raises(InvalidRecord, match=name):
            weights.parse_fused_model(json.dumps(found))


def test_answerability_features_that_a_file_lacks_have_no_weight() -> None:
    found = json.loads(written.format_fused_model(UNTRAINED, {}))
    found["answerability"]["read"] = {"bias": 1.5, "features": {"best reranker score": 2.0}}
    _, answerability = weights.parse_fused_model(json.dumps(found))
    place = ANSWERABILITY_FEATURES.index("best reranker score")
    assert answerability.read_weights[place] == 2.0
    assert sum(map(abs, answerability.read_weights)) == 2.0
    assert answerability.read_bias == 1.5


def test_weights_of_the_package_are_of_features_that_exist() -> None:
    model = FusedModel(*weights.load_fused_model())
    names = {name for names in feature_names_by_group().values() for name in names} | {*RERANKING_FEATURES}
    for linear_model in model.ranker.models:
        assert linear_model.weights
        assert linear_model.weights.keys() <= names
        assert all(abs(weight) < 20 for weight in linear_model.weights.values())
        assert all(weight <= 0 for name, weight in linear_model.weights.items() if name in NEGATIVE_FEATURES)
        positive = linear_model.weights.keys() - NEGATIVE_FEATURES - UNSIGNED_FEATURES
        assert all(linear_model.weights[name] >= 0 for name in positive)
    provenance = weights.load_fused_provenance()
    for part in (provenance, provenance["passage"], provenance["confidence"]):
        assert part["questions"]
        assert {"locomo", "realtalk", "beam_100k", "memdaily"}.isdisjoint(part["questions"])


def test_similarity_of_minilm_counts_as_english() -> None:
    """Its vectors are those that English texts are compared by, also where it is the scope's own embedder."""
    package, _ = weights.load_fused_model()
    own, _ = weights.load_fused_model("all-MiniLM-L6-v2/int8")
    assert weights.load_fused_model("some-other-model")[0] == package
    for model, of_minilm in zip(package.models, own.models, strict=True):
        assert of_minilm.bias == model.bias
        for name in ("similarity", "similarity with previous turn"):
            assert of_minilm.weights[name] == model.weights.get(f"English {name}", 0.0)
        assert of_minilm.weights[RERANKING_NOT_ENGLISH] == 0
        other = {*weights.SIMILARITIES, RERANKING_NOT_ENGLISH}
        rest = {name: weight for name, weight in of_minilm.weights.items() if name not in other}
        assert rest == {name: weight for name, weight in model.weights.items() if name not in other}


def test_fused_ranks_with_the_weights_for_the_query_embedder() -> None:
    graph, query = sample_graph(), sample_query("school lunch")
    minilm = replace(query, embedder="all-MiniLM-L6-v2/int8")
    ranker, answerability = weights.load_fused_model(minilm.embedder)
    own = Fused().activate(minilm, graph)
    assert own.scores.tobytes() == Fused(ranker, answerability).activate(query, graph).scores.tobytes()
    assert own.scores.tobytes() != Fused().activate(query, graph).scores.tobytes()
