"""Loads the trained weights of the package: readable JSON that says how they were trained and how well they do.

Training is in ``scripts`` and :mod:`ecphora.learn`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidRecord
from ..stages.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ..stages.fused.feature_matrix import Genre
from ..stages.fused.ranker import Ranker
from ..stages.fused.reading import READING_NOT_ENGLISH
from ..stages.fused.recency_preference import RecencyPreference
from ..stages.retrieval.linear import LinearModel
from . import former_names

if TYPE_CHECKING:  # imported by those that need them
    from ..consolidation.facts.judge import UpdateJudge
    from ..stages.eisa.necessity import NecessityClassifier
    from ..stages.eisa.side_network import SideNet


@cache
def load_necessity_classifier(embedder: str | None = None) -> "NecessityClassifier":
    """Load EISA's necessity classifier, trained on the lines of ``scripts/data/encm.jsonl``.

    With the name of the embedder whose vectors it was trained on, it uses vectors too. With any other name, or None,
    it uses features alone.
    """
    return parse_necessity_classifier(
        files(__package__).joinpath("necessity.json").read_text(encoding="utf-8"), embedder
    )


def parse_necessity_classifier(text: str, embedder: str | None = None) -> "NecessityClassifier":
    """Parse the necessity classifier from JSON."""
    from ..stages.eisa.necessity import FEATURES, LogisticModel, NecessityClassifier  # noqa: PLC0415

    found = former_names.upgrade_necessity(json.loads(text))
    if tuple(found["features"]) != FEATURES:
        raise InvalidRecord(f"the classifier was trained on {found['features']}, not {FEATURES}; train it again")
    feature_model, vector_model = (
        LogisticModel(model["bias"], tuple(model["feature_weights"]), tuple(model["vector_weights"]))
        for model in (found["feature_model"], found["vector_model"])
    )
    return NecessityClassifier(
        feature_model=feature_model,
        vector_model=vector_model if embedder is not None and embedder == found["embedder"] else None,
        threshold=found["threshold"],
    )


SIDE_NETWORK_FILES = {"multilingual-e5-small": "side_network_e5.json"}
"""The side networks of EISA for embedders whose names start so; for others there is none."""


def load_side_network(embedder: str) -> "SideNet | None":
    """Load EISA's side network for an embedder, trained by ``scripts/train_side_network.py``; None if there is none."""
    file = next((file for prefix, file in SIDE_NETWORK_FILES.items() if embedder.startswith(prefix)), None)
    return None if file is None else _load_side_network_file(file, embedder)


def load_side_network_provenance(embedder: str) -> Any:
    """Load the JSON value that says how the side network for an embedder was trained, and its figures."""
    name = next(file for prefix, file in SIDE_NETWORK_FILES.items() if embedder.startswith(prefix))
    return json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))["provenance"]


@cache
def _load_side_network_file(name: str, embedder: str) -> "SideNet | None":
    """The network of a file, None if it was trained on another variant of the embedder."""
    found = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return parse_side_network(found) if found["embedder"] == embedder else None


def parse_side_network(found: Mapping[str, Any]) -> "SideNet":
    """Make a side network of the JSON value of a file; files of earlier versions have no bias or similarity floor."""
    from ..stages.eisa.side_network import SideNet  # noqa: PLC0415

    a, b, bias = (np.array(found.get(name, ()), np.float32) for name in ("a", "b", "bias"))
    return SideNet(a, b, bias, float(found.get("similarity_floor", 0.0)))


# ---- fused


FUSED_FILE = "fused.json"
ENGLISH_EMBEDDER = "all-MiniLM-L6-v2"
"""The beginning of the name of the embedder of English vectors: as a scope's own, its similarity counts as theirs."""
SIMILARITIES = ("similarity", "similarity with previous turn")
"""The features of the similarity of a scope's vectors; with "English" before them, those of English vectors."""


@cache
def load_fused_model(embedder: str = "") -> tuple[Ranker, AnswerabilityModel]:
    """Load the models of ``fused`` for an embedder, trained by ``scripts/train_fused.py``."""
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
    return LinearModel(model.bias, {**model.weights, **english, READING_NOT_ENGLISH: 0.0})


def parse_fused_model(text: str) -> tuple[Ranker, AnswerabilityModel]:
    """Parse the ranker and answerability model from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = json.loads(text)
        ranker = Ranker(*(_parse_linear_model(found[genre.label]) for genre in Genre))
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


def _parse_linear_model(found: dict[str, Any]) -> LinearModel:
    return LinearModel(float(found["bias"]), {str(name): float(weight) for name, weight in found["features"].items()})


def _parse_answerability_weights(found: dict[str, Any]) -> tuple[float, ...]:
    if unknown := found["features"].keys() - set(ANSWERABILITY_FEATURES):
        raise KeyError(f"there is no feature {min(unknown)!r}")
    return tuple(float(found["features"].get(name, 0.0)) for name in ANSWERABILITY_FEATURES)


# ---- reading


@cache
def load_recency_preferences() -> Mapping[str, RecencyPreference]:
    """Load whether a question means the newest of several answers, by the beginning of an embedder's name."""
    return parse_recency_preferences(files(__package__).joinpath("reading.json").read_text(encoding="utf-8"))


def parse_recency_preferences(text: str) -> Mapping[str, RecencyPreference]:
    """Parse the preferences from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = json.loads(text)["recency_preferences"]
        return {str(embedder): _parse_recency_preference(model) for embedder, model in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no preferences for newer answers ({error!r}); see scripts/train_reader.py") from error


def _parse_recency_preference(found: Mapping[str, Any]) -> RecencyPreference:
    return RecencyPreference(float(found["bias"]), np.array(found["weights"], np.float32))


# ---- fact updates


@cache
def load_update_judge() -> "UpdateJudge":
    """Load the judge of fact updates, trained by ``scripts/train_update_scorer.py``."""
    return parse_update_judge(files(__package__).joinpath("update_judge.json").read_text(encoding="utf-8"))


def parse_update_judge(text: str) -> "UpdateJudge":
    """Parse the gate and the judge from JSON; raises ``InvalidRecord`` if they are missing."""
    from ..consolidation.facts import judge  # noqa: PLC0415

    try:
        found = json.loads(text)
        return judge.UpdateJudge(
            _parse_named_model(found["gate"], judge.GATE_FEATURES),
            **{name: float(found["judge"][name]) for name in ("bias", "score_weight", "rule_weight")},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(
            f"no weights of the update judge ({error!r}); run scripts/train_update_scorer.py"
        ) from error


def _parse_named_model(found: dict[str, Any], names: tuple[str, ...]) -> LinearModel:
    if unknown := found["features"].keys() - set(names):
        raise KeyError(f"there is no feature {min(unknown)!r}")
    return _parse_linear_model(found)
