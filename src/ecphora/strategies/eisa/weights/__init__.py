"""Loads the trained parts of EISA: readable JSON that says how each was trained and how well it does.

Training is in ``training`` and :mod:`ecphora.maintenance.learn`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ....errors import InvalidRecord
from ..episodic_necessity import FEATURES, LogisticModel, NecessityClassifier
from ..side_network import SideNet


@cache
def load_necessity_classifier(embedder: str | None = None) -> NecessityClassifier:
    """Load EISA's necessity classifier, trained on the lines of ``training/data/encm.jsonl``.

    With the name of the embedder whose vectors it was trained on, it uses vectors too. With any other name, or None,
    it uses features alone.
    """
    return parse_necessity_classifier(
        files(__package__).joinpath("necessity.json").read_text(encoding="utf-8"), embedder
    )


def parse_necessity_classifier(text: str, embedder: str | None = None) -> NecessityClassifier:
    """Parse the necessity classifier from JSON."""
    found = json.loads(text)
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


def load_side_network(embedder: str) -> SideNet | None:
    """EISA's side network for an embedder, trained by ``training/train_side_network.py``; None if there is none."""
    file = next((file for prefix, file in SIDE_NETWORK_FILES.items() if embedder.startswith(prefix)), None)
    return None if file is None else _load_side_network_file(file, embedder)


@cache
def _load_side_network_file(name: str, embedder: str) -> SideNet | None:
    """The network of a file, None if it was trained on another variant of the embedder."""
    found = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return parse_side_network(found) if found["embedder"] == embedder else None


def parse_side_network(found: Mapping[str, Any]) -> SideNet:
    """Make a side network of the JSON value of a file."""
    a, b, bias = (np.array(found[name], np.float32) for name in ("a", "b", "bias"))
    return SideNet(a, b, bias, float(found["similarity_floor"]))
