"""The weights of ``fused`` as readable JSON, with how they were trained."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence

from ...retrieval.fusion import LinearModel
from ...strategies.fused.answerability import ANSWERABILITY_FEATURES
from ...strategies.fused.feature_matrix import Genre
from .fused_training import FusedModel

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_NUMBERS = re.compile(r"\[([\s\d.,eE+-]*)\]")


def format_json(value: Json) -> str:
    """Return JSON with a line for each key, and lists of numbers wrapped at 120 characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _NUMBERS.sub(lambda found: _wrap_numbers(found[1]), text) + "\n"


def _wrap_numbers(numbers: str) -> str:
    return textwrap.fill(f"[{' '.join(numbers.split())}]", 118, subsequent_indent="    ")


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
