"""The least weights of ``training/train_fused.py``."""

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ecphora.maintenance.learn.fused_training import UNTRAINED, FusedModel
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker

pytestmark = pytest.mark.medium  # imports a script


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "training")
    return importlib.import_module("train_fused")


def statements(model: FusedModel) -> dict[str, float]:
    return dict(model.ranker.models[Genre.STATEMENT].weights)


def test_small_weights_of_statements_become_the_least(script: ModuleType) -> None:
    name, least = next(iter(script.LEAST_WEIGHTS.items()))
    models = list(UNTRAINED.ranker.models)
    for learned, expected in ((0.0, least), (least / 2, least), (least * 2, least * 2)):
        models[Genre.STATEMENT] = replace(models[Genre.STATEMENT], weights={name: learned, "bm25": 0.1})
        found = script.with_least_weights(FusedModel(Ranker(*models), UNTRAINED.answerability))
        assert statements(found)[name] == expected
        assert statements(found)["bm25"] == 0.1
        assert found.ranker.models[Genre.UTTERANCE] == models[Genre.UTTERANCE]


def test_weights_of_the_package_are_not_less(script: ModuleType) -> None:
    ranker, _ = weights.load_fused_model(DEFAULT_EMBEDDER().name)
    for name, least in script.LEAST_WEIGHTS.items():
        assert ranker.models[Genre.STATEMENT].weights[name] / least >= 1
