"""Loads the trained weights of ``fused``: readable JSON that says how they were trained and how well they do.

Training is in ``training`` and :mod:`ecphora.maintenance.learn`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ....errors import InvalidRecord
from ....retrieval.fusion import LinearModel, parse_linear_model
from ..answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ..feature_matrix import Genre
from ..ranker import Ranker
from ..reranking import RERANKING_NOT_ENGLISH, RecencyPreference

FUSED_FILE = "fused.json"
ENGLISH_EMBEDDER = "all-MiniLM-L6-v2"
"""The beginning of the name of the embedder of English vectors: as a scope's own, its similarity counts as theirs."""
SIMILARITIES = ("similarity", "similarity with previous turn")
"""The features of the similarity of a scope's vectors; with "English" before them, of English vectors."""


@cache
def load_fused_model(embedder: str = "") -> tuple[Ranker, AnswerabilityModel]:
    """Load the models of ``fused`` for an embedder, trained by ``training/train_fused.py``."""
    ranker, answerability = parse_fused_model(_read_fused())
    if embedder.startswith(ENGLISH_EMBEDDER):
        ranker = Ranker(*map(_count_as_english, ranker.models))
    return ranker, answerability


def load_fused_provenance() -> Any:
    """Load the JSON value that says how the weights of ``fused`` were trained."""
    return json.loads(_read_fused())["provenance"]


def _read_fused() -> str:
    return files(__package__).joinpath(FUSED_FILE).read_text(encoding="utf-8")


def _count_as_english(model: LinearModel) -> LinearModel:
    """A model in which the similarity of the scope's vectors has the weights of English similarity."""
    english = {name: model.weights.get(f"English {name}", 0.0) for name in SIMILARITIES}
    return LinearModel(model.bias, {**model.weights, **english, RERANKING_NOT_ENGLISH: 0.0})


def parse_fused_model(text: str) -> tuple[Ranker, AnswerabilityModel]:
    """Parse the ranker and answerability model from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = json.loads(text)
        ranker = Ranker(*(parse_linear_model(found[genre.label]) for genre in Genre))
        read, unread = (found["answerability"][name] for name in ("read", "unread"))
        answerability = AnswerabilityModel(
            _parse_answerability_weights(read),
            float(read["bias"]),
            _parse_answerability_weights(unread),
            float(unread["bias"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no weights of fused ({error!r}); make them with ecphora learn") from error
    return ranker, answerability


def _parse_answerability_weights(found: dict[str, Any]) -> tuple[float, ...]:
    if unknown := found["features"].keys() - set(ANSWERABILITY_FEATURES):
        raise KeyError(f"there is no feature {min(unknown)!r}")
    return tuple(float(found["features"].get(name, 0.0)) for name in ANSWERABILITY_FEATURES)


@cache
def load_recency_preferences() -> Mapping[str, RecencyPreference]:
    """Load whether a question means the newest of several answers, by the beginning of an embedder's name."""
    return parse_recency_preferences(files(__package__).joinpath("reranking.json").read_text(encoding="utf-8"))


def parse_recency_preferences(text: str) -> Mapping[str, RecencyPreference]:
    """Parse the preferences from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = json.loads(text)["recency_preferences"]
        return {str(embedder): _parse_recency_preference(model) for embedder, model in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no preferences for newer answers ({error!r}); see training/train_reader.py") from error


def _parse_recency_preference(found: Mapping[str, Any]) -> RecencyPreference:
    return RecencyPreference(float(found["bias"]), np.array(found["weights"], np.float32))
