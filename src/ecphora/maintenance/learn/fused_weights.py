"""The weights of ``fused`` as readable JSON, with how they were trained."""

from collections.abc import Mapping

from ...retrieval.fusion import LinearModel
from ...strategies.fused.answerability import ANSWERABILITY_FEATURES
from ...strategies.fused.feature_matrix import Genre
from .fused_training import FusedModel
from .readable_json import Json, format_json


def format_fused_model(model: FusedModel, training_info: Mapping[str, Json]) -> str:
    """Return the JSON of a model, which :func:`ecphora.strategies.fused.weights.parse_fused_model` reads."""
    ranker, answerability = model.ranker, model.answerability
    parts: dict[str, Json] = {"provenance": training_info}
    parts |= {genre.label: _linear_model_json(head) for genre, head in zip(Genre, ranker.models, strict=True)}
    parts["answerability"] = {
        "read": {"bias": answerability.read_bias, "features": _answerability_json(answerability.read_weights)},
        "unread": {"bias": answerability.unread_bias, "features": _answerability_json(answerability.unread_weights)},
    }
    return format_json(parts)


def _linear_model_json(model: LinearModel) -> Json:
    return {"bias": model.bias, "features": dict(model.weights)}


def _answerability_json(values: tuple[float, ...]) -> Json:
    return dict(zip(ANSWERABILITY_FEATURES, values, strict=True))
