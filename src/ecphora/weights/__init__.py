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
from ..stages.fused.newer_answers import NewerAnswerModel, ShareModel
from ..stages.fused.ranker import Ranker
from ..stages.fused.reading import CONFIDENCE_FEATURES, ReadingModel
from ..stages.fused.recency_preference import RecencyPreference, RecencyPreferences
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


FUSED_FILES = {"multilingual-e5-small": "fused_e5.json"}
"""The weights of ``fused`` for embedders whose names start so; all others have those for MiniLM."""
DEFAULT_FUSED_FILE = "fused.json"


def load_fused_model(embedder: str = "") -> tuple[Ranker, AnswerabilityModel]:
    """Load the models of ``fused`` for an embedder, trained by ``ecphora learn`` on sets whose license allows it."""
    return _load_fused_file(_fused_file(embedder))


def load_fused_provenance(embedder: str = "") -> Any:
    """Load the JSON value that says how the weights of ``fused`` for an embedder were trained."""
    return json.loads(files(__package__).joinpath(_fused_file(embedder)).read_text(encoding="utf-8"))["provenance"]


def _fused_file(embedder: str) -> str:
    names = (file for prefix, file in FUSED_FILES.items() if embedder.startswith(prefix))
    return next(names, DEFAULT_FUSED_FILE)


@cache
def _load_fused_file(name: str) -> tuple[Ranker, AnswerabilityModel]:
    return parse_fused_model(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def parse_fused_model(text: str) -> tuple[Ranker, AnswerabilityModel]:
    """Parse the ranker and answerability model from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = former_names.upgrade_fused(json.loads(text))
        found.setdefault(Genre.LONG_TURN.label, found[Genre.UTTERANCE.label])  # older files lack it and the next
        found.setdefault(Genre.PLAIN_TEXT.label, found[Genre.PASSAGE.label])
        ranker = Ranker(*(_parse_linear_model(found[genre.label]) for genre in Genre))
        dialogue, passages = (found["answerability"][name] for name in ("dialogue", "text"))
        answerability = AnswerabilityModel(
            _parse_answerability_weights(dialogue),
            float(dialogue["bias"]),
            _parse_answerability_weights(passages),
            float(passages["bias"]),
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
def load_reading_model() -> ReadingModel:
    """Load what ``fused`` makes of a reader's scores, trained by ``scripts/train_reader.py``."""
    return parse_reading_model(files(__package__).joinpath("reading.json").read_text(encoding="utf-8"))


def parse_reading_model(text: str) -> ReadingModel:
    """Parse the reading model from JSON; raises ``InvalidRecord`` if it is missing."""
    try:
        found = json.loads(text)
        confidence = _parse_named_model(found["confidence"], CONFIDENCE_FEATURES)
        preferences = {
            str(embedder): RecencyPreferences(
                **{part: _parse_recency_preference(model) for part, model in models.items()}
            )
            for embedder, models in found["recency_preferences"].items()
        }
        newer = {
            part: ShareModel(**{name: float(weight) for name, weight in model.items()})
            for part, model in found["newer_answers"].items()
        }
        weights = tuple(float(found["reading"][genre.label]) for genre in Genre)
        return ReadingModel(weights, NewerAnswerModel(**newer), confidence, preferences)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(f"no weights of reading ({error!r}); make them with scripts/train_reader.py") from error


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
