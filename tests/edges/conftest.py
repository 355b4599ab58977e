"""Fixtures of the tests of the command line."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecphora.cli.main import main
from ecphora.maintenance.learn.fused_training import FusedModel
from ecphora.maintenance.learn.weight_files import format_fused_model
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.feature_matrix import Genre
from ecphora.strategies.fused.ranker import Ranker

RANKING = LinearModel(
    -5.0, {"bm25": 3.0, "similarity": 1.2, "bm25 with previous turn z-score": 0.5, "adjacent turn": 0.5}
)
"""Words count most, then vectors, then the turn before."""
CONFIDENCE = tuple(3.5 * (name == "top term coverage") for name in ANSWERABILITY_FEATURES)


@pytest.fixture
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working folder, a cheap embedder, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("ECPHORA_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def simple_weights(clean_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that stay the same when those of the package are trained again: of reasons and ranks."""
    answerability = AnswerabilityModel(CONFIDENCE, -2.0, CONFIDENCE, -2.0)
    model = FusedModel(Ranker(*[RANKING] * len(Genre)), answerability)
    path = tmp_path / "weights.json"
    path.write_text(format_fused_model(model, {}), encoding="utf-8")
    monkeypatch.setenv("ECPHORA_WEIGHTS", str(path))


@pytest.fixture
def two_memories(clean_environment: None) -> None:  # they go to the folder that it makes
    """Two memories of two speakers, in the memory of the working folder."""
    for text, *options in (
        ("Ana moved to Porto.", "--id=a", "--speaker=Ana", "--happened-at=2026-05-03", "--session=s"),
        (
            "Bo likes rain in Lisbon.",
            "--id",
            "b",
            "--speaker",
            "Bo",
            "--happened-at",
            "2026-05-04",
            "--metadata",
            "n=1",
        ),
    ):
        CliRunner().invoke(main, ["remember", text, *options], catch_exceptions=False)
